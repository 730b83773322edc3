import Synchronization

/// Enforces a limit of requests per second: one second's worth at once, and evenly from then on.
///
/// The state is one number: the time until which accepted requests use up the rate. Any thread; no lock.
package final class RequestMeter: Sendable {
    /// Monotonic nanoseconds.
    private let usedUntil = Atomic<Int64>(0)

    package init() {}

    /// Counts a request.
    /// - Parameters:
    ///   - limit: requests per second; less than 1 counts as 1.
    ///   - now: monotonic nanoseconds.
    /// - Returns: `nil` if it is accepted; otherwise the seconds until the next one is accepted, ≥ 1; the request does
    ///   not count then.
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
