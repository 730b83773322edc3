public import Synchronization

/// What a delivery loop has done since the process started. Written by its thread, read by any.
public final class DeliveryCounters: Sendable {
    public let succeeded = Atomic<Int>(0)
    public let failed = Atomic<Int>(0)
    public let gaveUp = Atomic<Int>(0)
    /// Events that fell off the end of the log before a delegate was told of them: at most so many.
    public let missed = Atomic<Int>(0)
    /// Attempts by duration: upper bounds in seconds, and how many were not longer, not cumulative.
    public static let bounds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]
    private let durations = Mutex<(buckets: [Int], sum: Double)>((Array(repeating: 0, count: bounds.count + 1), 0))

    public init() {}

    func count(_ outcome: CallbackOutcome) {
        if outcome.isSuccess {
            succeeded.add(1, ordering: .relaxed)
        } else {
            failed.add(1, ordering: .relaxed)
        }
        let seconds = Double(outcome.duration) / 1_000_000
        var bucket = 0
        while bucket < Self.bounds.count && seconds > Self.bounds[bucket] { bucket += 1 }
        durations.withLock {
            $0.buckets[bucket] += 1
            $0.sum += seconds
        }
    }

    func missed(_ count: Int) { missed.add(count, ordering: .relaxed) }

    func exhausted() { gaveUp.add(1, ordering: .relaxed) }

    /// How many attempts fell into each bucket (the last one is without bound), and the sum of their seconds.
    public var histogram: (buckets: [Int], sum: Double) { durations.withLock { $0 } }
}
