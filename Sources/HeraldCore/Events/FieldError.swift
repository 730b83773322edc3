/// An invalid field of an event, or of the settings of a webhook.
public struct FieldError: Error, Hashable, Sendable {
    /// Per request. Listing thousands takes longer than reading them, and does not help.
    package static let maxReported = 100

    /// A JSON pointer (RFC 6901), `""` for the whole.
    public let pointer: String
    /// A description of the error, and of what is allowed.
    public let detail: String

    package init(_ pointer: String, _ detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

/// Invalid input. Nothing was changed.
public struct InvalidInput: Error, Sendable, CustomStringConvertible {
    /// All errors, at least one.
    public let errors: [FieldError]

    package init(_ errors: [FieldError]) { self.errors = errors }

    /// One line for each field: its pointer and the error.
    public var description: String {
        errors.map { "\($0.pointer.isEmpty ? "The whole" : $0.pointer) \($0.detail)" }.joined(separator: "\n")
    }
}
