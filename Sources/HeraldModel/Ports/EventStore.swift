/// The port for durable events. Each store is a module of its own; tests have one in memory (`MemoryStore`). One
/// conformance suite runs with all of them.
///
/// Threads: `recover` and `transaction` belong to the writer's thread, each reader to the thread that created it;
/// `health` may be called on any thread.
package protocol EventStore: AnyObject, Sendable {
    /// The content at the start of the process. Called once, before anything else.
    func recover() throws(StoreError) -> Recovery

    /// The lanes of some shards, which this process has from now on.
    /// - Parameter maxRows: rows of waiting deliveries that are read for one delegate. If it has more, none are, and the lane
    ///   loads them from the store (`StoreReader.rows`). So a start needs no memory for what has accumulated.
    func recover(_ shards: Shards, maxRows: Int) throws(StoreError) -> LaneRecovery

    /// Runs `body` and makes everything that it wrote durable before returning; a thrown error leaves nothing behind.
    ///
    /// A store may run `body` several times, and only the last run counts: it has no other effects.
    /// - Throws: `.outdated` if something that a publishing transaction has read has changed before its commit: run it again, or run it
    ///   as a deciding one. `.unknown` if the transaction may have been committed nevertheless. After `.syncFailed` the
    ///   state of the data on disk is unknown: the process has to stop.
    @discardableResult
    func transaction(
        _ kind: TransactionKind, _ body: (any StoreTransaction) throws(StoreError) -> Void
    ) throws(StoreError) -> Commit

    /// Copies the write-ahead log into the database if the log is long, or with `erasing` if it contains erased data. Call it
    /// after each transaction, on the writer's thread. A failure takes nothing back that was committed, unless it is
    /// `StoreError.syncFailed`, which is as serious as in a transaction.
    func checkpointIfDue(erasing: Bool) throws(StoreError) -> DatabaseCheckpoint

    /// A connection for reading, for the calling thread alone.
    func makeReader() throws(StoreError) -> any StoreReader

    /// Whether several processes may have the store open. They keep a list of changes (`StoreTransaction.record`), from which
    /// each reads the changes of the others.
    var isShared: Bool { get }

    /// How far the wall clock that these processes agree on is ahead of this machine's, in milliseconds. Any thread.
    var clockOffset: Int64 { get }

    /// How the delegates are shared with other processes; `nil` if this one has them all.
    var leases: (any ShardLeases)? { get }

    /// Calls `notify` when there may be events or changes of other processes. On any thread; it does not wait. Notifications
    /// may be lost, and may come too often. Called once.
    /// - Parameter notify: returns whether a delegate waits for events. If none does, notifications may come later.
    func observe(_ notify: @escaping @Sendable () -> Bool)

    /// Whether appends can be expected to succeed: the store responds and has space. Cheap.
    func health() throws(StoreError)

    /// Whether what is written is still found by the next start: the open files are those of the folder, and whole; or a session
    /// with a server is open. Cheap; the writer's thread, twice a second.
    /// - Throws: `StoreError.lost` or `.replaced`: from then on every transaction is refused. `.unavailable`: the session has ended,
    ///   and the next transaction opens another one.
    func checkFiles() throws(StoreError)

    /// The events that were found to be damaged. A store returns `Event.damaged` in the place of such an event.
    var damagedEvents: DamagedEvents { get }

    /// The rows of one tenant that could not be read, and were left out or replaced.
    var damagedRows: DamagedRows { get }

    /// Closes the store cleanly. Must be the last call, after the end of all readers. The writer's thread.
    func close()
}

/// The kind of a transaction, for stores to which several processes write. Each kind includes the permissions of those before it.
package enum TransactionKind: Comparable, Sendable {
    /// Records the progress of deliveries (`DeliveryTransaction.write`), and reads nothing.
    case recording
    /// Appends events, and changes the values and responses that belong to them. What it has read may change before the
    /// commit, which fails then (`StoreError.outdated`). The positions of its events are known after the commit.
    case publishing
    /// Does everything else. Nothing that it depends on changes before its commit, and the end of the log is known.
    case deciding
}

/// The result of a durable transaction.
package struct Commit: Equatable, Sendable {
    /// The last event of the log: if the transaction has appended events, the last of these, which follow each other without
    /// a gap.
    package let head: LogPosition
    package init(head: LogPosition) { self.head = head }
}

extension EventStore {
    /// It belongs to one process.
    package var isShared: Bool { false }

    package var clockOffset: Int64 { 0 }

    package var leases: (any ShardLeases)? { nil }

    package func observe(_ notify: @escaping @Sendable () -> Bool) {}

    /// There are no files.
    package func checkFiles() {}

    /// There is no write-ahead log.
    package func checkpointIfDue(erasing: Bool) -> DatabaseCheckpoint { .notDue }
}

/// The result of copying the write-ahead log into the database. (A `Checkpoint` is something else: the
/// results of deliveries.)
package enum DatabaseCheckpoint: Sendable {
    case notDue
    case done
    /// Readers still need a part of the log.
    case heldBack
    case failed(StoreError)
    /// There is no such log, and an empty part of the database could not be dropped, this many times in a row.
    case kept(StoreError, tries: Int)

    /// Whether the log was copied, or should have been.
    package var isOfLog: Bool {
        switch self {
        case .notDue, .kept: false
        case .done, .heldBack, .failed: true
        }
    }
}

/// The operations inside a transaction: a port for each subject. Valid until the closure returns; the writer's thread.
package protocol StoreTransaction: LogTransaction, DeliveryTransaction, RegistryTransaction, AccessTransaction,
    PendingTransaction, SubmissionTransaction, PullTransaction
{
    /// Adds to the list of changes, with the next number: once in each deciding transaction of a shared store.
    func record(_ changes: [Change], name: Int64) throws(StoreError)
}

/// Reads committed data, with a port for each subject. One thread; calls may wait for the disk.
package protocol StoreReader: LogReader, DeliveryReader, RegistryReader, AccessReader, PendingReader,
    SubmissionReader, PullReader
{
    /// The ends of the log and of the list of changes of a shared store, at the same time.
    /// - Parameter isFresh: all that is committed. Otherwise what this process has committed, or was notified of, which costs
    ///   next to nothing.
    func ends(isFresh: Bool) throws(StoreError) -> StoreEnds
    /// The list of changes of a shared store after a number, oldest first. It goes back a few minutes at least: if it
    /// begins later, the first one has another number than the next.
    func changes(after number: Int64, limit: Int) throws(StoreError) -> [ChangeSet]
    /// Reads the current values of changed rows.
    func rows(of changes: Set<Change>) throws(StoreError) -> ChangedRows
    /// The processes that share the store, and those that have left it within a day, from newest to oldest. Empty if the
    /// delegates are not shared.
    func nodes() throws(StoreError) -> [NodeRecord]
    /// The shards that nodes have taken since then (milliseconds since 1970 UTC), newest first, some hundreds at most. Empty if
    /// the delegates are not shared.
    func moves(since time: Int64) throws(StoreError) -> [ShardMove]
}

/// A store of one process has no list of changes.
extension StoreTransaction {
    package func record(_ changes: [Change], name: Int64) {}
}

extension StoreReader {
    package func ends(isFresh: Bool) throws(StoreError) -> StoreEnds {
        StoreEnds(event: try lastEvent(), change: 0)
    }
    package func changes(after number: Int64, limit: Int) -> [ChangeSet] { [] }
    package func rows(of changes: Set<Change>) -> ChangedRows { ChangedRows() }
    package func nodes() -> [NodeRecord] { [] }
    package func moves(since time: Int64) -> [ShardMove] { [] }
}
