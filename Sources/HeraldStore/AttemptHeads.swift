package import HeraldModel
import Synchronization

/// The last attempt of each existing delegate, where the list of its attempts begins. Each attempt refers to the
/// previous one of the same delegate (`attempts.previous`), so listing them reads no rows of other delegates. An index
/// by delegate would do the same, but would dirty a page for each attempt.
///
/// Contains committed attempts, and those of a transaction that is being committed: other connections see its rows before its
/// `COMMIT` returns. The writer's thread changes it, any thread reads it; the lock is held for a few instructions. The table `attempt_heads` is updated once every `AttemptHeads.round` attempts; later attempts are read
/// from `attempts` when the database is opened.
package final class AttemptHeads: Sendable {
    /// In attempts; a power of two.
    package static let round: Int64 = 16_384

    private struct Heads {
        var last: [DelegateKey: Int64]
        /// The changes of the transaction that is being committed.
        var coming: [DelegateKey: Int64] = [:]
    }

    private let heads: Mutex<Heads>

    package init(_ heads: [DelegateKey: Int64]) { self.heads = Mutex(Heads(last: heads)) }

    /// The first id of the round that an attempt belongs to.
    package static func start(of attempt: Int64) -> Int64 { attempt & ~(round - 1) }

    /// The id of a delegate's last attempt; 0 if it has none.
    package func last(of delegate: DelegateKey) -> Int64 { heads.withLock { $0.last[delegate] } ?? 0 }

    /// The ids of attempts that may be the delegate's last one, the newest first. The first that a reader finds is.
    package func candidates(of delegate: DelegateKey) -> [Int64] {
        heads.withLock { heads in [heads.coming[delegate], heads.last[delegate]].compactMap { $0 } }
    }

    /// - Returns: the delegates whose last attempt has this id or a later one, with that attempt.
    package func since(_ attempt: Int64) -> [DelegateKey: Int64] {
        heads.withLock { heads in heads.last.filter { $0.value >= attempt } }
    }

    /// A transaction with these changes is about to be committed; 0 for a deleted delegate.
    package func announce(_ changes: [DelegateKey: Int64]) { heads.withLock { $0.coming = changes } }

    /// Applies the changes of a committed transaction.
    package func take(_ changes: [DelegateKey: Int64]) {
        heads.withLock { heads in
            for (delegate, attempt) in changes { heads.last[delegate] = attempt > 0 ? attempt : nil }
            heads.coming = [:]
        }
    }

    /// The transaction was not committed.
    package func discard() { heads.withLock { $0.coming = [:] } }
}
