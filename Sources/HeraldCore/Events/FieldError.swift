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

extension [FieldError] {
    /// One line for each field: its pointer and the error.
    package var text: String {
        map { "\($0.pointer.isEmpty ? "The whole" : $0.pointer) \($0.detail)" }.joined(separator: "\n")
    }
}
