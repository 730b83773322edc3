import HeraldDelivery
import HeraldModel
import Synchronization

/// The changes of one write for a pull delegate.
struct PullChange: Sendable {
    let delegate: DelegateKey
    let app: AppKey
    /// Events that were handed out.
    var handedOut = 0
    /// These are deliveries that were due again.
    var isRetry = false
    /// Attempts that were acknowledged, refused by a consumer, or ended with their lease.
    private(set) var acknowledged = 0
    private(set) var refused = 0
    private(set) var expired = 0
    var exhausted = 0
    /// Deliveries that retention prevented.
    var missed = 0
    /// There may be something to pull that was not there before.
    var returnsEvents = false
    /// The position was moved on request. Pulls that wait at other processes may wait for nothing else.
    var isSought = false
    private(set) var types: [String: (acknowledged: Int, failed: Int)] = [:]

    /// - Parameter type: of the event; `nil` if the log no longer has it.
    mutating func count(_ attempt: AttemptRecord, of type: String?) {
        switch attempt.failure {
        case nil: acknowledged += 1
        case .leaseExpired: expired += 1
        default: refused += 1
        }
        guard let type else { return }
        if attempt.failure == nil {
            types[type, default: (0, 0)].acknowledged += 1
        } else {
            types[type, default: (0, 0)].failed += 1
        }
    }
}

/// The pulled events that this process has recorded since its start, and the turns of pulls. The writer's thread changes it, any
/// thread reads it.
package final class PullTotals: Sendable {
    package enum Outcome: String, CaseIterable, Sendable {
        case handedOut = "handed_out"
        case acknowledged, refused, expired, exhausted, missed
    }

    private let counts = Mutex<[Outcome: Int]>([:])
    /// The delegates whose last pull has got deliveries that were due again: it is the turn of new events.
    private let retried = Mutex<Set<DelegateKey>>([])
    /// The attempts by app, type and slot that are not in the store.
    let volumes = VolumeCounter()

    package func count(of outcome: Outcome) -> Int { counts.withLock { $0[outcome] ?? 0 } }

    /// Whether the last pull of a delegate has got deliveries that were due again.
    func hadRetries(_ delegate: DelegateKey) -> Bool { retried.withLock { $0.contains(delegate) } }

    /// A delegate was removed.
    func forget(_ delegate: DelegateKey) { retried.withLock { _ = $0.remove(delegate) } }

    /// - Parameter time: milliseconds since 1970 UTC.
    func add(_ change: PullChange, at time: Int64) {
        if change.handedOut > 0 {
            retried.withLock { retried in
                retried.remove(change.delegate)
                if change.isRetry { retried.insert(change.delegate) }
            }
        }
        counts.withLock { counts in
            counts[.handedOut, default: 0] += change.handedOut
            counts[.acknowledged, default: 0] += change.acknowledged
            counts[.refused, default: 0] += change.refused
            counts[.expired, default: 0] += change.expired
            counts[.exhausted, default: 0] += change.exhausted
            counts[.missed, default: 0] += change.missed
        }
        for (type, count) in change.types {
            volumes.count(delivered: count.acknowledged, failed: count.failed, of: type, app: change.app, at: time)
        }
    }
}
