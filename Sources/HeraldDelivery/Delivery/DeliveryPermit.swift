import HeraldModel
import Synchronization

/// Until when this process may start attempts: while no other one can have taken its shards. The writer's thread renews it,
/// the delivery loops read it.
package final class DeliveryPermit: Sendable {
    /// Nanoseconds from a sign of life to the end of the permit. Shorter than the time after which a store gives the shards of
    /// a silent process to others.
    static let duration: Int64 = 5_000_000_000

    /// Whether it can end.
    let isLimited: Bool
    private let end: Atomic<Int64>
    private let abort: Atomic<Int64>

    /// - Parameter isLimited: there is none before it is renewed; otherwise it never ends.
    package init(isLimited: Bool = false) {
        self.isLimited = isLimited
        end = Atomic(isLimited ? 0 : .max)
        abort = Atomic(.max)
    }

    /// - Parameter now: monotonic nanoseconds.
    package func allows(_ now: Int64) -> Bool { now < end.load(ordering: .relaxed) }

    /// When open attempts have to end, in monotonic nanoseconds.
    var abortsAt: Int64 { abort.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - alive: when the sign of life was given that the store has accepted.
    ///   - now: monotonic nanoseconds.
    /// - Returns: whether there was none before.
    package func renew(alive: Int64, now: Int64) -> Bool {
        abort.store(alive + NodeSilenceLimit.attempts, ordering: .relaxed)
        let before = end.exchange(alive + Self.duration, ordering: .relaxed)
        return before <= now
    }

    /// Starts no more attempts until it is renewed: the session has ended, and other nodes may take its shards at once. Open
    /// attempts may continue for a while, because perhaps no other node does.
    /// - Parameter now: monotonic nanoseconds.
    package func revoke(_ now: Int64) { end.min(now, ordering: .relaxed) }
}
