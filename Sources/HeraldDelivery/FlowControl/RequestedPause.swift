/// The pause that a receiver has requested with `Retry-After`, when all of its responses do. Pure; times are monotonic
/// nanoseconds.
///
/// Single rejections delay only their own delivery: the receiver may reject a share of its requests. If ten in a row
/// have a `Retry-After`, its quota is used up, and the lane waits for as long as the last one says. That is no outage.
/// But a receiver that accepts nothing after five such pauses is not available: the breaker counts its rejections.
struct RequestedPause: Equatable {
    enum Answer {
        /// The breaker counts the rejection.
        case ignored
        /// The breaker does not count it.
        case noted
        /// The attempt does not count, and a pause begins.
        case begun
    }

    private static let startsAfter: UInt8 = 10
    private static let maxPauses: UInt8 = 5
    /// A receiver that requests more is not available.
    private static let longest: Int64 = 300_000_000_000

    /// Nothing starts before this time.
    private(set) var end: Int64 = 0
    private var begunAt = Int64.min
    /// Rejections in a row.
    private var rejections: UInt8 = 0
    /// Pauses since the last success.
    private var pauses: UInt8 = 0

    mutating func succeeded(startedAt: Int64) {
        rejections = 0
        if startedAt > begunAt { pauses = 0 }
    }

    /// A request was rejected.
    /// - Parameter length: the requested pause; 0 if none was requested.
    mutating func requested(_ length: Int64, startedAt: Int64, now: Int64) -> Answer {
        guard length > 0, length <= Self.longest, pauses < Self.maxPauses else { return .ignored }
        // It was open when the pause began.
        if startedAt <= begunAt { return .noted }
        rejections += 1
        // Right after a pause, one rejection shows that it was too short.
        guard rejections >= Self.startsAfter || pauses > 0 else { return .noted }
        rejections = 0
        pauses += 1
        begunAt = now
        end = max(end, now + length)
        return .begun
    }

    /// Ends the pause early: it does not count then. One rejection begins the next one.
    /// - Returns: `false` if there is none.
    mutating func endEarly(now: Int64) -> Bool {
        guard now < end else { return false }
        end = 0
        pauses = max(1, pauses - 1)
        return true
    }
}
