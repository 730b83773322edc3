package import HeraldJSON

/// One of an event's attributes, as others than the store see it.
///
/// Attributes are kept as pairs of texts. The value of a CloudEvent's extension may be a number or a boolean; so that it stays
/// one, its key ends with ``literalMark``, which no publisher's name can.
package struct EventAttribute: Equatable, Sendable {
    package let name: String
    /// A text, or the literal as JSON writes it.
    package let value: String
    /// A JSON number or boolean.
    package let isLiteral: Bool

    private static let literalMark = ".json"

    package init(_ name: String, _ value: String, isLiteral: Bool = false) {
        self.name = name
        self.value = value
        self.isLiteral = isLiteral
    }

    /// What is kept as this pair.
    package init(_ pair: KeyValue) {
        isLiteral = pair.key.hasSuffix(Self.literalMark)
        name = isLiteral ? String(pair.key.dropLast(Self.literalMark.count)) : pair.key
        value = pair.value
    }

    /// How it is kept.
    package var pair: KeyValue { KeyValue(isLiteral ? name + Self.literalMark : name, value) }

    /// Writes `"name":value`.
    package func write(to object: inout JSONObjectWriter) {
        if isLiteral { object.member(name, .raw(Array(value.utf8))) } else { object.member(name, value) }
    }

    /// The canonical text of a JSON value that CloudEvents allow: a string, a boolean or a whole number; `nil` for others.
    package init?(_ name: String, _ value: JSONValue) {
        switch value.kind {
        case .string: self.init(name, value.string ?? "")
        case .bool: self.init(name, value.bool == true ? "true" : "false", isLiteral: true)
        case .number:
            guard let number = value.integer else { return nil }
            self.init(name, String(number), isLiteral: true)
        case .null, .array, .object: return nil
        }
    }
}

// MARK: - Rules

extension EventAttribute {
    /// Of one event, beside its fields.
    package static let maxCount = 32
    package static let maxValueBytes = 1_024

    /// Whether a text may be a value.
    package static func isAcceptable(_ text: String) -> Bool {
        (1...maxValueBytes).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// What is wrong with attributes that a publisher in the process gives.
    static func problems(of pairs: [KeyValue]) -> [FieldError] {
        var errors: [FieldError] = []
        // Beside them the trace.
        if pairs.count > maxCount + 1 { errors.append(FieldError("", "must have at most \(maxCount) attributes")) }
        for attribute in pairs.map(EventAttribute.init) {
            let isValue = attribute.isLiteral ? attribute.isJSON : isAcceptable(attribute.value)
            if !CloudEventAttribute.isValid(attribute.name) || !isValue {
                errors.append(
                    FieldError(
                        JSONPointer.child("", attribute.name),
                        "must have a name of 1 to 64 of a-z and 0-9, and a value of 1 to \(maxValueBytes) bytes without "
                            + "control characters"))
            }
        }
        return errors
    }

    /// Whether a literal is one: it stands in a document as it is.
    private var isJSON: Bool { ["true", "false"].contains(value) || Int64(value).map { String($0) } == value }
}

extension Event {
    /// The attributes, as the API shows them: an event that has another id in the log than its publisher gave it has that as
    /// `id`; the service's own notes are left out.
    package var shownAttributes: [EventAttribute] {
        attributes.compactMap { pair in
            switch pair.key {
            case Self.publisherIDName: EventAttribute(CloudEventAttribute.id, pair.value)
            case Self.sourceDigestName: nil
            default: EventAttribute(pair)
            }
        }
    }

    /// What ``shownAttributes`` shows, as it is kept.
    package static func attributes(shown: JSONValue) -> [KeyValue] {
        shown.members.compactMap { name, value in
            EventAttribute(name == CloudEventAttribute.id ? publisherIDName : name, value)?.pair
        }
    }
}
