import Synchronization

/// Enforces a limit per second, of requests or events: one second's worth at once, and evenly from then on.
///
/// The state is one number: the time until which what was accepted uses up the rate. Any thread; no lock.
package final class RateMeter: Sendable {
    /// Monotonic nanoseconds.
    private let usedUntil = Atomic<Int64>(0)

    private static let second: Int64 = 1_000_000_000

    package init() {}

    /// Counts a request, or a post of several events: one that is larger than what is left is accepted while anything is left,
    /// and uses up the next seconds.
    /// - Parameters:
    ///   - count: at least 1.
    ///   - limit: per second; less than 1 counts as 1.
    ///   - now: monotonic nanoseconds.
    /// - Returns: `nil` if it is accepted; otherwise the seconds until the next one is accepted, ≥ 1; nothing is counted
    ///   then.
    package func refusal(_ count: Int = 1, limit: Int, now: Int64) -> Int? {
        let cost = Self.second / Int64(max(1, limit))
        var known = usedUntil.load(ordering: .relaxed)
        while true {
            let from = max(known, now)
            if from + cost - now > Self.second { return Int((from + cost - now - 1) / Self.second) }
            if exchange(&known, Self.advanced(from, by: count, cost)) { return nil }
        }
    }

    /// Counts what was accepted elsewhere.
    func use(_ count: Int, limit: Int, now: Int64) {
        let cost = Self.second / Int64(max(1, limit))
        var known = usedUntil.load(ordering: .relaxed)
        while !exchange(&known, Self.advanced(max(known, now), by: count, cost)) {}
    }

    private static func advanced(_ time: Int64, by count: Int, _ cost: Int64) -> Int64 {
        let (used, isHuge) = cost.multipliedReportingOverflow(by: Int64(count))
        let (sum, isLate) = time.addingReportingOverflow(used)
        return isHuge || isLate ? .max - second : sum
    }

    private func exchange(_ known: inout Int64, _ next: Int64) -> Bool {
        let (exchanged, original) = usedUntil.weakCompareExchange(expected: known, desired: next, ordering: .relaxed)
        known = original
        return exchanged
    }
}
