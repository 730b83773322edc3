package import HeraldCrypto
package import HeraldModel
import HeraldStore

/// Whether a database is sealed, and changes of its key; and the server's own secret.
extension SQLiteStore {
    /// Seals all sealed values with another key, or decrypts them permanently if `to` is `nil`, in one transaction. The
    /// store must not be open.
    /// - Throws: `.inUse` while a server runs; `.sealed` if `from` is not the current key.
    package static func rewrap(folder path: String, from: Sealer?, to: Sealer?) throws(StoreError) {
        guard StoreFolder.holdsDatabase(path) else {
            throw .notWritable(path: path, reason: "there is no database in it")
        }
        let folder = try StoreFolder(path)
        let lock = try LockFile(folder)
        do {
            let old = ColumnSealer(sealer: from)
            let connection = try open(folder, lock, LogExtent(path: folder.extent), old)
            // After its commit it has succeeded, whatever fails: the old key opens nothing any more. A backup of another process may
            // keep the log.
            let isCut = try rewrap(connection, from: old, to: ColumnSealer(sealer: to))
            if isCut { try? lock.write(logInUse: false) }
            try? connection.checkpointOnClose()
        }
        // The lock is released after the connection is closed.
        withExtendedLifetime(lock) {}
    }

    /// Whether the database is sealed. Changes nothing.
    /// - Throws: if it is sealed with another key than the column sealer's.
    static func sealing(_ connection: Connection, opens columnSealer: ColumnSealer) throws(StoreError) -> Bool {
        // It has no tables yet.
        guard try connection.integer("PRAGMA user_version") > 0 else { return false }
        let found = try Statement(connection, "SELECT proof FROM sealing").row { $0.bytes(0) }
        guard let found else { return false }
        try columnSealer.check(found, path: connection.path)
        return true
    }

    /// One transaction. Overwritten values are removed from the write-ahead log, too.
    /// - Returns: whether that was possible: another process may read the log.
    @discardableResult
    static func rewrap(
        _ connection: Connection, from old: ColumnSealer, to new: ColumnSealer
    ) throws(StoreError) -> Bool {
        try connection.transaction { () throws(StoreError) in
            try rewrapDelegates(connection, from: old, to: new)
            try rewrapAnswers(connection, from: old, to: new)
            try rewrapSecret(connection, from: old, to: new)
            try connection.execute("DELETE FROM sealing")
            if new.sealer != nil {
                try Statement(connection, "INSERT INTO sealing (proof) VALUES (?1)")
                    .run(1, lent: try new.makeProof())
            }
        }
        return (try? connection.checkpoint(.truncate)) ?? false
    }

    private static func rewrapDelegates(
        _ connection: Connection, from old: ColumnSealer, to new: ColumnSealer
    ) throws(StoreError) {
        let columns = DelegateColumns.table.sealed
        let names = columns.map(\.name).joined(separator: ", ")
        let delegates = try Statement(connection, "SELECT key, \(names) FROM delegates WHERE deleted_at IS NULL")
            .rows { row in (key: row.integer(0), values: columns.indices.map { row.value(Int32($0) + 1) }) }
        let changes = columns.enumerated().map { "\($1.name) = ?\($0 + 2)" }.joined(separator: ", ")
        let update = try Statement(connection, "UPDATE delegates SET \(changes) WHERE key = ?1")
        for delegate in delegates {
            update.bind(1, delegate.key)
            for (index, column) in columns.enumerated() {
                let place = ColumnSealer.AssociatedData.column(column.name, of: "delegates", row: delegate.key)
                update.bind(Int32(index) + 2, try new.seal(try old.open(delegate.values[index], place), place))
            }
            try update.run()
        }
    }

    private static func rewrapSecret(
        _ connection: Connection, from old: ColumnSealer, to new: ColumnSealer
    ) throws(StoreError) {
        guard let secret = try secret(connection, old) else { return }
        try Statement(connection, "UPDATE server SET secret = ?1").run(1, lent: try new.seal(secret.bytes, .secret))
    }

    private static func rewrapAnswers(
        _ connection: Connection, from old: ColumnSealer, to new: ColumnSealer
    ) throws(StoreError) {
        let update = try Statement(connection, "UPDATE answers SET body = ?2 WHERE rowid = ?1")
        try AnswerTable(connection, old).visit { answer throws(StoreError) in
            let place = ColumnSealer.AssociatedData.answer(answer.app, key: answer.key)
            update.bind(1, answer.row)
            try update.run(2, lent: try new.seal(try old.open(answer.body, place), place))
        }
    }

    /// The server's own secret; `nil` if it is missing.
    static func secret(_ connection: Connection, _ columnSealer: ColumnSealer) throws(StoreError) -> ServerSecret? {
        try Statement(connection, "SELECT secret FROM server").row { row throws(StoreError) in
            try columnSealer.secret(row.bytes(0))
        }
    }

    /// Call it after the migration, and after sealing if the database is to be sealed.
    static func makeSecret(_ connection: Connection, _ columnSealer: ColumnSealer) throws(StoreError) {
        guard try secret(connection, columnSealer) == nil else { return }
        try Statement(connection, "INSERT INTO server (secret) VALUES (?1)")
            .run(1, lent: try columnSealer.seal(ServerSecret().bytes, .secret))
    }
}
