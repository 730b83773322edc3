import Glibc
import HeraldCore

/// From a folder to a connection that may write. Whatever is refused is left as it was, to the byte.
extension SQLiteStore {
    /// Up to this size, 256 MiB, the whole file is checked at the start; above, that would take seconds.
    static let checkedBytes = 256 << 20

    static func open(
        _ folder: StoreFolder, _ lock: LockFile, _ extent: LogExtent, _ columnSealer: ColumnSealer
    ) throws(StoreError) -> Connection {
        let logSize = folder.size(folder.log)
        if folder.size(folder.database) == nil {
            // Never a new database in the place of one that was lost.
            if let logSize, logSize > 0 {
                throw .corrupt(path: folder.database, reason: "it is missing, but its log herald.db-wal is there")
            }
            try create(folder)
        }
        try folder.checkHeader()
        if lock.logWasInUse && logSize == nil {
            throw .corrupt(
                path: folder.database,
                reason: "its log herald.db-wal, with the last commits before a crash, is missing. Put it back; or put "
                    + "herald.db from a backup into an empty folder")
        }

        // Before SQLite looks at the log, which would forget what follows a damaged page.
        if let problem = try LogScan(path: folder.log).problem(with: extent.bound) {
            throw .logDamaged(path: folder.log, reason: problem)
        }

        let connection = try Connection(path: folder.database, .readWrite)
        let version = Int(try connection.integer("PRAGMA user_version"))
        guard version <= Schema.migrations.count else {
            throw .newer(path: folder.database, found: version, supported: Schema.migrations.count)
        }
        // The first statements have found what a short file or a damaged schema tell; this finds most of the rest.
        if (folder.size(folder.database) ?? 0) + (logSize ?? 0) < checkedBytes {
            let verdict = try connection.text("PRAGMA quick_check(1)") ?? "no answer"
            guard verdict == "ok" else { throw .corrupt(path: folder.database, reason: verdict) }
        }

        let isSealed = try sealing(connection, opens: columnSealer)

        try Pragmas.set(Pragmas.writer, on: connection)
        try Schema.migrate(connection)
        // After a crash the log may hold what was erased just before. If it can't be cut now, it is when it grows long.
        try extent.withdraw()
        if logSize ?? 0 > 0 { _ = try? connection.checkpoint(.truncate) }
        // Whoever has given a key wants no secret in the clear from now on.
        if !isSealed, columnSealer.sealer != nil {
            try rewrap(connection, from: ColumnSealer(sealer: nil), to: columnSealer)
        }
        if isSealed { try sealURLs(connection, columnSealer) }
        try makeSecret(connection, columnSealer)
        // A restored backup may be open to all.
        chmod(folder.database, 0o600)
        try folder.sync()
        try lock.write(logInUse: true)
        return connection
    }

    /// A crash in here leaves no `herald.db`, and the next start begins anew.
    static func create(_ folder: StoreFolder) throws(StoreError) {
        for suffix in ["", "-wal", "-shm", "-journal"] { folder.remove(folder.newDatabase + suffix) }
        try folder.createPrivateFile(folder.newDatabase)
        try fill(folder.newDatabase)
        try folder.publishNewDatabase()
    }

    private static func fill(_ newDatabase: String) throws(StoreError) {
        let connection = try Connection(path: newDatabase, .readWrite)
        try connection.execute("PRAGMA application_id = \(Schema.applicationID)")
        try Pragmas.set(Pragmas.writer, on: connection)
        try Schema.migrate(connection)
        // All of it into the one file that will be renamed.
        guard try connection.checkpoint(.truncate) else { throw .failed(reason: "the new database is in use") }
        try connection.checkpointOnClose()
    }
}
