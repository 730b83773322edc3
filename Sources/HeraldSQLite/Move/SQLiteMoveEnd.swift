import Glibc
import HeraldCore
package import HeraldStore

/// A data folder as an end of a move. One thread.
///
/// As the source it is only read, and a server may use it at the same time: no statement stays open. As the target it is locked.
package final class SQLiteMoveEnd: MoveEnd {
    package let label: String
    private let folder: StoreFolder
    private let isTarget: Bool
    private var held: LockFile?
    private var connection: Connection?

    /// - Parameter path: a data folder.
    package init(source path: String) throws {
        guard StoreFolder.holdsDatabase(path) else {
            throw MoveError(kind: .input, description: "There is no Herald database in \(path).")
        }
        label = path
        folder = try StoreFolder(path)
        isTarget = false
        try open()
    }

    /// - Parameter path: made if it is missing; else empty, or the folder of an earlier migration.
    package init(target path: String) throws {
        let isKnown = StoreFolder.holdsDatabase(path) || PlainFile.exists(path + "/herald.migration")
        guard isKnown || PlainFile.isFree(path) else {
            throw MoveError(
                kind: .output,
                description: "\(path) is not empty. Choose a folder that does not exist yet, or an empty one.")
        }
        label = path
        folder = try StoreFolder(path)
        isTarget = true
        held = try LockFile(folder)
        // Before there is a database that a server would take.
        if folder.size(folder.database) == nil { try MoveMark.write(.into("?"), folder) }
        try open()
    }

    private func open() throws {
        connection = nil
        if isTarget, folder.size(folder.database) == nil { try SQLiteStore.create(folder) }
        let connection = try Connection(path: folder.database, isTarget ? .readWrite : .readOnly)
        let version = try Schema.version(connection)
        guard version == Schema.version() else {
            throw MoveError(
                kind: .damage,
                description: "\(label) is of an older version. Start this one with it once (`herald serve`), then "
                    + "migrate.")
        }
        try Pragmas.set(
            isTarget ? Pragmas.writer : Pragmas.reader, cache: SQLiteStore.Caches().writer, on: connection)
        if isTarget {
            // The tables are replaced one after the other; `finish` looks.
            try connection.execute("PRAGMA foreign_keys = 0")
            // Of a server that was killed.
            try LogExtent(path: folder.extent).withdraw()
            try held?.write(logInUse: false)
        }
        self.connection = connection
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
            // From here on it is as a server leaves it.
            _ = try database().checkpoint(.truncate)
            try database().checkpointOnClose()
            connection = nil
        }
        try MoveMark.write(state, folder)
    }

    package func lock() throws -> Bool {
        if held != nil { return true }
        do throws(StoreError) {
            let lock = try LockFile(folder)
            if let problem = try LogScan.problem(
                in: folder, LogExtent.bound(path: folder.extent), wasInUse: lock.logWasInUse)
            {
                throw .logDamaged(path: folder.log, reason: problem)
            }
            held = lock
        } catch {
            if case .inUse = error { return false }
            throw error
        }
        // The server may have rewritten the file and its log.
        try open()
        return true
    }

    // MARK: Tables

    /// The tables that follow from other tables, or have another form in `MovedTables`.
    private static let own: Set = ["progress", "server", "sealing", "attempt_heads", "gaps"]

    package func unknownTables() throws -> [String] {
        let found = try Statement(
            database(), "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).rows { $0.text(0) }
        let known = Self.own.union(MovedTables.all).union(MovedLog.allCases.map(\.rawValue))
        return found.filter { !known.contains($0) }
    }

    package func columns(of table: String) throws -> [MovedColumn] {
        try MovedTables.columns(of: table) { table in
            try Statement(database(), "SELECT name, type FROM pragma_table_info('\(table)') ORDER BY cid").rows { row in
                let kinds: [String: MovedColumn.Kind] = ["REAL": .real, "TEXT": .text, "BLOB": .blob]
                return MovedColumn(name: row.text(0), kind: kinds[row.text(1)] ?? .integer)
            }
        }
    }

    private func list(_ columns: [MovedColumn]) -> String {
        columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
    }

    /// The query for all rows of a table.
    private func selection(_ table: String, _ columns: [MovedColumn]) -> String {
        switch table {
        case "server": "SELECT (SELECT secret FROM server), (SELECT proof FROM sealing)"
        case "counters": "SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'replays'), 0)"
        case "heads": Self.heads
        default: "SELECT \(list(columns)) FROM \(table)"
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

    private static let page = 256

    package func visit(_ table: String, _ columns: [MovedColumn], _ body: ([MovedRow]) throws -> Void) throws {
        let statement = try Statement(database(), selection(table, columns))
        defer { statement.reset() }
        var rows: [MovedRow] = []
        while try statement.step() {
            rows.append(row(statement, columns.count))
            if rows.count == Self.page {
                try body(rows)
                rows.removeAll(keepingCapacity: true)
            }
        }
        try body(rows)
    }

    private func row(_ statement: Statement, _ count: Int) -> MovedRow {
        MovedRow((0..<Int32(count)).map { statement.value($0) })
    }

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
                    for row in rows where row.integer(0) > 0 {
                        insertion.bind(1, row.integer(0))
                        try insertion.run()
                    }
                default: try insert(into: stored, columns, rows)
                }
            }
        }
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
        let insertion = try Statement(database(), "INSERT INTO \(table) (\(list(columns))) VALUES (\(places))")
        for row in rows {
            for (index, value) in row.values.enumerated() { insertion.bind(Int32(index) + 1, value) }
            try insertion.run()
        }
    }

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

    // MARK: Logs

    package func ends(of log: MovedLog) throws -> Range<Int64> {
        let statement = try Statement(database(), "SELECT min(\(log.key)), max(\(log.key)) FROM \(log)")
        return try statement.row { row throws(StoreError) in
            row.isNull(0) ? 0..<0 : try row.natural(0, "number")..<(try row.natural(1, "number")) + 1
        } ?? 0..<0
    }

    package func rows(
        of log: MovedLog, _ columns: [MovedColumn], in numbers: ClosedRange<Int64>, limit: Int
    ) throws -> [MovedRow] {
        let list = log == .events ? LoggedEvent.columns : list(columns)
        let statement = try Statement(
            database(), "SELECT \(list) FROM \(log) WHERE \(log.key) BETWEEN ?1 AND ?2 ORDER BY \(log.key) LIMIT ?3")
        statement.bind(1, numbers.lowerBound)
        statement.bind(2, numbers.upperBound)
        statement.bind(3, Int64(limit))
        defer { statement.reset() }
        let reading = EventReading(.hashed, DamagedEvents())
        let order = Self.order(of: columns)
        var rows: [MovedRow] = []
        var bytes = 0
        while bytes < movedBytes, try statement.step() {
            var row = row(statement, columns.count)
            if log == .events {
                row.values[Self.checksum] = .integer(try checksum(statement, reading))
                row.values = order.map { row.values[$0] }
                bytes += statement.withBytes(Self.data) { $0.count }
            }
            rows.append(row)
        }
        return rows
    }

    // In `LoggedEvent.columns`.
    private static let checksum = 9
    private static let data: Int32 = 6
    private static let eventColumns = LoggedEvent.columns.split(separator: ", ").map(String.init)

    /// Where each column is in `LoggedEvent.columns`.
    private static func order(of columns: [MovedColumn]) -> [Int] {
        columns.compactMap { column in eventColumns.firstIndex(of: column.name) }
    }

    /// The checksum of an event as other stores have it.
    private func checksum(_ row: Statement, _ reading: EventReading) throws -> Int64 {
        let sequence = row.integer(0)
        guard reading.isIntact(row) else { throw MoveError.damaged(event: sequence, label) }
        return EventChecksum.of(row, at: 0) ^ sequence
    }

    package func blocks(of log: MovedLog) throws -> [Int64: BlockSum] {
        var blocks: [Int64: BlockSum] = [:]
        switch log {
        case .events:
            let reading = EventReading(.hashed, DamagedEvents())
            let statement = try Statement(database(), "SELECT \(LoggedEvent.columns) FROM events ORDER BY sequence")
            defer { statement.reset() }
            while try statement.step() {
                let number = statement.integer(0)
                blocks[number >> MovedLog.blockShift, default: BlockSum()].add(
                    number: number, mark: try checksum(statement, reading))
            }
        case .attempts:
            let statement = try Statement(
                database(),
                "SELECT id >> \(MovedLog.blockShift), count(*), sum(id), sum(event) FROM attempts GROUP BY 1")
            defer { statement.reset() }
            while try statement.step() {
                blocks[statement.integer(0)] = BlockSum(
                    count: statement.integer(1), numbers: statement.integer(2), marks: statement.integer(3))
            }
        }
        return blocks
    }

    package func marks(of log: MovedLog, in numbers: ClosedRange<Int64>) throws -> [Int64: Int64] {
        let list = log == .events ? LoggedEvent.columns : "id, event"
        let statement = try Statement(database(), "SELECT \(list) FROM \(log) WHERE \(log.key) BETWEEN ?1 AND ?2")
        statement.bind(1, numbers.lowerBound)
        statement.bind(2, numbers.upperBound)
        defer { statement.reset() }
        let reading = EventReading(.hashed, DamagedEvents())
        var marks: [Int64: Int64] = [:]
        while try statement.step() {
            marks[statement.integer(0)] = log == .events ? try checksum(statement, reading) : statement.integer(1)
        }
        return marks
    }

    package func put(_ log: MovedLog, _ columns: [MovedColumn], _ rows: [MovedRow], removing numbers: [Int64]) throws {
        var rows = rows
        var columns = columns
        if log == .events {
            let places = Self.eventColumns.compactMap { name in columns.firstIndex { $0.name == name } }
            columns = places.map { columns[$0] }
            for index in rows.indices {
                rows[index].values = places.map { rows[index].values[$0] }
                rows[index].values[Self.checksum] = .integer(
                    EventChecksum.of(rows[index], at: rows[index].integer(0)))
            }
        }
        try transaction {
            let removal = try Statement(database(), "DELETE FROM \(log) WHERE \(log.key) = ?1")
            for number in numbers {
                removal.bind(1, number)
                try removal.run()
            }
            try insert(into: log.rawValue, columns, rows)
        }
        uncopied += rows.count
        if uncopied >= Self.rowsPerCheckpoint {
            _ = try database().checkpoint(.passive)
            uncopied = 0
        }
    }

    /// Rows in the write-ahead log that may not be in the database yet.
    private var uncopied = 0
    private static let rowsPerCheckpoint = 32_768

    // MARK: The end

    package func finish() throws {
        try transaction {
            try database().execute("DELETE FROM gaps")
            let gaps = "SELECT max(sequence) - min(sequence) + 1 - count(*) FROM events"
            if try database().integer(gaps) > 0 {
                try database().execute(
                    """
                    INSERT INTO gaps SELECT before + 1, sequence - 1
                    FROM (SELECT sequence, lag(sequence) OVER (ORDER BY sequence) AS before FROM events)
                    WHERE sequence > before + 1
                    """)
            }
        }
        let orphans = try Statement(database(), "PRAGMA foreign_key_check").rows { $0.text(0) }
        guard orphans.isEmpty else {
            throw MoveError(
                kind: .failed,
                description: "\(orphans.count) rows of \(Set(orphans).sorted().joined(separator: ", ")) are of a "
                    + "delegate that does not exist.")
        }
    }
}
