/// A client's promise that requests with this key are the same request.
public struct IdempotencyKey: Sendable {
    public let key: String
    /// Of the whole request; two requests with the same fingerprint are the same.
    public let fingerprint: [UInt8]
    /// How long an answer is remembered, in milliseconds.
    static let lifetime: Int64 = 86_400_000

    public init(key: String, fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }
}

/// Makes a write happen once for an idempotency key: the answer is stored in the same transaction.
public struct Idempotency<Outcome>: Sendable {
    public let key: IdempotencyKey
    /// The answer to remember for an outcome; `nil`: none, the request may be repeated. The writer's thread.
    public let answer: @Sendable (Outcome) -> StoredAnswer?

    public init(key: IdempotencyKey, answer: @escaping @Sendable (Outcome) -> StoredAnswer?) {
        self.key = key
        self.answer = answer
    }
}
