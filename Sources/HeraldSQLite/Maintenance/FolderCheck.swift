import Glibc
package import HeraldCrypto
package import HeraldModel
import HeraldStore

/// Whether a server could start with a data folder, for operators. Changes nothing in the database and its log.
package struct FolderCheck: Sendable {
    /// `nil` if a start changes the database first: it is of an earlier version.
    package let keys: [APIKey]?
    /// The delegates that a start disables, because stored values of them can't be read.
    package let disabled: [WebhookDelegate]
    /// The rows that a start leaves out or replaces, including those of `disabled`.
    package let damagedRows: [DamagedRows.Finding]

    /// The most waiting deliveries of one delegate that are read.
    private static let maxRows = 1_000

    /// Does all that a start does before its first write, and reads what it would read.
    /// - Parameter path: of a folder that exists. A server may have it open.
    /// - Throws: the error of a start, unless it is that the folder is in use.
    package init(folder path: String, sealer: Sealer? = nil) throws(StoreError) {
        let folder = try StoreFolder(path)
        let isInUse = SQLiteStore.holder(ofFolder: path) != nil
        // A server that runs changes the files, and has checked them at its start.
        if !isInUse {
            let bound = LogExtent.bound(path: folder.extent)
            _ = try SQLiteStore.checkFiles(folder, bound, logWasInUse: LockFile.logWasInUse(folder))
        }
        for file in [folder.database, folder.log, folder.extent, folder.lock]
        where folder.size(file) != nil && access(file, W_OK) != 0 {
            throw .notWritable(path: file, reason: "the file is read-only")
        }
        guard StoreFolder.holdsDatabase(path) else {
            (keys, disabled, damagedRows) = ([], [], [])
            return
        }
        // A cleanly closed database that is opened this way gets no files beside it.
        let hasLog = isInUse || (folder.size(folder.log) ?? 0) > 0
        let connection = try Connection(path: folder.database, hasLog ? .readOnly : .immutable)
        var found: [APIKey]?
        var unreadable: [WebhookDelegate] = []
        let damaged = DamagedRows()
        try connection.snapshot { () throws(StoreError) in
            let isSealed = try SQLiteStore.check(connection, folder, opens: ColumnSealer(sealer: sealer))
            guard try Schema.version(connection) == Schema.version() else { return }
            let columnSealer = ColumnSealer(sealer: isSealed ? sealer : nil)
            let head = try EventTable.last(connection)
            let recovery = try SQLiteStore.recovery(connection, columnSealer, head: head, damaged)
            found = recovery.keys
            unreadable = recovery.delegates.filter(\.state.isUnreadable)
            _ = try SQLiteStore.lanes(connection, head: head, maxRows: Self.maxRows, damaged)
        }
        keys = found
        disabled = unreadable
        damagedRows = damaged.findings
    }
}
