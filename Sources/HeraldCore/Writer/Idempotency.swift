package import HeraldModel

/// Makes a write happen once for an idempotency key: the response is stored in the same transaction. The key is a client's promise
/// that requests with it are the same request.
package struct Idempotency<Outcome>: Sendable {
    package let key: String
    /// A hash of the whole request; requests with the same fingerprint are equal.
    package let fingerprint: [UInt8]
    /// The response to remember for an outcome; `nil` to remember none, so that the request may be repeated. Called on
    /// the writer's thread.
    package let answer: @Sendable (Outcome) -> StoredAnswer?

    package init(key: String, fingerprint: [UInt8], answer: @escaping @Sendable (Outcome) -> StoredAnswer?) {
        self.key = key
        self.fingerprint = fingerprint
        self.answer = answer
    }
}
