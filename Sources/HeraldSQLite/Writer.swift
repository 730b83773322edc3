import HeraldModel
import HeraldRuntime
import HeraldStore

/// The one connection that writes, with its tables.
final class Writer: StoreTransaction {
    let connection: Connection
    private let extent: LogExtent
    private var kind = TransactionKind.deciding
    /// The last event of the log, including those of the open transaction.
    var last: LogPosition
    private var committed: LogPosition
    /// The number of pages in the write-ahead log at which the next checkpoint is due.
    private var checkpointAt = Writer.checkpointPages
    /// When to retry a failed checkpoint, in monotonic nanoseconds; `nil` if the last one did not fail.
    private var retryCheckpointAt: Int64?

    /// The write-ahead log may still contain erased data, until it is truncated.
    var mustCutLog = false
    /// When to truncate it, if a reader has held that back, in monotonic nanoseconds.
    private var cutLogAt: Int64?

    private let beginStatement, commitStatement, rollbackStatement: Statement
    let events: EventTable
    let values: ValueTables
    let answers: AnswerTable
    var attempts: AttemptTable
    let waiting: WaitingTable
    var progress: ProgressTables
    let blocks: BlockTable
    let gaps: GapTable
    let shared: PreparedStatements
    let sealer: ColumnSealer

    /// 2 MiB of log. A checkpoint runs between two commits, and publishers wait for it: small ones, more often, delay them
    /// less than large ones, which cost others more than their share.
    private static let checkpointPages = 500
    /// While a reader holds back the checkpoint, the next try is after this many more pages.
    private static let retryPages = 1000
    /// After a failure, or if erased data was held back, the next commit after a second tries again.
    private static let retryNanoseconds: Int64 = 1_000_000_000
    /// 64 MiB: a longer log is truncated as soon as no reader needs it.
    private static let longPages = 16384

    init(
        _ connection: Connection, _ columnSealer: ColumnSealer, _ heads: AttemptHeads, _ damaged: DamagedEvents,
        _ extent: LogExtent
    ) throws(StoreError) {
        self.connection = connection
        self.extent = extent
        sealer = columnSealer
        connection.watchLog()
        last = try EventTable.last(connection)
        committed = last
        beginStatement = try Statement(connection, "BEGIN IMMEDIATE")
        commitStatement = try Statement(connection, "COMMIT")
        rollbackStatement = try Statement(connection, "ROLLBACK")
        events = try EventTable(connection, EventReading(.hashed, damaged))
        values = try ValueTables(connection)
        answers = try AnswerTable(connection, columnSealer)
        attempts = try AttemptTable(connection, heads)
        waiting = try WaitingTable(connection)
        progress = try ProgressTables(connection)
        blocks = try BlockTable(connection)
        gaps = try GapTable(connection)
        shared = PreparedStatements(connection)
        try shared.prepare()
    }

    // MARK: The transaction itself

    /// All kinds are alike, since no other process writes. But only a deciding one gets the end of the log, so that what
    /// runs on this store runs on all.
    func begin(_ kind: TransactionKind) throws(StoreError) {
        self.kind = kind
        // Needed only if an earlier rollback failed.
        if connection.isInTransaction { try rollbackStatement.run() }
        try extent.withdrawIfDue()
        try beginStatement.run()
    }

    var head: LogPosition {
        get throws(StoreError) {
            guard kind == .deciding else { throw .headIsUnknown }
            return last
        }
    }

    /// Durable on return. If it throws, nothing was acknowledged; call `rollback` next.
    func commit() throws(StoreError) -> Commit {
        attempts.willCommit()
        try commitStatement.run()
        extent.raise(toPages: connection.logPages) { connection.logSalts }
        committed = last
        attempts.ended(committed: true)
        progress.ended(committed: true)
        return Commit(head: last)
    }

    func rollback() {
        last = committed
        attempts.ended(committed: false)
        progress.ended(committed: false)
        // After some errors SQLite has already rolled back.
        if connection.isInTransaction { try? rollbackStatement.run() }
    }

    /// Runs a checkpoint when the write-ahead log is long, or with `erasing` if it contains erased data.
    func checkpointIfDue(erasing: Bool) throws(StoreError) -> DatabaseCheckpoint {
        if let retryCheckpointAt {
            guard Clock.system.monotonic() >= retryCheckpointAt else { return .notDue }
        } else {
            let mayCut = erasing || cutLogAt.map { Clock.system.monotonic() >= $0 } ?? false
            guard mustCutLog && mayCut || connection.logPages >= checkpointAt else { return .notDue }
        }
        let pages = connection.logPages
        // Before the try, so that a checkpoint that is held back is not repeated with each commit.
        checkpointAt = pages + Writer.retryPages
        do {
            let isComplete = try checkpoint(mustCutLog || pages > Writer.longPages ? .truncate : .passive)
            retryCheckpointAt = nil
            cutLogAt = mustCutLog && !isComplete ? Clock.system.monotonic() + Writer.retryNanoseconds : nil
            guard isComplete else { return .heldBack }
        } catch {
            retryCheckpointAt = Clock.system.monotonic() + Writer.retryNanoseconds
            throw error
        }
        connection.logPages = 0
        checkpointAt = Writer.checkpointPages
        mustCutLog = false
        return .done
    }

    /// Like `Connection.checkpoint`; resets the extent, since the log may restart.
    func checkpoint(_ mode: Connection.CheckpointMode) throws(StoreError) -> Bool {
        if mode == .truncate { try extent.withdraw() }
        do {
            let isComplete = try connection.checkpoint(mode)
            if isComplete { try extent.withdraw() }
            return isComplete
        } catch {
            // It is unknown how far the checkpoint got.
            try extent.withdraw()
            throw error
        }
    }
}
