/// What is wrong with one field of a request.
public struct FieldError: Error, Hashable, Sendable {
    /// Of one request. To name thousands takes more time than to read them, and helps nobody.
    public static let maxReported = 100

    /// Where: a JSON pointer (RFC 6901), `""` for the whole.
    public let pointer: String
    /// What, and what is allowed, in words.
    public let detail: String

    public init(_ pointer: String, _ detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}
