import CHeraldSQLite
import Glibc
import HeraldModel
import HeraldRuntime
package import HeraldStore

/// A table of a program in an SQLite database. Rows are not locked while their events are published: programs keep writing, and
/// several drains publish duplicates, which the log refuses by their ids.
package final class SQLiteOutbox: Outbox {
    package let label: String
    package private(set) var warning: String?
    private let table: OutboxTable
    private var statements: (connection: Connection, read: Statement, settle: Statement)?
    /// The rows that were returned: their rowids, and their ids as they are stored. A later row may have either of them again.
    private var found: [(row: ColumnValue, id: ColumnValue)] = []

    /// - Throws: `.unusable` if the columns have no id.
    package init(path: String, _ table: OutboxTable) throws(OutboxError) {
        label = path
        self.table = table
        guard table.columns.contains(where: { $0.part == .id }) else { throw .unusable("A column must have the id.") }
    }

    package func next(limit: Int) throws(OutboxError) -> [OutboxEntry] {
        found = []
        return try run { () throws(StoreError) in
            try prepared().read.bound(limit).rows { row in
                found.append((row.value(0), row.value(1)))
                var texts: [OutboxPart: [UInt8]] = [:]
                for (column, (part, _)) in table.columns.enumerated() where !row.isNull(Int32(column) + 2) {
                    texts[part] = row.bytes(Int32(column) + 2)
                }
                return OutboxEntry.row(texts)
            }
        }
    }

    package func settle(_ count: Int) throws(OutboxError) {
        let settled = found.prefix(count)
        found = []
        if settled.isEmpty { return }
        try run { () throws(StoreError) in
            let (connection, _, settle) = try prepared()
            try connection.transaction { () throws(StoreError) in
                for (row, id) in settled { try settle.bound(row, id).run() }
            }
        }
    }

    package func release() { found = [] }

    private func run<Result>(_ body: () throws(StoreError) -> Result) throws(OutboxError) -> Result {
        do throws(StoreError) {
            return try body()
        } catch {
            statements = nil
            switch error {
            case .unavailable(let reason), .inputOutput(let reason): throw .unavailable(reason)
            case .full: throw .unavailable("the disk is full")
            // Another connection has locked it for longer than `busyMilliseconds`.
            case .failed(let reason) where reason.holds("locked"): throw .unavailable(reason)
            case .failed(let reason), .corrupt(_, let reason): throw .unusable("\(label): \(reason).")
            default: throw .unusable(error.description)
            }
        }
    }

    private func prepared() throws(StoreError) -> (connection: Connection, read: Statement, settle: Statement) {
        if let statements { return statements }
        // SQLite opens no symbolic link here.
        guard let resolved = realpath(label, nil) else {
            throw .notWritable(path: label, reason: String(cString: strerror(errno)))
        }
        defer { free(resolved) }
        let connection = try Connection(path: String(cString: resolved), .readWrite)
        _ = try connection.text("PRAGMA busy_timeout = \(Connection.busyMilliseconds)")
        try check(connection)
        let name = table.quotedName
        let columns = table.columns.map { OutboxTable.quoted($0.column) }
        let id = table.columns.first { $0.part == .id }.map { OutboxTable.quoted($0.column) } ?? "rowid"
        let hasRowIDs = try hasRowIDs(connection)
        // An id may be any bytes, which a text of this process would not keep.
        let (row, key) = hasRowIDs ? ("rowid", "CAST(\(id) AS BLOB)") : ("NULL", id)
        var isOpen = "true"
        var change = "DELETE FROM \(name)"
        if case .mark(let column) = table.disposal {
            isOpen = "\(OutboxTable.quoted(column)) IS NULL"
            change = "UPDATE \(name) SET \(OutboxTable.quoted(column)) = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
        }
        let opened = (
            connection,
            try Self.statement(
                connection,
                """
                SELECT \(([row, key] + columns).joined(separator: ", ")) FROM \(name)
                WHERE \(isOpen) ORDER BY \(OutboxTable.quoted(table.order)) LIMIT ?1
                """),
            try Self.statement(connection, "\(change) WHERE \(row) IS ?1 AND \(key) IS ?2 AND \(isOpen)")
        )
        statements = opened
        return opened
    }

    /// A statement about the table of a program: its error does not concern a database of Herald.
    private static func statement(_ connection: Connection, _ sql: String) throws(StoreError) -> Statement {
        do throws(StoreError) {
            return try Statement(connection, sql)
        } catch {
            guard case .corrupt = error else { throw error }
            throw .failed(reason: String(cString: sqlite3_errmsg(connection.handle)))
        }
    }

    /// Whether the rows have a `rowid`: those of views and of tables `WITHOUT ROWID` have none.
    private func hasRowIDs(_ connection: Connection) throws(StoreError) -> Bool {
        let statement = try Statement(
            connection,
            "SELECT wr FROM pragma_table_list WHERE name = ?1 COLLATE NOCASE AND schema = ?2 COLLATE NOCASE"
                + " AND type = 'table'")
        return try statement.bound(table.name, table.schema ?? "main").row { $0.integer(0) == 0 } ?? false
    }

    private func check(_ connection: Connection) throws(StoreError) {
        let statement = try Statement(connection, "SELECT name FROM pragma_table_xinfo(?1, ?2)")
        let names = Set(try statement.bound(table.name, table.schema ?? "main").rows { $0.text(0) })
        guard !names.isEmpty else { throw .failed(reason: "there is no table \(table.quotedName)") }
        if let missing = table.allColumns.first(where: { !names.contains($0) }) {
            throw .failed(reason: "the table \(table.quotedName) has no column \(OutboxTable.quoted(missing))")
        }
        if case .delete = table.disposal, let id = table.columns.first(where: { $0.part == .id })?.column,
            try isGivenAgain(id, connection)
        {
            warning =
                "SQLite gives a new row the id of a deleted one, and Herald takes its event for a duplicate: declare "
                + "\(OutboxTable.quoted(id)) as INTEGER PRIMARY KEY AUTOINCREMENT."
        }
    }

    /// Whether a column is the `rowid`, without `AUTOINCREMENT`.
    private func isGivenAgain(_ column: String, _ connection: Connection) throws(StoreError) -> Bool {
        let schema = table.schema ?? "main"
        let statement = try Statement(
            connection,
            """
            SELECT EXISTS (SELECT 1 FROM pragma_table_xinfo(?1, ?2)
                    WHERE name = ?3 AND pk = 1 AND type = 'INTEGER' COLLATE NOCASE)
                AND NOT EXISTS (SELECT 1 FROM \(OutboxTable.quoted(schema)).sqlite_master
                    WHERE name = ?1 COLLATE NOCASE AND sql LIKE '%AUTOINCREMENT%')
            """)
        return try statement.bound(table.name, schema, column).row { $0.integer(0) == 1 } ?? false
    }
}
