import CHeraldSQLite
import HeraldModel
import HeraldRuntime
import HeraldStore

/// An open database: the only type that uses SQLite's connection handle (except `Statement`, which prepares on it).
///
/// Confined to one thread at a time, so SQLite's own mutexes are off. Closing never checkpoints unless
/// `checkpointOnClose` was called: a connection that only reads leaves the files unchanged.
final class Connection {
    enum Access {
        case readWrite, readOnly
        /// For a file that no process writes: SQLite creates no files beside it.
        case immutable
    }

    /// The maximum duration of one call of a reader, in seconds.
    static let readSeconds: Int64 = 30

    let path: String
    let access: Access
    /// Whether an error says if it was the disk that has failed. The writer, and what examines a database, count such a page as
    /// damaged.
    var tellsFailedReads = false
    /// Used by `Statement` only.
    let handle: OpaquePointer
    /// SQLite writes it after each commit.
    private let logPagesCell: UnsafeMutablePointer<Int32>
    /// SQLite reads it while a statement runs.
    private let deadlineCell: UnsafeMutablePointer<Int64>

    /// Must be initialized before the first connection is opened.
    private static let library: Void = herald_sqlite_count_no_memory()

    /// Opens an existing file: an empty file is an empty database, a missing one is an error.
    /// - Parameter path: without symbolic links.
    /// - Throws: `.notWritable`, also if the file is read-only and `access` requires more.
    init(path: String, _ access: Access) throws(StoreError) {
        _ = Self.library
        let flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(
            access == .immutable ? Self.immutable(path) : path, &opened,
            flags
                | (access == .readWrite
                    ? SQLITE_OPEN_READWRITE
                    : access == .immutable ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READONLY),
            nil)
        guard let opened else { throw .failed(reason: "no memory for a connection") }
        guard code == SQLITE_OK else {
            let error = StoreError(
                code: code, errno: sqlite3_system_errno(opened), message: String(cString: sqlite3_errmsg(opened)),
                path: path)
            sqlite3_close(opened)
            throw error
        }
        self.path = path
        self.access = access
        handle = opened
        logPagesCell = .allocate(capacity: 1)
        logPagesCell.initialize(to: 0)
        deadlineCell = .allocate(capacity: 1)
        deadlineCell.initialize(to: .max)

        // From here on `deinit` closes the handle.
        try configure(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        try configure(SQLITE_DBCONFIG_DEFENSIVE, true)
        try configure(SQLITE_DBCONFIG_DQS_DML, false)
        try configure(SQLITE_DBCONFIG_DQS_DDL, false)
        // SQLite opens the file read-only if it may not write.
        if access == .readWrite, sqlite3_db_readonly(handle, "main") != 0 {
            throw .notWritable(path: path, reason: "the file is read-only")
        }
        if access == .readOnly { herald_sqlite_watch_clock(handle, deadlineCell) }
    }

    deinit {
        // Statements retain their connection, so none is open now and SQLite can't refuse to close.
        sqlite3_close(handle)
        logPagesCell.deallocate()
        deadlineCell.deallocate()
    }

    private static func immutable(_ path: String) -> String {
        let hex = Array("0123456789ABCDEF")
        let escaped = path.utf8.map { "%\(hex[Int($0 >> 4)])\(hex[Int($0 & 15)])" }
        return "file:\(escaped.joined())?immutable=1"
    }

    private func configure(_ option: Int32, _ on: Bool) throws(StoreError) {
        try check(herald_sqlite_configure(handle, option, on ? 1 : 0))
    }

    /// When the last connection closes, SQLite then copies the write-ahead log into the database and deletes the log.
    func checkpointOnClose() throws(StoreError) {
        try configure(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
    }

    /// Runs the body of a start. Damage that it finds is an error of the disk if a read has failed.
    func starting<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        herald_sqlite_forget_errno(handle)
        do throws(StoreError) {
            return try body()
        } catch {
            throw error.ofRead(errno: herald_sqlite_last_errno(handle))
        }
    }

    func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(self, sql) }

