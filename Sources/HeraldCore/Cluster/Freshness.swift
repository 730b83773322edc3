import HeraldRuntime
import Synchronization

/// When memory was last known to include all that other processes had changed in a shared store. Any thread.
final class Freshness: Sendable {
    /// Nanoseconds after which memory is too old to grant access.
    private static let maxAge: Int64 = 5_000_000_000

    private let clock: Clock
    /// Monotonic nanoseconds.
    private let confirmed: Atomic<Int64>

    /// Memory was read from the store just now.
    init(_ clock: Clock) {
        self.clock = clock
        confirmed = Atomic(clock.monotonic())
    }

    /// - Parameter time: when it was, in monotonic nanoseconds.
    func confirm(_ time: Int64) { confirmed.store(time, ordering: .relaxed) }

    /// Whether memory includes what others have changed, except in the last seconds.
    var isCurrent: Bool { clock.monotonic() - confirmed.load(ordering: .relaxed) < Self.maxAge }
}
