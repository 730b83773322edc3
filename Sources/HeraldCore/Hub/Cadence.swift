import HeraldRuntime
import Synchronization

/// Says when a task that runs periodically is due. The first time is an interval after the start.
final class Cadence: Sendable {
    private let interval: Int64
    private let clock: Clock
    /// Milliseconds since 1970 UTC.
    private let next: Atomic<Int64>

    /// - Parameter interval: milliseconds.
    init(_ interval: Int64, _ clock: Clock) {
        self.interval = interval
        self.clock = clock
        next = Atomic(clock.wall() + interval)
    }

    /// Whether the task is due. If so, it is due again an interval later. One thread at a time.
    func isDue() -> Bool {
        let now = clock.wall()
        guard now >= next.load(ordering: .relaxed) else { return false }
        next.store(now + interval, ordering: .relaxed)
        return true
    }
}
