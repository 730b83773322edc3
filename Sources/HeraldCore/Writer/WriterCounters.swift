package import HeraldModel
package import Synchronization

/// Counts the writer's work since the process started. Written by its thread, read by any.
package final class WriterCounters: Sendable {
    package let failures = Atomic<Int>(0)
    /// Committed transactions by duration, in seconds.
    package let durations = Histogram(bounds: [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ])
    /// Committed transactions by number of events: up to `Intake.batchEvents`, plus the rest of the last request.
    package let batches = Histogram(bounds: [0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000])

    init() {}

    /// - Parameters:
    ///   - duration: nanoseconds.
    ///   - trace: a recorded commit span of the transaction.
    func committed(events count: Int, nanoseconds duration: Int64, trace: TraceContext?) {
        durations.count(Double(duration) / 1e9, trace: trace)
        batches.count(Double(count))
    }

    func failed() { failures.add(1, ordering: .relaxed) }
}