    /// Runs statements that return no rows.
    func execute(_ sql: String) throws(StoreError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// Runs the body in a transaction, which is rolled back if the body throws. (The writer uses prepared statements.)
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do {
            try execute("BEGIN IMMEDIATE")
            try body()
            try execute("COMMIT")
        } catch {
            if isInTransaction { try? execute("ROLLBACK") }
            throw error
        }
    }

    /// Runs the body, which only reads, on one snapshot of the database.
    func snapshot(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try execute("BEGIN")
        defer { if isInTransaction { try? execute("COMMIT") } }
        try body()
    }

    /// The first column of the first row; `nil` without a row.
    func text(_ sql: String) throws(StoreError) -> String? {
        let statement = try Statement(self, sql)
        return try statement.step() ? statement.text(0) : nil
    }

    func integer(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try Statement(self, sql)
        return try statement.step() ? statement.integer(0) : 0
    }

    /// A position, a key or an id (`StoredNumber.natural`); 0 without a row.
    func natural(_ sql: String, _ what: String) throws(StoreError) -> Int64 {
        try StoredNumber.natural(try integer(sql), what)
    }

    /// Sets a pragma and checks the value.
    func set(_ pragma: String, _ value: String) throws(StoreError) {
        // Some pragmas return a row, which `execute` does not allow.
        _ = try text("PRAGMA \(pragma) = \(value)")
        let found = try text("PRAGMA \(pragma)") ?? "nothing"
        if found != value { throw .failed(reason: "SQLite keeps \(pragma) at \(found) instead of \(value)") }
    }

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// The number of rows that the last statement changed.
    var changes: Int { Int(sqlite3_changes(handle)) }

    /// The rowid of the last inserted row.
    var lastRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Updates `logPages` from now on. Call it after the pragmas, since `wal_autocheckpoint` removes the hook.
    func watchLog() {
        herald_sqlite_watch_log(handle, logPagesCell)
    }

    /// The number of pages in the write-ahead log after the last commit.
    var logPages: Int {
        get { Int(logPagesCell.pointee) }
        set { logPagesCell.pointee = Int32(clamping: newValue) }
    }

    /// The salts that identify the current write-ahead log; `nil` if they can't be read.
    var logSalts: UInt64? {
        var salts: UInt64 = 0
        return herald_sqlite_log_salts(handle, &salts) == SQLITE_OK ? UInt64(littleEndian: salts) : nil
    }

    /// Sets the time limit of a reader's statements, from now on. Statements fail after it.
    func startClock(seconds: Int64 = Connection.readSeconds) {
        deadlineCell.pointee = Clock.system.monotonic() + seconds * 1_000_000_000
    }

    enum CheckpointMode { case passive, truncate }

    /// Copies the write-ahead log into the database as far as readers allow, without waiting for them.
    /// - Returns: whether all of the log was copied, so that the next commit restarts it.
    func checkpoint(_ mode: CheckpointMode) throws(StoreError) -> Bool {
        var pages: Int32 = 0
        var copied: Int32 = 0
        sqlite3_busy_timeout(handle, 0)
        let code = sqlite3_wal_checkpoint_v2(
            handle, nil, mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE, &pages, &copied)
        sqlite3_busy_timeout(handle, Connection.busyMilliseconds)
        if code & 0xff == SQLITE_BUSY { return false }
        try check(code)
        return pages == copied
    }

    static let busyMilliseconds: Int32 = 5000

    func check(_ code: Int32) throws(StoreError) {
        if code != SQLITE_OK { throw error(code) }
    }

    func error(_ code: Int32) -> StoreError {
        let error = StoreError(
            code: code, errno: code & 0xff == SQLITE_IOERR ? sqlite3_system_errno(handle) : 0,
            message: String(cString: sqlite3_errmsg(handle)), path: path)
        guard tellsFailedReads else { return error }
        // Damage that is found later is no error of the disk.
        defer { herald_sqlite_forget_errno(handle) }
        return error.ofRead(errno: herald_sqlite_last_errno(handle))
    }
}

extension SQLiteStore {
    /// The version of SQLite.
    package static var libraryVersion: String { String(cString: sqlite3_libversion()) }
}
