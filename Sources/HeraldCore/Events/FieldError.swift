/// What is wrong with one field of an event, or of the settings of a webhook.
public struct FieldError: Error, Hashable, Sendable {
    /// Of one request. To name thousands takes more time than to read them, and helps nobody.
    package static let maxReported = 100

    /// Where: a JSON pointer (RFC 6901), `""` for the whole.
    public let pointer: String
    /// What, and what is allowed, in words.
    public let detail: String

    package init(_ pointer: String, _ detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

/// Input that Herald does not accept. Nothing was changed.
public struct InvalidInput: Error, Sendable, CustomStringConvertible {
    /// Everything that is wrong, at least one.
    public let errors: [FieldError]

    package init(_ errors: [FieldError]) { self.errors = errors }

    /// One line for each field: its pointer and what is wrong.
    public var description: String {
        errors.map { "\($0.pointer.isEmpty ? "The whole" : $0.pointer) \($0.detail)" }.joined(separator: "\n")
    }
}
