import HeraldJSON

/// The values that templates can use: an event, the delegate that gets it, and the number of the attempt.
///
/// Created for each request; reads only what a template uses. Not `Sendable`: it is created, used and released on one
/// thread.
package final class TemplateRoots {
    package let event: EventView
    private let delegate: String
    private let metadata: [KeyValue]
    private let attempt: Int?

    /// - Parameters:
    ///   - event: parsed once for all templates and filters.
    ///   - delegate: its id.
    ///   - metadata: that of the delegate.
    ///   - attempt: 1 for the first one; only headers can use it.
    package init(_ event: EventView, delegate: String, metadata: [KeyValue] = [], attempt: Int? = nil) {
        self.event = event
        self.delegate = delegate
        self.metadata = metadata
        self.attempt = attempt
    }

    func value(of root: TemplateRoot) -> TemplateValue {
        switch root {
        case .id: .text(event.event.id)
        case .type: .text(event.event.type)
        case .subject: event.event.subject.map(TemplateValue.text) ?? .missing
        case .time: .text(event.time)
        case .source: event.event.attribute(CloudEventAttribute.source).map(TemplateValue.text) ?? .missing
        case .data: event.data.map(TemplateValue.json) ?? .missing
        case .delegate: delegateValue.map(TemplateValue.json) ?? .missing
        case .attempt: attempt.map { .integer(Int64($0)) } ?? .missing
        }
    }

    /// `{"id": …, "metadata": {…}}`
    private lazy var delegateValue: JSONValue? = {
        let text = JSONWriter.document { object in
            object.member("id", delegate)
            object.object("metadata") { for entry in metadata { $0.member(entry.key, entry.value) } }
        }
        return try? JSONDocument(parsing: text).root
    }()
}

/// The first part of a path.
enum TemplateRoot: String, CaseIterable, Sendable {
    case id, type, subject, time, source, data, delegate, attempt
}

/// A value on the way from an event to a request.
enum TemplateValue: Sendable {
    case missing
    case json(JSONValue)
    case text(String)
    case integer(Int64)

    /// Neither `null` nor missing.
    var isPresent: Bool {
        switch self {
        case .missing: false
        case .json(let value): !value.isNull
        case .text, .integer: true
        }
    }
}
