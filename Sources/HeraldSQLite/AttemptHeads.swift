import HeraldCore
import Synchronization

/// The last attempt of each existing delegate, where the list of its attempts begins. Each attempt refers to the
/// previous one of the same delegate (`attempts.previous`), so listing them reads no rows of other delegates. An index
/// by delegate would do the same, but would dirty a page for each attempt.
///
/// Contains committed attempts only. The writer's thread changes it, any thread reads it; the lock is held for a few
/// instructions. The table `attempt_heads` is updated once every `AttemptHeads.round` attempts; later attempts are read
/// from `attempts` when the database is opened.
final class AttemptHeads: Sendable {
    /// In attempts; a power of two.
    static let round: Int64 = 16_384

    private let heads: Mutex<[DelegateKey: Int64]>

    /// Reads the last attempts from the database. This scans at most one round of attempts.
    init(_ connection: Connection) throws(StoreError) {
        var heads: [DelegateKey: Int64] = [:]
        let kept = try Statement(connection, "SELECT delegate, attempt FROM attempt_heads")
        while try kept.step() { heads[kept.integer(0)] = kept.integer(1) }
        let later = try Statement(connection, AttemptHeads.later)
        later.bind(1, AttemptHeads.start(of: try connection.integer("SELECT max(id) FROM attempts")))
        while try later.step() { heads[later.integer(0)] = later.integer(1) }
        self.heads = Mutex(heads)
    }

    /// The attempts from ?1 on. Erased attempts belong to no delegate.
    static let later = "SELECT delegate, id FROM attempts WHERE id >= ?1 AND delegate <> 0 ORDER BY id"

    /// The first id of the round that an attempt belongs to.
    static func start(of attempt: Int64) -> Int64 { attempt & ~(round - 1) }

    /// The id of a delegate's last attempt; 0 if it has none.
    func last(of delegate: DelegateKey) -> Int64 { heads.withLock { $0[delegate] } ?? 0 }

    /// - Returns: the delegates whose last attempt has this id or a later one, with that attempt.
    func since(_ attempt: Int64) -> [DelegateKey: Int64] {
        heads.withLock { heads in heads.filter { $0.value >= attempt } }
    }

    /// Applies the changes of a committed transaction; 0 for a deleted delegate.
    func take(_ changes: [DelegateKey: Int64]) {
        heads.withLock { heads in
            for (delegate, attempt) in changes { heads[delegate] = attempt > 0 ? attempt : nil }
        }
    }
}
