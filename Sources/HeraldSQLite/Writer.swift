import HeraldCore
import HeraldRuntime

/// The one connection that writes, with its tables. What a transaction's body calls is in an extension for each port.
final class Writer: StoreTransaction {
    let connection: Connection
    private let extent: LogExtent
    /// The last event of the log, those of the open transaction included.
    var head: LogPosition
    private var committedHead: LogPosition
    /// Pages of the log at which it is copied into the file.
    private var checkpointAt = Writer.checkpointPages
    /// When a checkpoint that failed is tried again, in monotonic nanoseconds; `nil`: the last one did not fail.
    private var retryCheckpointAt: Int64?

    /// Somebody was erased: the log still has what was there, until it is cut.
    var mustCutLog = false

    private let beginStatement, commitStatement, rollbackStatement: Statement
    let events: EventTable
    let values: ValueTables
    let answers: AnswerTable
    let delegates: DelegateTable
    var attempts: AttemptTable
    let waiting: WaitingTable
    let progress: ProgressTables
    let blocks: BlockTable
    let access: AccessTables
    let sessions: SessionTable
    let audit: AuditTable

    /// 16 MiB of log: a checkpoint costs milliseconds inside a commit, and at 4000 pages it is rare enough not to show
    /// in the 99th percentile (at 1000 it does).
    private static let checkpointPages = 1000
    /// While a reader holds the log back, another try after this many more.
    private static let retryPages = 1000
    /// After a failure, the next commit after a second tries again.
    private static let retryNanoseconds: Int64 = 1_000_000_000
    /// 64 MiB: longer than this, the log is cut as soon as no reader needs it.
    private static let longPages = 16384

    init(
        _ connection: Connection, _ columnSealer: ColumnSealer, _ heads: AttemptHeads, _ damaged: DamagedEvents,
        _ extent: LogExtent
    ) throws(StoreError) {
        self.connection = connection
        self.extent = extent
        connection.watchLog()
        head = try connection.integer("SELECT max(sequence) FROM events")
        committedHead = head
        beginStatement = try Statement(connection, "BEGIN IMMEDIATE")
        commitStatement = try Statement(connection, "COMMIT")
        rollbackStatement = try Statement(connection, "ROLLBACK")
        events = try EventTable(connection, EventReading(connection, damaged))
        values = try ValueTables(connection)
        answers = try AnswerTable(connection, columnSealer)
        delegates = try DelegateTable(connection, columnSealer)
        attempts = try AttemptTable(connection, heads)
        waiting = try WaitingTable(connection)
        progress = try ProgressTables(connection)
        blocks = try BlockTable(connection)
        access = try AccessTables(connection)
        sessions = try SessionTable(connection)
        audit = try AuditTable(connection)
    }

    // MARK: The transaction itself

    func begin() throws(StoreError) {
        // Only when an earlier rollback failed.
        if connection.isInTransaction { try rollbackStatement.run() }
        try extent.withdrawIfDue()
        try beginStatement.run()
    }

    /// Durable when it returns; when it throws, nothing was acknowledged and `rollback` comes next.
    func commit() throws(StoreError) {
        try commitStatement.run()
        extent.raise(toPages: connection.logPages) { connection.logSalts }
        committedHead = head
        attempts.ended(committed: true)
    }

    func rollback() {
        head = committedHead
        attempts.ended(committed: false)
        // After some errors SQLite has rolled back already.
        if connection.isInTransaction { try? rollbackStatement.run() }
    }

    /// Copies the log into the file when it has grown long, or holds what was erased.
    func checkpointIfDue() throws(StoreError) -> DatabaseCheckpoint {
        if let retryCheckpointAt {
            guard Clock.system.monotonic() >= retryCheckpointAt else { return .notDue }
        } else {
            guard mustCutLog || connection.logPages >= checkpointAt else { return .notDue }
        }
        let pages = connection.logPages
        // Before the attempt, so that one that is held back is not made again with each commit.
        checkpointAt = pages + Writer.retryPages
        do {
            let isComplete = try checkpoint(mustCutLog || pages > Writer.longPages ? .truncate : .passive)
            retryCheckpointAt = nil
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

    /// As `Connection.checkpoint`, which may let the log begin anew.
    func checkpoint(_ mode: Connection.CheckpointMode) throws(StoreError) -> Bool {
        if mode == .truncate { try extent.withdraw() }
        do {
            let isComplete = try connection.checkpoint(mode)
            if isComplete { try extent.withdraw() }
            return isComplete
        } catch {
            // Nobody knows how far it came.
            try extent.withdraw()
            throw error
        }
    }
}
