/// The point of the log up to which events had arrived at a time. One is made every so often, so that the log can be cut
/// by age although events bring their own times.
public struct LogMark: Equatable, Sendable {
    public let sequence: Sequence
    /// Milliseconds since 1970 UTC.
    public let time: Int64
    public init(sequence: Sequence, time: Int64) {
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
