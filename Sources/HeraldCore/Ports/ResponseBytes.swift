/// The bytes of the responses of one app that are remembered for idempotency keys and expire in the same hour.
package struct ResponseBytes: Equatable, Sendable {
    package static let millisecondsOfHour: Int64 = 3_600_000

    package let app: AppKey
    /// The number of the hour since 1970 UTC.
    package let hour: Int64
    /// The sum of `StoredAnswer.storedBytes`.
    package let bytes: Int64

    package init(app: AppKey, hour: Int64, bytes: Int64) {
        self.app = app
        self.hour = hour
        self.bytes = bytes
    }

    /// The number of the hour of a time, which is in milliseconds since 1970 UTC.
    package static func hour(of time: Int64) -> Int64 { time / millisecondsOfHour }
}

extension StoredAnswer {
    /// About the bytes of a row besides the body: the headers, the fingerprint, and the key, which an index repeats.
    package static let rowBytes = 512

    /// Bytes that count as stored for its app.
    package var storedBytes: Int { Self.rowBytes + body.count }
}
