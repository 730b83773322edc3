import HeraldRuntime
import Synchronization

/// Says when a task that runs periodically is due. The first time is an interval after the start. A step of the wall clock changes
/// nothing.
final class Cadence: Sendable {
    /// Nanoseconds.
    private let interval: Int64
    private let clock: Clock
    /// Monotonic nanoseconds.
    private let next: Atomic<Int64>

    /// - Parameter interval: milliseconds.
    init(_ interval: Int64, _ clock: Clock) {
        let nanoseconds = interval * 1_000_000
        self.interval = nanoseconds
        self.clock = clock
        next = Atomic(clock.monotonic() + nanoseconds)
    }

    /// Whether the task is due. If so, it is due again an interval later. One thread at a time.
    func isDue() -> Bool {
        let now = clock.monotonic()
        guard now >= next.load(ordering: .relaxed) else { return false }
        next.store(now + interval, ordering: .relaxed)
        return true
    }
}
