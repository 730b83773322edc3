import Glibc
import HeraldCore

/// Writes a database anew, without free pages, and so that it can give them back from then on: its file has a map of its
/// pages (`auto_vacuum = incremental`). Databases of Herald 0.1 lack this map, which can't be added to a file that has
/// tables. Small ones are written anew when they are opened, others by `herald compact`.
package enum Compaction {
    /// The value of `PRAGMA auto_vacuum`.
    static let incremental = "2"

    /// - Parameter path: a data folder that no server uses.
    /// - Returns: the size of the database in bytes before and after.
    package static func run(_ path: String) throws -> (before: Int, after: Int) {
        guard StoreFolder.holdsDatabase(path) else {
            throw MaintenanceError(kind: .input, description: "There is no Herald database in \(path).")
        }
        let folder = try StoreFolder(path)
        let lock = try LockFile(folder)
        try folder.checkHeader()
        let extent = try LogExtent(path: folder.extent)
        if let problem = try LogScan.problem(in: folder, extent.bound, wasInUse: lock.logWasInUse) {
            throw StoreError.logDamaged(path: folder.log, reason: problem)
        }
        let before = folder.size(folder.database) ?? 0
        try extent.withdraw()
        try rewrite(folder)
        try lock.write(logInUse: false)
        try folder.publishNewDatabase()
        return (before, folder.size(folder.database) ?? 0)
    }

    /// The old file is closed on return, and its log deleted.
    private static func rewrite(_ folder: StoreFolder) throws {
        let connection = try Connection(path: folder.database, .readWrite)
        _ = try Schema.version(connection)
        try Pragmas.set(Pragmas.writer, cache: SQLiteStore.Caches().writer, on: connection)
        guard try connection.checkpoint(.truncate) else {
            throw StoreError.failed(reason: "the write-ahead log could not be copied into the database")
        }
        try create(connection, folder)
        try connection.checkpointOnClose()
    }

    /// Whether the file can't give back free pages.
    static func isDue(_ connection: Connection) throws(StoreError) -> Bool {
        try connection.text("PRAGMA auto_vacuum") != incremental
    }

    /// Writes the new database beside the old one, for a database that is being opened. Without space for it, the old one
    /// stays.
    /// - Returns: whether it was written.
    static func write(_ connection: Connection, _ folder: StoreFolder) throws(StoreError) -> Bool {
        guard try connection.checkpoint(.truncate) else { return false }
        do {
            try create(connection, folder)
            return true
        } catch {
            guard error == .full else { throw error }
            return false
        }
    }

    private static func create(_ connection: Connection, _ folder: StoreFolder) throws(StoreError) {
        let new = folder.newDatabase
        for suffix in ["", "-wal", "-shm", "-journal"] { folder.remove(new + suffix) }
        do {
            try folder.createPrivateFile(new)
            try connection.execute("PRAGMA auto_vacuum = \(incremental)")
            let copy = try Statement(connection, "VACUUM INTO ?1")
            copy.bind(1, new)
            try copy.run()
            try PlainFile(changing: new).sync()
        } catch {
            folder.remove(new)
            throw error
        }
    }
}
