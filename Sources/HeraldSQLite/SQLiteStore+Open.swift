import Glibc
import HeraldModel
import HeraldStore

/// Opens a folder as a writable connection. A refused folder is left unchanged, to the byte.
extension SQLiteStore {
    /// Databases up to this size, 256 MiB, are checked as a whole at the start; larger ones would take seconds.
    static let checkedBytes = 256 << 20

    /// Runs the body, and again if it finds damage. SQLite reports a page that the disk has failed to read as damaged (`unixRead` in its
    /// `os_unix.c`). What the disk can read the second time is not damaged.
    /// - Parameter isStart: repeats it after an error of the disk, too.
    static func readingAgain<Value>(
        isStart: Bool = false, _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            switch error {
            case .corrupt, .logDamaged: return try body()
            case .inputOutput where isStart: return try body()
            default: throw error
            }
        }
    }

    static func open(
        _ folder: StoreFolder, _ lock: LockFile, _ extent: LogExtent, _ columnSealer: ColumnSealer,
        cache: Int = Caches().writer
    ) throws(StoreError) -> Connection {
        if try !checkFiles(folder, extent.bound, logWasInUse: lock.logWasInUse) { try create(folder, cache: cache) }
        let logSize = folder.size(folder.log)
        let connection = try Connection(path: folder.database, .readWrite)
        try connection.starting { () throws(StoreError) -> Void in
            try setUp(connection, folder, extent, columnSealer, cache: cache, logSize: logSize ?? 0)
        }
        try lock.write(logInUse: true)
        return connection
    }

    private static func setUp(
        _ connection: Connection, _ folder: StoreFolder, _ extent: LogExtent, _ columnSealer: ColumnSealer, cache: Int,
        logSize: Int
    ) throws(StoreError) {
        let isSealed = try check(connection, folder, opens: columnSealer)

        try Pragmas.set(Pragmas.writer, cache: cache, on: connection)
        try Schema.migrate(connection)
        // After a crash the log may contain recently erased data. If it can't be truncated now, it is when it grows
        // long.
        try extent.withdraw()
        if logSize > 0 { _ = try? connection.checkpoint(.truncate) }
        // An operator who has provided a key wants no plaintext secrets from now on.
        if !isSealed, columnSealer.sealer != nil {
            try rewrap(connection, from: ColumnSealer(sealer: nil), to: columnSealer)
        }
        try makeSecret(connection, columnSealer)
        // A restored backup may be readable by all users.
        chmod(folder.database, 0o600)
        try folder.sync()
    }

    /// Checks all that is visible without SQLite. Changes nothing.
    /// - Returns: whether there is a database.
    static func checkFiles(
        _ folder: StoreFolder, _ bound: LogExtent.Bound, logWasInUse: Bool
    ) throws(StoreError) -> Bool {
        if let state = try MoveMark.read(folder) { throw state.error(folder.path) }
        let logSize = folder.size(folder.log)
        let isThere = folder.size(folder.database) != nil
        if isThere {
            try folder.checkHeader()
        } else if let logSize, logSize > 0 {
            // Never create a new database in place of a lost one.
            throw .corrupt(path: folder.database, reason: "it is missing, but its log herald.db-wal is there")
        }
        if logWasInUse && logSize == nil {
            throw .corrupt(
                path: folder.database,
                reason: "its log herald.db-wal, with the last commits before a crash, is missing. Put it back; or put "
                    + "herald.db from a backup into an empty folder")
        }
        // Before SQLite reads the log: it would ignore everything after a damaged page.
        if let problem = try LogScan.problem(in: folder, bound, wasInUse: false) {
            throw .logDamaged(path: folder.log, reason: problem)
        }
        return isThere
    }

    /// Checks an open database. Changes nothing.
    /// - Returns: whether it is sealed.
    static func check(
        _ connection: Connection, _ folder: StoreFolder, opens columnSealer: ColumnSealer
    ) throws(StoreError) -> Bool {
        if try Schema.version(connection) == 0, try connection.integer("SELECT count(*) FROM sqlite_schema") > 0 {
            throw .corrupt(path: folder.database, reason: "it has tables, but its schema version is 0")
        }
        // The first statements detected a short file and a damaged schema; this detects most other damage.
        if (folder.size(folder.database) ?? 0) + (folder.size(folder.log) ?? 0) < checkedBytes {
            let verdict = try connection.text("PRAGMA quick_check(1)") ?? "no answer"
            guard verdict == "ok" else { throw .corrupt(path: folder.database, reason: verdict) }
        }
        return try sealing(connection, opens: columnSealer)
    }

    /// After a crash in here there is no `herald.db`, and the next start creates it again.
    static func create(_ folder: StoreFolder, cache: Int = Caches().writer) throws(StoreError) {
        try prepare(folder, cache: cache)
        try folder.publishNewDatabase()
    }

    /// Creates `herald.db.new`, with the tables.
    static func prepare(_ folder: StoreFolder, cache: Int = Caches().writer) throws(StoreError) {
        for suffix in ["", "-wal", "-shm", "-journal"] { folder.remove(folder.newDatabase + suffix) }
        try folder.createPrivateFile(folder.newDatabase)
        try fill(folder.newDatabase, cache)
    }

    private static func fill(_ newDatabase: String, _ cache: Int) throws(StoreError) {
        let connection = try Connection(path: newDatabase, .readWrite)
        // `incremental`, before the first table: this way the file can give back free pages.
        try connection.set("auto_vacuum", "2")
        try connection.execute("PRAGMA application_id = \(Schema.applicationID)")
        try Pragmas.set(Pragmas.writer, cache: cache, on: connection)
        try Schema.migrate(connection)
        // Move everything into the one file that will be renamed.
        guard try connection.checkpoint(.truncate) else { throw .failed(reason: "the new database is in use") }
        try connection.checkpointOnClose()
    }
}
