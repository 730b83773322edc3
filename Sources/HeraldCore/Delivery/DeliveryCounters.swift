package import Synchronization

/// Counts what a delivery loop has done since the process started. Written by the loop's thread, read by any.
package final class DeliveryCounters: Sendable {
    package let gaveUp = Atomic<Int>(0)
    /// Attempts that made no request, because the recipe of the delegate makes none of the event.
    package let notMade = Atomic<Int>(0)
    private let outcomes = Mutex<[OutcomeMeaning: Int]>([:])
    /// Upper bound of the events that were removed from the log before they were delivered to a delegate.
    package let missed = Atomic<Int>(0)
    /// Attempts by duration, in seconds.
    package let durations = Histogram(bounds: [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ])

    package init() {}

    /// Number of attempts with this outcome.
    package func attempts(_ meaning: OutcomeMeaning) -> Int { outcomes.withLock { $0[meaning] ?? 0 } }

    /// - Parameter trace: of the attempt, if it is recorded.
    func count(_ outcome: CallbackOutcome, trace: TraceContext? = nil) {
        outcomes.withLock { $0[outcome.meaning, default: 0] += 1 }
        if outcome.isRequestNotMade { notMade.add(1, ordering: .relaxed) }
        durations.count(Double(outcome.duration) / 1_000_000, trace: trace)
    }

    func missed(_ count: Int) { missed.add(count, ordering: .relaxed) }

    func exhausted() { gaveUp.add(1, ordering: .relaxed) }
}
