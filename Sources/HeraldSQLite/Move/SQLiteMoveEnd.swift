import Glibc
import HeraldModel
package import HeraldStore

/// A data folder as an end of a move. One thread.
///
/// The source is only read.
package final class SQLiteMoveEnd: MoveEnd {
    package let label: String
    private let folder: StoreFolder
    private let isTarget: Bool
    private let held: LockFile
    private var connection: Connection?

    /// - Parameter path: a data folder.
    package convenience init(source path: String) throws {
        guard StoreFolder.holdsDatabase(path) else {
            throw MaintenanceError(kind: .input, description: "There is no Herald database in \(path).")
        }
        try self.init(path, isTarget: false)
        let bound = LogExtent.bound(path: folder.extent)
        if let problem = try LogScan.problem(in: folder, bound, wasInUse: held.logWasInUse) {
            throw StoreError.logDamaged(path: folder.log, reason: problem)
        }
        try open(.readOnly, Pragmas.reader)
    }

    /// - Parameter path: made if it is missing; else empty, or the folder of an earlier migration.
    package convenience init(target path: String) throws {
        let isKnown = StoreFolder.holdsDatabase(path) || PlainFile.exists(path + "/herald.migration")
        guard isKnown || PlainFile.isFree(path) else {
            throw MaintenanceError(
                kind: .output,
                description: "\(path) is not empty. Choose a folder that does not exist yet, or an empty one.")
        }
        try self.init(path, isTarget: true)
        if folder.size(folder.database) == nil {
            // Before there is a database that a server would take.
            try MoveMark.write(.into("?"), folder)
            try SQLiteStore.create(folder)
        }
        let connection = try open(.readWrite, Pragmas.writer)
        // The tables are replaced one after the other; `finish` checks.
        try connection.execute("PRAGMA foreign_keys = 0")
    }

    private init(_ path: String, isTarget: Bool) throws {
        label = path
        folder = try StoreFolder(path)
        self.isTarget = isTarget
        do throws(StoreError) {
            held = try LockFile(folder)
        } catch {
            guard case .inUse(_, let holder) = error else { throw error }
            throw MaintenanceError.busy(holder.prefix(1).uppercased() + holder.dropFirst(), path)
        }
    }

    @discardableResult
    private func open(_ access: Connection.Access, _ pragmas: [(String, String)]) throws -> Connection {
        let opened = try Connection(path: folder.database, access)
        guard try Schema.version(opened) == Schema.version() else {
            throw MaintenanceError(
                kind: .damage,
                description: "\(label) was written by an older version of Herald. Start `herald serve "
                    + "--data \(label)` of this version once, and then migrate.")
        }
        try Pragmas.set(pragmas, cache: SQLiteStore.Caches().writer, on: opened)
        connection = opened
        return opened
    }

    private func database() throws -> Connection {
        guard let connection else { throw StoreError.failed(reason: "it is closed") }
        return connection
    }

    package var state: MoveState? {
        get throws {
            let state = try MoveMark.read(folder)
            // What was made a moment ago is as good as nothing.
            return state == .into("?") ? nil : state
        }
    }

    package func set(_ state: MoveState?) throws {
        if isTarget, state == nil {
            try linkAttempts()
            // From here on it is as a server leaves it.
            _ = try database().checkpoint(.truncate)
            try database().checkpointOnClose()
            connection = nil
        }
        try MoveMark.write(state, folder)
        if isTarget, state != nil {
            // Of a server that was killed. A folder that is refused keeps them: its next start checks its log with them.
            try LogExtent(path: folder.extent).withdraw()
            try held.write(logInUse: false)
        }
    }

    /// Links the attempts that are in no list: those of pull delegates, which several processes have recorded.
    private func linkAttempts() throws {
        let database = try database()
        try database.transaction { () throws(StoreError) in
            try database.execute(
                """
                CREATE TEMP TABLE unlinked AS SELECT DISTINCT delegate FROM attempts WHERE previous < 0 AND delegate <> 0;
                UPDATE attempts SET previous = linked.before FROM (
                    SELECT id AS number, lag(id, 1, 0) OVER (PARTITION BY delegate ORDER BY id) AS before FROM attempts
                    WHERE delegate IN (SELECT delegate FROM unlinked)) AS linked WHERE id = linked.number;
                INSERT OR REPLACE INTO attempt_heads SELECT delegate, max(id) FROM attempts
                    WHERE delegate IN (SELECT delegate FROM unlinked)
                        AND delegate IN (SELECT key FROM delegates WHERE deleted_at IS NULL) GROUP BY delegate;
                DROP TABLE unlinked;
                """)
        }
    }

    /// `held` is the folder's only lock.
    package var isServed: Bool { false }

    // MARK: Tables

    /// The tables that follow from other tables, or have another form in `MovedTables`.
    private static let own: Set = ["progress", "server", "sealing", "attempt_heads", "gaps"]

    package func unknownTables() throws -> [String] {
        let found = try Statement(
            database(), "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).rows { $0.text(0) }
        return MovedTables.unknown(among: found, own: Self.own)
    }

    package func columns(of table: String) throws -> [MovedColumn] {
        try MovedTables.columns(of: table) { table in
            try Statement(database(), "SELECT name, type FROM pragma_table_info('\(table)') ORDER BY cid").rows { row in
                let kinds: [String: MovedColumn.Kind] = ["REAL": .real, "TEXT": .text, "BLOB": .blob]
                return MovedColumn(name: row.text(0), kind: kinds[row.text(1)] ?? .integer)
            }
        }
    }

    package func count(_ table: String) throws -> Int { Int(try database().integer("SELECT count(*) FROM \(table)")) }

    /// The query for all rows of a table.
    private func selection(_ table: String, _ columns: [MovedColumn]) -> String {
        switch table {
        case "server": "SELECT (SELECT secret FROM server), (SELECT proof FROM sealing)"
        case "counters": "SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'replays'), 0)"
        case "heads": Self.heads
        default: "SELECT \(columns.list) FROM \(table)"
        }
    }

    /// The table has them as of the last full round; see `AttemptHeads`.
    private static let heads = """
        SELECT delegate, max(attempt) FROM (
            SELECT delegate, attempt FROM attempt_heads
            UNION ALL SELECT delegate, id FROM attempts
            WHERE id >= (SELECT max(id) FROM attempts) & ~\(AttemptHeads.round - 1) AND delegate <> 0
                AND previous >= 0)
        WHERE delegate IN (SELECT key FROM delegates WHERE deleted_at IS NULL) GROUP BY delegate
        """

    private static let page = 4096

    package func visit(_ table: String, _ columns: [MovedColumn], _ body: ([MovedRow]) throws -> Void) throws {
        let statement = try Statement(database(), selection(table, columns))
        defer { statement.reset() }
        let reading = EventReading(.hashed, DamagedEvents())
        var rows: [MovedRow] = []
        var bytes = 0
        while try statement.step() {
            var row = MovedRow((0..<Int32(columns.count)).map { statement.value($0) })
            if table == "events" {
                guard reading.isIntact(row) else { throw MaintenanceError.damaged(event: row.integer(0), label) }
                row.values[Self.checksum] = .integer(EventChecksum.of(row, at: 0) ^ row.integer(0))
            }
            rows.append(row)
            bytes += row.byteCount
            if rows.count == Self.page || bytes >= movedBytes {
                try body(rows)
                rows.removeAll(keepingCapacity: true)
                bytes = 0
            }
        }
        if !rows.isEmpty { try body(rows) }
    }

    /// In `LoggedEvent.columns`.
    private static let checksum = 9

    package func replace(
        _ table: String, _ columns: [MovedColumn], _ produce: (@escaping ([MovedRow]) throws -> Void) throws -> Void
    ) throws {
        let stored = ["heads": "attempt_heads"][table] ?? table
        try transaction {
            switch table {
            case "server": try database().execute("DELETE FROM server; DELETE FROM sealing")
            case "counters": try database().execute("DELETE FROM sqlite_sequence WHERE name = 'replays'")
            default: try database().execute("DELETE FROM \(stored)")
            }
            try produce { [self] rows in
                switch table {
                case "server": for row in rows { try setServer(row) }
                case "counters":
                    let insertion = try Statement(
                        database(), "INSERT INTO sqlite_sequence (name, seq) VALUES ('replays', ?1)")
                    for row in rows where row.integer(0) > 0 { try insertion.bound(row.integer(0)).run() }
                case "events": try insert(into: stored, columns, rows.map(checked))
                default: try insert(into: stored, columns, rows)
                }
            }
        }
    }

    /// An event with the checksum as this store has it.
    private func checked(_ row: MovedRow) -> MovedRow {
        var row = row
        row.values[Self.checksum] = .integer(EventChecksum.of(row, at: row.integer(0)))
        return row
    }

    private func setServer(_ row: MovedRow) throws {
        for (column, statement) in ["INSERT INTO server VALUES (?1)", "INSERT INTO sealing VALUES (?1)"].enumerated()
        where !row.isNull(Int32(column)) {
            try Statement(database(), statement).run(1, lent: row.bytes(Int32(column)))
        }
    }

    private func insert(into table: String, _ columns: [MovedColumn], _ rows: [MovedRow]) throws {
        if rows.isEmpty { return }
        let places = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        let insertion = try Statement(database(), "INSERT INTO \(table) (\(columns.list)) VALUES (\(places))")
        for row in rows {
            for (index, value) in row.values.enumerated() { insertion.bind(Int32(index) + 1, value) }
            try insertion.run()
        }
        uncopied += rows.count
        if uncopied < Self.rowsPerCheckpoint { return }
        // So that the write-ahead log stays small.
        let connection = try database()
        try connection.execute("COMMIT")
        _ = try connection.checkpoint(.passive)
        try connection.execute("BEGIN IMMEDIATE")
        uncopied = 0
    }

    /// Rows in the write-ahead log that may not be in the database yet.
    private var uncopied = 0
    private static let rowsPerCheckpoint = 32_768

    private func transaction(_ body: () throws -> Void) throws {
        let connection = try database()
        try connection.execute("BEGIN IMMEDIATE")
        do {
            try body()
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }

    // MARK: The end

    package func finish() throws {
        try transaction { try GapTable.derive(database()) }
        let orphans = try Statement(database(), "PRAGMA foreign_key_check").rows { $0.text(0) }
        guard orphans.isEmpty else {
            throw MaintenanceError(
                kind: .failed,
                description: "\(orphans.count) rows of \(Set(orphans).sorted().joined(separator: ", ")) are of a "
                    + "delegate that does not exist.")
        }
    }
}
