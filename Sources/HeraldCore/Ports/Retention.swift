import HeraldJSON

/// The point of the log up to which events had arrived at a time. One is made every so often, so that the log can be cut
/// by age although events bring their own times.
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

/// What an erasure removed.
package struct Erasure: Equatable, Sendable {
    package var events = 0
    package var attempts = 0
    package var deliveries = 0
    package var authStatuses = 0
    package var answers = 0
    package init() {}
}

/// A subject whose traces outside the log are to be erased. What stores look for.
package struct ErasedSubject: Sendable {
    /// The user that it names.
    package let userID: String
    /// The subject as a JSON text, quotes included.
    private let literal: [UInt8]

    package init(_ subject: String) {
        userID = AuthFamily.userID(ofSubject: subject)
        var json = JSONWriter()
        subject.write(to: &json)
        literal = json.bytes
    }

    /// Whether a body that we wrote, JSON, holds the subject as a text.
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
