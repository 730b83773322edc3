import HeraldJSON

/// The point of the log up to which events had arrived at a time. One is made every so often, so that the log can be cut
/// by age although events bring their own times.
public struct LogMark: Equatable, Sendable {
    public let sequence: LogPosition
    /// Milliseconds since 1970 UTC.
    public let time: Int64
    public init(sequence: LogPosition, time: Int64) {
        self.sequence = sequence
        self.time = time
    }

    /// Milliseconds between two marks.
    public static let interval: Int64 = 60_000
}

/// What an erasure removed.
public struct Erasure: Equatable, Sendable {
    public var events = 0
    public var attempts = 0
    public var deliveries = 0
    public var authStatuses = 0
    public var answers = 0
    public init() {}
}

/// A subject whose traces outside the log are to be erased. What stores look for.
public struct ErasedSubject: Sendable {
    /// The user that it names.
    public let userID: String
    /// The subject as a JSON text, quotes included.
    private let literal: [UInt8]

    public init(_ subject: String) {
        userID = AuthFamily.userID(ofSubject: subject)
        var json = JSONWriter()
        subject.write(to: &json)
        literal = json.bytes
    }

    /// Whether a body that we wrote, JSON, holds the subject as a text.
    public func isNamed(in body: [UInt8]) -> Bool {
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
