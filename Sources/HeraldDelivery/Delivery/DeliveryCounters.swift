package import HeraldModel
package import Synchronization

/// Counts what a delivery loop has done since the process started. Written by the loop's thread, read by any.
package final class DeliveryCounters: Sendable {
    package let succeeded = Atomic<Int>(0)
    package let gaveUp = Atomic<Int>(0)
    /// Attempts that made no request, because the recipe of the delegate makes none of the event.
    package let notMade = Atomic<Int>(0)
    private let rejections = Atomic<Int>(0)
    private let failures = Atomic<Int>(0)
    private let unreachable = Atomic<Int>(0)
    private let hangs = Atomic<Int>(0)
    /// Upper bound of the events that were removed from the log before they were delivered to a delegate.
    package let missed = Atomic<Int>(0)
    /// Attempts by duration, in seconds.
    package let durations = Histogram(bounds: [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ])

    package init() {}

    /// Number of attempts with this outcome.
    package func attempts(_ meaning: OutcomeMeaning) -> Int {
        switch meaning {
        case .success: succeeded.load(ordering: .relaxed)
        case .rejection: rejections.load(ordering: .relaxed)
        case .failure: failures.load(ordering: .relaxed)
        case .unreachable: unreachable.load(ordering: .relaxed)
        case .hang: hangs.load(ordering: .relaxed)
        }
    }

    /// - Parameter trace: of the attempt, if it is recorded.
    func count(_ outcome: CallbackOutcome, trace: TraceContext? = nil) {
        switch outcome.meaning {
        case .success: succeeded.add(1, ordering: .relaxed)
        case .rejection: rejections.add(1, ordering: .relaxed)
        case .failure: failures.add(1, ordering: .relaxed)
        case .unreachable: unreachable.add(1, ordering: .relaxed)
        case .hang: hangs.add(1, ordering: .relaxed)
        }
        if outcome.isRequestNotMade { notMade.add(1, ordering: .relaxed) }
        durations.count(Double(outcome.duration) / 1_000_000, trace: trace)
    }

    func missed(_ count: Int) { missed.add(count, ordering: .relaxed) }

    func exhausted() { gaveUp.add(1, ordering: .relaxed) }
}
