public import Synchronization

/// What a delivery loop has done since the process started. Written by its thread, read by any.
public final class DeliveryCounters: Sendable {
    public let succeeded = Atomic<Int>(0)
    public let failed = Atomic<Int>(0)
    public let gaveUp = Atomic<Int>(0)
    /// Events that fell off the end of the log before a delegate was told of them: at most so many.
    public let missed = Atomic<Int>(0)
    /// Attempts by how long they took, in seconds.
    public let durations = Histogram(bounds: [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ])

    public init() {}

    func count(_ outcome: CallbackOutcome) {
        if outcome.isSuccess {
            succeeded.add(1, ordering: .relaxed)
        } else {
            failed.add(1, ordering: .relaxed)
        }
        durations.count(Double(outcome.duration) / 1_000_000)
    }

    func missed(_ count: Int) { missed.add(count, ordering: .relaxed) }

    func exhausted() { gaveUp.add(1, ordering: .relaxed) }
}
