import HeraldCore
import HeraldRuntime
package import HeraldStore

/// A database as an end of a move. One thread.
///
/// As the source it is only read, and servers may use it until `lock`, which holds what a start needs.
package final class PostgresMoveEnd: MoveEnd {
    private let writer: Writer
    private let reading = EventReading(.combined, DamagedEvents())
    private var partitions = Partitions()
    /// Whether this end is the target. Only the mark is flushed, and all writes before it with it.
    private var isTarget = false
    private var isLocked = false

    package var label: String { writer.database.label }

    package convenience init(source url: String) throws {
        try self.init(url)
        guard try writer.run(Request(Self.isThere)).first?.flag(0) == true else {
            throw MoveError(kind: .input, description: "There is no Herald database in \(label).")
        }
        try Migration.run(writer, Schema.migrations, takesPart: true)
    }

    /// - Parameter url: of a database that is empty, or was the end of an earlier migration.
    package convenience init(target url: String) throws {
        try self.init(url)
        try Migration.run(writer, Schema.migrations, takesPart: true)
        guard try soon({ try writer.run(Request(Self.tryOwn)).first?.flag(0) == true }) else {
            throw MoveError(kind: .output, description: "Another `herald migrate` writes to \(label).")
        }
        guard try soon({ try !isServed }) else {
            throw MoveError(kind: .output, description: "A server uses \(label). Stop it first.")
        }
        isTarget = true
        try partitions.read { requests throws(StoreError) in try writer.run(requests) }
    }

    private init(_ url: String) throws {
        let database = try Database(url: url)
        let durable = DurableEnds()
        writer = Writer(
            database, ColumnSealer(sealer: nil), DamagedEvents(), durable, Listener(database, durable),
            DatabaseClock(.system), Schema.migrations, partitionSize: Partitions.size)
        try writer.connect()
        _ = try writer.run(Request(Self.settings))
    }

    /// Whole tables are read here, and joined.
    private static let settings = Statement(
        "SELECT "
            + [
                ("idle_in_transaction_session_timeout", "0"), ("plan_cache_mode", "auto"), ("enable_seqscan", "on"),
                ("enable_hashjoin", "on"), ("enable_mergejoin", "on"),
            ].map { "set_config('\($0.0)', '\($0.1)', false)" }.joined(separator: ", "))
    private static let commitNow = Statement("SELECT set_config('synchronous_commit', 'on', false)")
    private static let commitLater = Statement("SELECT set_config('synchronous_commit', 'off', false)")
    private static let isThere = Migration.hasTable("meta")

    /// The longest time for one statement, in seconds: some read a whole table.
    private static let seconds = 3600.0

    private func run(_ requests: [Request]) throws(StoreError) -> [Rows] {
        try writer.run(requests, seconds: Self.seconds)
    }

    private func run(_ sql: String, _ fill: (inout Parameters) -> Void = { _ in }) throws(StoreError) -> Rows {
        try run([Request(statement(sql), fill)]).first ?? Rows(nil)
    }

    /// Each is prepared once.
    private var statements: [String: Statement] = [:]

    private func statement(_ sql: String) -> Statement {
        if let statement = statements[sql] { return statement }
        let statement = Statement(sql)
        statements[sql] = statement
        return statement
    }

    // MARK: Servers

    private static let tryOwn = Statement("SELECT pg_try_advisory_lock(\(Schema.moveLock))")
    private static let tryLock = Statement("SELECT pg_try_advisory_lock(\(Schema.migrationLock))")
    private static let unlock = Statement("SELECT pg_advisory_unlock(\(Schema.migrationLock))")
    private static let present = Statement("SELECT count(*) FROM \(Writer.locks(Writer.presence)) AS present")

    private var isServed: Bool { get throws { try writer.run(Request(Self.present)).integer > 0 } }

    package func lock() throws -> Bool {
        if !isLocked {
            guard try writer.run(Request(Self.tryLock)).first?.flag(0) == true else { return false }
            if try isServed {
                _ = try writer.run(Request(Self.unlock))
                return false
            }
            guard try endRounds() else {
                _ = try writer.run(Request(Self.unlock))
                return false
            }
            isLocked = true
        }
        return try !isServed
    }

    private static let openRounds = Statement("SELECT count(*) FROM rounds")

    /// Ends the rounds of servers that are gone, so that all last attempts are in `heads`.
    /// - Returns: whether there are none any more.
    private func endRounds() throws -> Bool {
        try soon {
            _ = try writer.run(AttemptRounds.end([], current: -1))
            return try writer.run(Request(Self.openRounds)).integer == 0
        }
    }

    /// Whether something holds within five seconds: the session of a process that has just ended may live for a moment.
    private func soon(_ condition: () throws -> Bool) rethrows -> Bool {
        for _ in 0..<50 {
            if try condition() { return true }
            writer.pause(milliseconds: 100)
        }
        return false
    }

    package var state: MoveState? { get throws { try MoveMark.read(writer) } }

    package func set(_ state: MoveState?) throws {
        _ = try writer.run(Request(Self.commitNow))
        try MoveMark.write(state, writer)
        if isTarget, state != nil { _ = try writer.run(Request(Self.commitLater)) }
    }

    // MARK: Tables

    /// The tables that only this store has, or has in another form than `MovedTables`.
    private static let own: Set = [
        "meta", "changes", "nodes", "shards", "moves", "attempts_ahead", "rounds", "partitions", "move",
    ]

    package func unknownTables() throws -> [String] {
        let rows = try run(
            """
            SELECT relname::text FROM pg_class WHERE relnamespace = 'herald'::regnamespace AND relkind IN ('r', 'p')
                AND NOT relispartition ORDER BY 1
            """)
        let known = Self.own.union(MovedTables.all).union(MovedLog.allCases.map(\.rawValue))
        return try rows.map { $0.text(0) }.filter { !known.contains($0) }
    }

    package func columns(of table: String) throws -> [MovedColumn] {
        try MovedTables.columns(of: table) { table throws(StoreError) in
            try run(
                """
                SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
                WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
                """, { $0.add("herald." + table) }
            ).map { row in
                let kinds: [String: MovedColumn.Kind] = ["double precision": .real, "text": .text, "bytea": .blob]
                return MovedColumn(name: row.text(0), kind: kinds[row.text(1)] ?? .integer)
            }
        }
    }

    private func list(_ columns: [MovedColumn]) -> String {
        columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
    }

    private func selection(_ table: String, _ columns: [MovedColumn]) -> String {
        switch table {
        case "progress": "SELECT min(settled) FROM shards"
        case "counters": "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM replays_id_seq"
        case "lanes": "SELECT \(list(columns)) FROM (\(Self.lanes)) AS lanes"
        case "app_blocks":
            """
            SELECT \(list(columns)) FROM app_blocks
            WHERE block < (SELECT coalesce(max(sequence), 0) + 1 FROM events) >> 10
            """
        default: "SELECT \(list(columns)) FROM \(table)"
        }
    }

    /// Where all lanes have one common position, those of shards that are farther get a row: from their position, up to where
    /// something is decided beyond it. Where attempts are ahead of a row, as after a crash, it is brought up to them.
    private static let lanes = """
        SELECT l.delegate, l.cursor, greatest(l.position, ahead.event,
            (SELECT max(event) FROM waiting w WHERE w.delegate = l.delegate)) AS position
        FROM lanes l LEFT JOIN (
            SELECT a.delegate, max(a.event) AS event FROM attempts_ahead h JOIN attempts a ON a.id BETWEEN h.first AND h.last
            WHERE a.status BETWEEN 200 AND 299 GROUP BY a.delegate
        ) AS ahead ON ahead.delegate = l.delegate
        UNION ALL SELECT d.key, s.settled, greatest(s.settled, decided.event)
        FROM delegates d JOIN shards s ON s.shard = d.key % \(Shards.count)
        LEFT JOIN (
            SELECT delegate, max(event) AS event FROM (
                SELECT delegate, event FROM attempts
                WHERE event > (SELECT min(settled) FROM shards) AND status BETWEEN 200 AND 299
                UNION ALL SELECT delegate, event FROM waiting WHERE event > (SELECT min(settled) FROM shards)
            ) AS beyond GROUP BY delegate
        ) AS decided ON decided.delegate = d.key
        WHERE d.deleted_at IS NULL AND s.settled > (SELECT min(settled) FROM shards)
            AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.delegate = d.key)
        """

    private static let begin = Statement("BEGIN")
    private static let commit = Statement("COMMIT")
    private static let page = 256

    private func transaction(_ body: () throws -> Void) throws {
        _ = try writer.run(Request(Self.begin))
        do {
            try body()
            _ = try writer.run(Request(Self.commit))
        } catch {
            writer.rollBack()
            throw error
        }
    }

    package func visit(_ table: String, _ columns: [MovedColumn], _ body: ([MovedRow]) throws -> Void) throws {
        try transaction {
            _ = try run("DECLARE moved NO SCROLL CURSOR FOR \(selection(table, columns))")
            let fetch = Request(Statement("FETCH \(Self.page) FROM moved"))
            while true {
                let rows = try rows(run([fetch]).first ?? Rows(nil), columns.count)
                try body(rows)
                if rows.count < Self.page { break }
            }
        }
    }

    private func rows(_ rows: Rows, _ count: Int) throws(StoreError) -> [MovedRow] {
        try rows.map { row in MovedRow((0..<Int32(count)).map { row.value($0) }) }
    }

    package func replace(
        _ table: String, _ columns: [MovedColumn], _ produce: (@escaping ([MovedRow]) throws -> Void) throws -> Void
    ) throws {
        try transaction {
            switch table {
            case "progress", "counters": break
            default: _ = try run("TRUNCATE \(table)")
            }
            try produce { [self] rows in
                switch table {
                case "progress":
                    for row in rows {
                        _ = try run("UPDATE shards SET settled = $1, node = NULL", { $0.add(row.integer(0)) })
                    }
                case "counters":
                    for row in rows {
                        _ = try run(
                            "SELECT setval('replays_id_seq', greatest($1::bigint, 1), $1::bigint > 0)",
                            { $0.add(row.integer(0)) })
                    }
                default: if !rows.isEmpty { _ = try run([insertion(table, columns, rows)]) }
                }
            }
        }
    }

    /// Adds rows, with the numbers that they have.
    private func insertion(_ table: String, _ columns: [MovedColumn], _ rows: [MovedRow]) -> Request {
        Request(insertionStatement(table, columns)) { parameters in
            for (index, column) in columns.enumerated() {
                switch column.kind {
                case .integer: parameters.add(rows) { $0.values[index].integer }
                case .real: parameters.addReals(rows) { $0.values[index].real }
                case .text: parameters.add(rows) { $0.values[index].text }
                case .blob: parameters.add(rows) { $0.values[index].blob }
                }
            }
        }
    }

    private func insertionStatement(_ table: String, _ columns: [MovedColumn]) -> Statement {
        let types = columns.enumerated().map { index, column in
            let type =
                switch column.kind {
                case .integer: "bigint"
                case .real: "double precision"
                case .text: "text"
                case .blob: "bytea"
                }
            return "$\(index + 1)::\(type)[]"
        }
        return statement(
            """
            INSERT INTO \(table) (\(list(columns))) OVERRIDING SYSTEM VALUE
            SELECT * FROM unnest(\(types.joined(separator: ", ")))
            """)
    }

    // MARK: Logs

    package func ends(of log: MovedLog) throws -> Range<Int64> {
        let row = try run(
            """
            SELECT (SELECT \(log.key) FROM \(log) ORDER BY \(log.key) LIMIT 1),
                (SELECT \(log.key) FROM \(log) ORDER BY \(log.key) DESC LIMIT 1)
            """
        ).first
        guard let row, !row.isNull(0) else { return 0..<0 }
        let (first, last) = (try row.natural(0, "number"), try row.natural(1, "number"))
        return first..<max(first, last + 1)
    }

    package func rows(
        of log: MovedLog, _ columns: [MovedColumn], in numbers: ClosedRange<Int64>, limit: Int
    ) throws -> [MovedRow] {
        let part = "FROM \(log) WHERE \(log.key) BETWEEN $1 AND $2 ORDER BY \(log.key) LIMIT $3"
        let found = try run(
            log == .events
                ? """
                SELECT \(LoggedEvent.columns) FROM
                    (SELECT *, sum(octet_length(data)) OVER (ORDER BY sequence) AS bytes \(part)) AS page
                WHERE bytes - octet_length(data) < \(movedBytes)
                """ : "SELECT \(list(columns)) \(part)",
            { parameters in
                parameters.add(numbers.lowerBound)
                parameters.add(numbers.upperBound)
                parameters.add(Int64(limit))
            })
        var rows = try rows(found, columns.count)
        if log == .events {
            let names = LoggedEvent.columns.split(separator: ", ").map(String.init)
            let order = columns.compactMap { column in names.firstIndex(of: column.name) }
            for index in rows.indices {
                guard reading.isIntact(rows[index]) else {
                    throw MoveError.damaged(event: rows[index].integer(0), label)
                }
                rows[index].values = order.map { rows[index].values[$0] }
            }
        }
        return rows
    }

    private static func mark(of log: MovedLog) -> String { log == .events ? "checksum" : "event" }

    package func blocks(of log: MovedLog) throws -> [Int64: BlockSum] {
        let rows = try run(
            """
            SELECT \(log.key) >> \(MovedLog.blockShift), count(*), sum(\(log.key))::bigint, sum(\(Self.mark(of: log)))::bigint
            FROM \(log) GROUP BY 1
            """)
        let blocks = try rows.map { row in
            (row.integer(0), BlockSum(count: row.integer(1), numbers: row.integer(2), marks: row.integer(3)))
        }
        return Dictionary(blocks) { $1 }
    }

    package func marks(of log: MovedLog, in numbers: ClosedRange<Int64>) throws -> [Int64: Int64] {
        let rows = try run(
            "SELECT \(log.key), \(Self.mark(of: log)) FROM \(log) WHERE \(log.key) BETWEEN $1 AND $2",
            { parameters in
                parameters.add(numbers.lowerBound)
                parameters.add(numbers.upperBound)
            })
        return Dictionary(try rows.map { ($0.integer(0), $0.integer(1)) }) { $1 }
    }

    package func put(_ log: MovedLog, _ columns: [MovedColumn], _ rows: [MovedRow], removing numbers: [Int64]) throws {
        let key = columns.firstIndex { $0.name == log.key } ?? 0
        if let last = rows.last?.integer(Int32(key)) {
            let parent: Partitions.Parent = log == .events ? .events : .attempts
            try partitions.prepare(parent, after: last) { requests throws(StoreError) in try writer.run(requests) }
        }
        var requests: [Request] = []
        if !numbers.isEmpty {
            requests.append(
                Request(statement("DELETE FROM \(log) WHERE \(log.key) = ANY($1::bigint[])")) { parameters in
                    parameters.add(numbers) { $0 }
                })
        }
        if !rows.isEmpty { requests.append(insertion(log.rawValue, columns, rows)) }
        if !requests.isEmpty { _ = try run(requests) }
    }

    // MARK: The end

    package func finish() throws {
        _ = try run([
            // The last attempts are in `heads`, and new ones get greater ids.
            Request(Statement("DELETE FROM rounds")), Request(Statement("DELETE FROM attempts_ahead")),
            Request(
                Statement(
                    """
                    SELECT setval('round_numbers', greatest((SELECT last_value + 1 FROM round_numbers),
                        \(AttemptRounds.roundAfterAll)), false)
                    """)),
            Request(
                Statement(
                    """
                    SELECT setval('audit_id_seq', greatest(last, last_value), last > 0 OR is_called)
                    FROM audit_id_seq, (SELECT coalesce(max(id), 0) AS last FROM audit) AS found
                    """)),
        ])
    }
}
