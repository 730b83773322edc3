package import HeraldJSON

/// An attribute of an event, as the API shows it.
///
/// Attributes are stored as pairs of strings. The value of a CloudEvent's extension may be a number or a boolean; to
/// preserve the type, its key then ends with ``literalMark``, which a publisher's name can't contain.
package struct EventAttribute: Equatable, Sendable {
    package let name: String
    /// A string, or the literal in JSON.
    package let value: String
    /// A JSON number or boolean.
    package let isLiteral: Bool

    private static let literalMark = ".json"

    package init(_ name: String, _ value: String, isLiteral: Bool = false) {
        self.name = name
        self.value = value
        self.isLiteral = isLiteral
    }

    package static func == (one: EventAttribute, other: EventAttribute) -> Bool {
        one.name == other.name && one.isLiteral == other.isLiteral && ExactText(one.value) == ExactText(other.value)
    }

    /// The attribute of a stored pair.
    package init(_ pair: KeyValue) {
        isLiteral = pair.key.hasSuffix(Self.literalMark)
        name = isLiteral ? String(pair.key.dropLast(Self.literalMark.count)) : pair.key
        value = pair.value
    }

    /// The stored pair.
    package var pair: KeyValue { KeyValue(isLiteral ? name + Self.literalMark : name, value) }

    /// Writes `"name":value`.
    package func write(to object: inout JSONObjectWriter) {
        if isLiteral { object.member(name, .raw(Array(value.utf8))) } else { object.member(name, value) }
    }

    /// The canonical text of a JSON value that CloudEvents allow: a string, a boolean or an integer; `nil` for others.
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
    /// The limit of attributes of one event.
    package static let maxCount = 32
    package static let maxValueBytes = 1_024

    /// Whether a text is a valid value.
    package static func isAcceptable(_ text: String) -> Bool {
        (1...maxValueBytes).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// The errors of attributes given by a publisher in the process.
    static func problems(of pairs: [KeyValue]) -> [FieldError] {
        var errors: [FieldError] = []
        // Plus the trace and its state.
        if pairs.count > maxCount + 2 { errors.append(FieldError("", "must have at most \(maxCount) attributes")) }
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

    /// Whether a literal is valid JSON: it is written to documents unchanged.
    private var isJSON: Bool { ["true", "false"].contains(value) || Int64(value).map { String($0) } == value }
}

extension Event {
    /// The attributes in the API: an event whose id in the log differs has its publisher's id as `id`; internal
    /// attributes are omitted.
    package var shownAttributes: [EventAttribute] {
        attributes.compactMap { pair in
            switch pair.key {
            case Self.publisherIDName: EventAttribute(CloudEventAttribute.id, pair.value)
            case Self.sourceDigestName: nil
            default: EventAttribute(pair)
            }
        }
    }

    /// Converts ``shownAttributes`` back to the stored form.
    package static func attributes(shown: JSONValue) -> [KeyValue] {
        shown.members.compactMap { name, value in
            EventAttribute(name == CloudEventAttribute.id ? publisherIDName : name, value)?.pair
        }
    }
}
