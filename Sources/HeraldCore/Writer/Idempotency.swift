/// A client's promise that requests with this key are the same request.
package struct IdempotencyKey: Sendable {
    package let key: String
    /// A hash of the whole request; requests with the same fingerprint are equal.
    package let fingerprint: [UInt8]
    /// How long a response is remembered, in milliseconds.
    static let lifetime: Int64 = 86_400_000

    package init(key: String, fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }
}

/// Makes a write happen once for an idempotency key: the response is stored in the same transaction.
package struct Idempotency<Outcome>: Sendable {
    package let key: IdempotencyKey
    /// The response to remember for an outcome; `nil` to remember none, so that the request may be repeated. Called on
    /// the writer's thread.
    package let answer: @Sendable (Outcome) -> StoredAnswer?

    package init(key: IdempotencyKey, answer: @escaping @Sendable (Outcome) -> StoredAnswer?) {
        self.key = key
        self.answer = answer
    }
}
