import HeraldCore
import Synchronization

/// The last attempt of each delegate that lives: where its list begins. From there each attempt names the one before it
/// of the same delegate (`attempts.previous`), so that a list reads no row of anybody else. An index by delegate would do the
/// same, and dirty a page for each attempt.
///
/// Of what is committed. The writer's thread changes it, any thread reads; the lock is held for a few instructions.
/// On disk, in `attempt_heads`, it is brought up to date once in `AttemptHeads.round` attempts; what came after that is read
/// from the attempts themselves when the database is opened.
final class AttemptHeads: Sendable {
    /// Attempts; a power of two.
    static let round: Int64 = 16_384

    private let heads: Mutex<[DelegateKey: Int64]>

    /// Reads them. Takes as long as it takes to pass over one round of attempts.
    init(_ connection: Connection) throws(StoreError) {
        var heads: [DelegateKey: Int64] = [:]
        let kept = try Statement(connection, "SELECT delegate, attempt FROM attempt_heads")
        while try kept.step() { heads[kept.integer(0)] = kept.integer(1) }
        let later = try Statement(connection, AttemptHeads.later)
        later.bind(1, AttemptHeads.start(of: try connection.integer("SELECT max(id) FROM attempts")))
        while try later.step() { heads[later.integer(0)] = later.integer(1) }
        self.heads = Mutex(heads)
    }

    /// Attempts from ?1 on. An erased one is nobody's.
    static let later = "SELECT delegate, id FROM attempts WHERE id >= ?1 AND delegate <> 0 ORDER BY id"

    /// The first number of the round that an attempt belongs to.
    static func start(of attempt: Int64) -> Int64 { attempt & ~(round - 1) }

    /// The id of a delegate's last attempt; 0: it has none.
    func last(of delegate: DelegateKey) -> Int64 { heads.withLock { $0[delegate] } ?? 0 }

    /// - Returns: those whose last attempt is this one or came after it.
    func since(_ attempt: Int64) -> [DelegateKey: Int64] {
        heads.withLock { heads in heads.filter { $0.value >= attempt } }
    }

    /// A transaction that changed these is committed; 0: the delegate is gone.
    func take(_ changes: [DelegateKey: Int64]) {
        heads.withLock { heads in
            for (delegate, attempt) in changes { heads[delegate] = attempt > 0 ? attempt : nil }
        }
    }
}
