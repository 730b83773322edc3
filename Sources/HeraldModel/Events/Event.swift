/// The tenant that events and delegates belong to. `default` always exists.
package struct AppKey: Hashable, Sendable {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static let `default` = AppKey(rawValue: 1)
    /// For an app that is not known.
    package static let unknown = AppKey(rawValue: 0)
}

/// A position in the event log: 1 for the first event, increasing without gaps. 0 is before the first event.
package typealias LogPosition = Int64

/// An event in the log. Immutable, and shared by the recent events, all deliveries and all streams: its bytes exist
/// once in the process.
public final class Event: Sendable {
    package let app: AppKey
    /// Unique in the log: the publisher's id, or `evt_` and a ULID. 1 to 128 visible ASCII characters, or the
    /// publisher's id with `~` and a digest if an event of another CloudEvents source already has it.
    public let id: String
    /// The event type, such as `order.placed`: dot-separated words, at most 128 characters.
    public let type: String
    /// Computed once, because the writer's thread uses it several times.
    package let family: EventType.Family
    /// The object that the event is about, 1 to 256 characters, such as `order:1001`.
    public let subject: String?
    /// Milliseconds since 1970 UTC.
    package let time: Int64
    /// Attributes that are not fields of the event, by name: `traceparent`, and of a CloudEvent its `source`,
    /// `dataschema`, extensions, and `time` as it was written (see ``EventAttribute``). Names are lower case, values have no control characters.
    package let attributes: [KeyValue]
    /// The delegate that the event is addressed to; `nil` for all matching delegates. An addressed event repeats the
    /// current state for a new delegate: no other delegate gets it, and lists omit it.
    package let audience: DelegateKey?
    /// The body of a callback in `standard` format, created once: `{"type":…,"timestamp":…,"data":…,"subject":…}`.
    package let body: [UInt8]
    /// The range of `data` in `body`: the publisher's bytes, as received.
    package let dataRange: Range<Int>

    /// - Parameters:
    ///   - data: one JSON value that the strict parser has accepted; copied.
    package convenience init(
        app: AppKey = .default, id: String, type: String, subject: String?, time: Int64,
        attributes: [KeyValue] = [], audience: DelegateKey? = nil,
        data: UnsafeBufferPointer<UInt8>
    ) {
        self.init(
            app: app, id: id, type: type, subject: subject, time: time, attributes: attributes, audience: audience,
            encoded: StandardBody.encode(type: type, subject: subject, time: time, data: data))
    }

    /// - Parameters:
    ///   - data: one JSON value that the strict parser has accepted; copied.
    package convenience init(
        app: AppKey = .default, id: String, type: String, subject: String?, time: Int64,
        attributes: [KeyValue] = [], audience: DelegateKey? = nil,
        data: some Collection<UInt8>
    ) {
        func encode(_ data: UnsafeBufferPointer<UInt8>) -> (body: [UInt8], dataRange: Range<Int>) {
            StandardBody.encode(type: type, subject: subject, time: time, data: data)
        }
        self.init(
            app: app, id: id, type: type, subject: subject, time: time, attributes: attributes, audience: audience,
            encoded: data.withContiguousStorageIfAvailable(encode) ?? Array(data).withUnsafeBufferPointer(encode))
    }

    private init(
        app: AppKey, id: String, type: String, subject: String?, time: Int64, attributes: [KeyValue],
        audience: DelegateKey?, encoded: (body: [UInt8], dataRange: Range<Int>)
    ) {
        self.app = app
        self.id = id
        self.type = type
        family = EventType.Family(of: type)
        self.subject = subject
        self.time = time
        self.attributes = attributes
        self.audience = audience
        (body, dataRange) = encoded
    }

    /// Whether its content was erased: it is not sent to any delegate.
    package var isErased: Bool { !attributes.isEmpty && attributes[0] == Self.erasedMark }

    /// Publishers can't use an attribute with this name.
    package static let erasedMark = KeyValue("herald.erased", "true")

    /// Its bytes in the store differ from those that were written: its content is lost, and it is not served or sent. Only
    /// its position in the log is certain.
    package var isDamaged: Bool { !attributes.isEmpty && attributes[0] == Self.damagedMark }

    /// Publishers can't use an attribute with this name.
    private static let damagedMark = KeyValue("herald.damaged", "true")

    /// Responses give it instead of a type that is not valid.
    private static let damagedType = "herald.event.damaged"

    /// Replaces a damaged event.
    /// - Parameters: app, id: those by which it was looked up, since what it says of itself can't be believed.
    package static func damaged(app: AppKey = .default, id: String = "damaged") -> Event {
        Event(
            app: app, id: id, type: damagedType, subject: nil, time: 0, attributes: [damagedMark],
            data: Array("null".utf8))
    }

    /// The event of a row that has an impossible value. What is valid of it remains, for the operator.
    package func damaged() -> Event {
        Event(
            app: app, id: id, type: EventType.isValid(type) ? type : Self.damagedType, subject: subject, time: time,
            attributes: [Self.damagedMark], data: Array(data))
    }

    /// For a damaged event, whose data may not be JSON, and for clients that may not read it.
    package var withoutData: Event {
        Event(
            app: app, id: id, type: type, subject: subject, time: time, attributes: attributes,
            data: Array("null".utf8))
    }

    /// The event without its content: what remains in the log after an erasure.
    /// - Parameter keepingSubject: while it has attempts that are not erased. A request that is repeated after a crash finds it
    ///   by its subject.
    package func erased(keepingSubject: Bool = false) -> Event {
        Event(
            app: app, id: id, type: type, subject: keepingSubject ? subject : nil, time: time,
            attributes: [Self.erasedMark, sourceDigest], audience: audience, data: Array("null".utf8))
    }

    /// The data: one JSON value in UTF-8, the publisher's bytes as received.
    public var data: ArraySlice<UInt8> { body[dataRange] }

    /// The value of an attribute that is not a field of the event: of a CloudEvent its `source` and extensions, or
    /// `traceparent`.
    /// - Parameter name: in lower case.
    public func attribute(_ name: String) -> String? { attributes.first { $0.key == name }?.value }
}

/// Events of one commit, in the order of the log.
public struct EventBatch: Sendable {
    /// The position of `events[0]`; the others follow without a gap.
    package let first: LogPosition
    /// At least one.
    public let events: [Event]

    package init(first: LogPosition, events: [Event]) {
        self.first = first
        self.events = events
    }

    /// The position of the last event.
    package var last: LogPosition { first + LogPosition(events.count) - 1 }
}
