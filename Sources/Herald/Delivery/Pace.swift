/// How fast a lane may start attempts: not faster than its delegate's rate limit, and slower when the receiver asks for it.
/// Times are monotonic nanoseconds. Pure.
///
/// The spacing is the generic cell rate algorithm (ITU-T I.371): each start moves the earliest next one by an interval.
struct Pace: Equatable {
    /// After a complaint the interval is at least this long, doubles with each further one, and shrinks by an eighth with
    /// each success until it is too short to matter.
    static let firstInterval: Int64 = 50_000_000
    static let longestInterval: Int64 = 60_000_000_000
    private static let shortestInterval: Int64 = 1_000_000
    /// After an outage: ten requests a second to begin with.
    private static let careful: Int64 = 100_000_000
    /// Starts that are this much too early are let through, so that a loop that wakes every millisecond keeps up with a
    /// rate of thousands. Longer intervals are kept exactly.
    private static let tolerance: Int64 = 10_000_000

    /// What the receiver's complaints ask for; 0: nothing.
    private(set) var interval: Int64 = 0
    private var next: Int64 = 0
    private var notBefore: Int64 = 0

    /// When the next attempt may start.
    func earliestStart(_ limit: Double?) -> Int64 {
        max(notBefore, spacing(limit) < Self.tolerance ? next - Self.tolerance : next)
    }

    mutating func started(now: Int64, _ limit: Double?) {
        let spacing = spacing(limit)
        if spacing > 0 { next = max(next, now) + spacing }
    }

    /// The limit is another one: what was planned by the old one doesn't hold.
    mutating func forgetSpacing() { next = 0 }

    /// The receiver answered 429 or 503.
    /// - Parameter retryAfter: seconds that it asked for.
    mutating func slowDown(retryAfter: Int?, now: Int64) {
        interval = min(max(interval * 2, Self.firstInterval), Self.longestInterval)
        next = max(next, now + interval)
        if let retryAfter { notBefore = max(notBefore, now + Int64(retryAfter) * 1_000_000_000) }
    }

    mutating func succeeded() {
        guard interval > 0 else { return }
        interval -= interval / 8
        if interval < Self.shortestInterval { interval = 0 }
    }

    /// An outage is over: what has gathered doesn't come all at once.
    mutating func resume() { interval = max(interval, Self.careful) }

    private func spacing(_ limit: Double?) -> Int64 {
        max(interval, limit.map { Int64(1_000_000_000 / $0) } ?? 0)
    }
}
