import Synchronization

/// Holds whoever shares it to so many requests in a second: one second's worth at once, and evenly from then on.
///
/// One number says it all: the time up to which everything that was let through uses up the rate. Any thread; no lock.
package final class RequestMeter: Sendable {
    /// Nanoseconds, monotonic.
    private let usedUntil = Atomic<Int64>(0)

    package init() {}

    /// Counts a request.
    /// - Parameters:
    ///   - limit: requests in a second; less than 1 counts as 1.
    ///   - now: nanoseconds, monotonic.
    /// - Returns: the seconds after which the next one is let through, ≥ 1, when this one is not; it does not count then.
    package func refusal(limit: Int, now: Int64) -> Int? {
        let second: Int64 = 1_000_000_000
        let cost = second / Int64(max(1, limit))
        var known = usedUntil.load(ordering: .relaxed)
        while true {
            let next = max(known, now) + cost
            if next - now > second { return Int((next - now - 1) / second) }
            let (exchanged, original) = usedUntil.weakCompareExchange(
                expected: known, desired: next, ordering: .relaxed)
            if exchanged { return nil }
            known = original
        }
    }
}
