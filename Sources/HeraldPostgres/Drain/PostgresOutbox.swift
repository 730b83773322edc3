package import HeraldStore

/// A table of a program in PostgreSQL: reads rows with `FOR UPDATE SKIP LOCKED`, and removes or marks them in the same transaction.
package final class PostgresOutbox: Outbox {
    package let label: String
    package var warning: String? { nil }
    private let connection: DrainConnection
    private let table: OutboxTable
    private var statements: (read: Statement, settle: Statement)?
    /// The addresses (`ctid`) of the rows that are locked, in their order.
    private var locked: [(address: String, part: Int64)] = []

    /// - Parameter url: `postgres://user@host/database?…`, as libpq takes it.
    package init(url: String, _ table: OutboxTable) throws(OutboxError) {
        connection = try DrainConnection(url: url)
        label = connection.label
        self.table = table
    }

    private static let begin = Statement("BEGIN ISOLATION LEVEL READ COMMITTED")

    package func next(limit: Int) throws(OutboxError) -> [OutboxEntry] {
        locked = []
        let read = if let statements { statements.read } else { try prepare() }
        let rows = try connection.run([Request(Self.begin), Request(read) { $0.add(limit) }])[1]
        var entries: [OutboxEntry] = []
        for row in rows.all {
            locked.append((row.text(0), row.integer(1)))
            var texts: [OutboxPart: [UInt8]] = [:]
            for (column, (part, _)) in table.columns.enumerated() where !row.isNull(Int32(column) + 2) {
                texts[part] = row.bytes(Int32(column) + 2)
            }
            entries.append(.row(texts))
        }
        return entries
    }

    package func settle(_ count: Int) throws(OutboxError) {
        guard let settle = statements?.settle, count > 0 else { return release() }
        let settled = locked.prefix(count)
        let changed = try connection.run([
            Request(settle) {
                $0.add(settled) { $0.address }
                $0.add(settled) { $0.part }
            }
        ])[0].changed
        guard changed == settled.count else {
            release()
            throw .unusable("Only \(changed) of \(settled.count) rows of \(table.name) could be removed or marked.")
        }
        _ = try connection.run([Request(.commit)])
        locked = []
    }

    package func release() {
        locked = []
        connection.rollBack()
    }

    // MARK: Statements

    private static let find = Statement("SELECT to_regclass($1::text)::oid::bigint")
    private static let describe = Statement(
        """
        SELECT attname::text, atttypid = 'boolean'::regtype, atttypid = ANY('{timestamp,timestamptz}'::regtype[])
        FROM pg_attribute WHERE attrelid = $1::bigint::oid AND attnum > 0 AND NOT attisdropped
        """)

    private func prepare() throws(OutboxError) -> Statement {
        let found = try connection.run([Request(Self.find) { $0.add(table.quotedName) }])[0]
        guard let row = found.first, !row.isNull(0) else {
            throw .unusable("There is no table \(table.quotedName) in \(label).")
        }
        let columns = try connection.run([Request(Self.describe) { $0.add(row.integer(0)) }])[0]
        var types: [String: (isFlag: Bool, isTime: Bool)] = [:]
        for column in columns.all { types[column.text(0)] = (column.flag(1), column.flag(2)) }
        if let missing = table.allColumns.first(where: { types[$0] == nil }) {
            throw .unusable("The table \(table.quotedName) has no column \(OutboxTable.quoted(missing)).")
        }
        let (isOpen, change) = try disposal(types)
        let texts = table.columns.map { part, column in
            Self.text(part, OutboxTable.quoted(column), isTime: types[column]?.isTime == true)
        }
        let read = Statement(
            """
            SELECT \((["ctid::text", "tableoid::bigint"] + texts).joined(separator: ", ")) FROM \(table.quotedName)
            WHERE \(isOpen) ORDER BY \(OutboxTable.quoted(table.order)) LIMIT $1::bigint FOR UPDATE SKIP LOCKED
            """)
        // A locked row keeps its address.
        let settle = Statement(
            """
            \(change) unnest($1::text[]::tid[], $2::bigint[]) AS locked(address, part)
            WHERE entry.ctid = locked.address AND entry.tableoid::bigint = locked.part
            """)
        statements = (read, settle)
        return read
    }

    /// The condition of rows that are not published, and the beginning of the statement that ends it.
    private func disposal(
        _ types: [String: (isFlag: Bool, isTime: Bool)]
    ) throws(OutboxError) -> (isOpen: String, change: String) {
        guard case .mark(let column) = table.disposal else {
            return ("true", "DELETE FROM \(table.quotedName) AS entry USING")
        }
        let quoted = OutboxTable.quoted(column)
        guard let type = types[column], type.isFlag || type.isTime else {
            throw .unusable("The column \(quoted) must be a boolean or a timestamp, to mark published rows.")
        }
        let value = type.isFlag ? "true" : "now()"
        return (
            type.isFlag ? "\(quoted) IS NOT TRUE" : "\(quoted) IS NULL",
            "UPDATE \(table.quotedName) AS entry SET \(quoted) = \(value) FROM"
        )
    }

    /// The text of a column, as bytes: `StoredText` does not apply to the tables of programs.
    private static func text(_ part: OutboxPart, _ column: String, isTime: Bool) -> String {
        guard isTime, part == .time || part == .deliverAt else { return "convert_to(\(column)::text, 'UTF8')" }
        let time = "to_char(\(column)::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
        // Of infinity, `to_char` makes NULL, as of a time that is not given. As a text it is refused.
        return "convert_to(CASE WHEN isfinite(\(column)) THEN \(time) ELSE \(column)::text END, 'UTF8')"
    }
}
