package import HeraldCore
import Synchronization

/// The last attempt of each existing delegate, where the list of its attempts begins. Each attempt refers to the
/// previous one of the same delegate (`attempts.previous`), so listing them reads no rows of other delegates. An index
/// by delegate would do the same, but would dirty a page for each attempt.
///
/// Contains committed attempts only. The writer's thread changes it, any thread reads it; the lock is held for a few
/// instructions. The table `attempt_heads` is updated once every `AttemptHeads.round` attempts; later attempts are read
/// from `attempts` when the database is opened.
package final class AttemptHeads: Sendable {
    /// In attempts; a power of two.
    package static let round: Int64 = 16_384

    private let heads: Mutex<[DelegateKey: Int64]>

    package init(_ heads: [DelegateKey: Int64]) { self.heads = Mutex(heads) }

    /// The first id of the round that an attempt belongs to.
    package static func start(of attempt: Int64) -> Int64 { attempt & ~(round - 1) }

    /// The id of a delegate's last attempt; 0 if it has none.
    package func last(of delegate: DelegateKey) -> Int64 { heads.withLock { $0[delegate] } ?? 0 }

    /// - Returns: the delegates whose last attempt has this id or a later one, with that attempt.
    package func since(_ attempt: Int64) -> [DelegateKey: Int64] {
        heads.withLock { heads in heads.filter { $0.value >= attempt } }
    }

    /// Applies the changes of a committed transaction; 0 for a deleted delegate.
    package func take(_ changes: [DelegateKey: Int64]) {
        heads.withLock { heads in
            for (delegate, attempt) in changes { heads[delegate] = attempt > 0 ? attempt : nil }
        }
    }
}
