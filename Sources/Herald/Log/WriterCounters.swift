public import Synchronization

/// What the writer has done since the process started. Written by its thread, read by any.
public final class WriterCounters: Sendable {
    public let events = Atomic<Int>(0)
    public let commits = Atomic<Int>(0)
    public let failures = Atomic<Int>(0)
    /// The sum of the commits' durations.
    public let nanoseconds = Atomic<Int64>(0)

    init() {}

    func committed(events count: Int, nanoseconds duration: Int64) {
        events.add(count, ordering: .relaxed)
        commits.add(1, ordering: .relaxed)
        nanoseconds.add(duration, ordering: .relaxed)
    }

    func failed() { failures.add(1, ordering: .relaxed) }
}
