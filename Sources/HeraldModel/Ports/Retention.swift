import HeraldJSON

/// The position up to which events had arrived at a time. Marks are added periodically, so that the log can be cut by
/// age although events have times of their own.
package struct LogMark: Equatable, Sendable {
    package let sequence: LogPosition
    /// Milliseconds since 1970 UTC.
    package let time: Int64
    package init(sequence: LogPosition, time: Int64) {
        self.sequence = sequence
        self.time = time
    }

    /// Milliseconds between two marks.
    package static let interval: Int64 = 60_000
}

/// The counts of what an erasure removed.
package struct Erasure: Equatable, Sendable {
    package var events = 0
    package var attempts = 0
    package var deliveries = 0
    package var authStatuses = 0
    package var answers = 0
    /// Events that were scheduled.
    package var scheduled = 0
    /// The bytes that the contents had, by the block of the log.
    package var freed: [Int64: Int64] = [:]
    /// The events that are not erased completely yet.
    package var rest: [LogPosition] = []
    /// The idempotency key behind which the search for responses continues; `nil` if it is complete.
    package var nextAnswer: String?
    package init() {}
}

/// A subject whose data outside the log is to be erased: what stores search for.
package struct ErasedSubject: Sendable {
    /// The id of the user that it names.
    package let userID: String
    /// The subject as a JSON string, including quotes.
    private let literal: [UInt8]

    package init(_ subject: String) {
        userID = AuthFamily.userID(ofSubject: subject)
        literal = JSONWriter.document(of: subject)
    }

    /// Whether a JSON body written by Herald contains the subject as a string.
    package func isNamed(in body: [UInt8]) -> Bool {
        body.withUnsafeBufferPointer { body in
            literal.withUnsafeBufferPointer { literal in
                var start = body.startIndex
                while let quote = body[start...].firstIndex(of: UInt8(ascii: "\"")),
                    body.endIndex - quote >= literal.count
                {
                    if body[quote...].starts(with: literal) { return true }
                    start = quote + 1
                }
                return false
            }
        }
    }
}
