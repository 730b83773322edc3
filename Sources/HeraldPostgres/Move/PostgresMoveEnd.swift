import HeraldModel
package import HeraldStore

/// A database as an end of a move. One thread.
package final class PostgresMoveEnd: MoveEnd {
    private let writer: Writer
    private let reading = EventReading(.combined, DamagedEvents())
    private var partitions = Partitions()
    /// Whether this end is the target. Only the mark is flushed, and all writes before it with it.
    private let isTarget: Bool

    package var label: String { writer.database.label }

    package convenience init(source url: String) throws {
        try self.init(url, isTarget: false)
        guard try writer.run(Request(Migration.isThere)).first?.flag(0) == true else {
            throw MaintenanceError(kind: .input, description: "There is no Herald database in \(label).")
        }
        try lock()
        try refuseSubmissions()
        // So that all last attempts are in `heads`.
        guard try soon({ try endRounds() }) else { throw MaintenanceError.busy("A server", label) }
    }

    /// - Parameter url: of a database that is empty, or was the end of an earlier migration.
    package convenience init(target url: String) throws {
        try self.init(url, isTarget: true)
        try lock()
        try partitions.read { requests throws(StoreError) in try writer.run(requests) }
    }

    private init(_ url: String, isTarget: Bool) throws {
        self.isTarget = isTarget
        writer = Writer(try Database(url: url))
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

    /// A server of this database has to publish what waits.
    private func refuseSubmissions() throws {
        let waiting = try writer.run(Request(SubmissionQueries.count)).integer
        guard waiting == 0 else {
            throw MaintenanceError(
                kind: .damage,
                description:
                    "\(waiting) events that programs have published with SQL wait in \(label). Let a server of it "
                    + "publish them first, and stop the programs.")
        }
    }

    // MARK: Servers

    private static let tryLock = Statement("SELECT pg_try_advisory_lock(\(Schema.moveLock))")
    private static let openRounds = Statement("SELECT count(*) FROM rounds")

    /// Keeps servers and other moves out, and brings the schema to this version.
    private func lock() throws {
        guard try soon({ try writer.run(Request(Self.tryLock)).first?.flag(0) == true }) else {
            throw MaintenanceError.busy("Another `herald migrate`", label)
        }
        try Migration.run(writer, Schema.migrations, takesPart: true)
        guard try soon({ try !isServed }) else { throw MaintenanceError.busy("A server", label) }
    }

    package var isServed: Bool { get throws { try writer.run(Request(Writer.countPresent)).integer > 0 } }

    /// Ends the rounds of servers that have ended.
    /// - Returns: whether there are none any more.
    private func endRounds() throws -> Bool {
        _ = try writer.run(AttemptRounds.end([], current: -1))
        return try writer.run(Request(Self.openRounds)).integer == 0
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

    /// `herald.publish` fails in a database that was moved away, as no server reads its events there. It cannot be closed while
    /// some wait: programs may have published them during the copy.
    private static let close = Statement(
        """
        ALTER TABLE submissions DROP CONSTRAINT IF EXISTS "moved with herald migrate",
            ADD CONSTRAINT "moved with herald migrate" CHECK (false)
        """)
    private static let open = Statement(
        #"ALTER TABLE submissions DROP CONSTRAINT IF EXISTS "moved with herald migrate""#)

    package func set(_ state: MoveState?) throws {
        _ = try writer.run(Request(Self.commitNow))
        let others: [Request] =
            switch state {
            case .away?: [Request(Self.close)]
            case .into?: []
            case nil: [Request(Self.open)]
            }
        do {
            try MoveMark.write(state, writer, with: others)
        } catch {
            if case .away? = state { try refuseSubmissions() }
            throw error
        }
        if isTarget, state != nil { _ = try writer.run(Request(Self.commitLater)) }
    }

    // MARK: Tables

    /// The tables that only this store has, or has in another form than `MovedTables`.
    private static let own: Set = [
        "meta", "changes", "nodes", "shards", "moves", "attempts_ahead", "rounds", "partitions", "move", "publishers",
        "submissions",
    ]

    package func unknownTables() throws -> [String] {
        let rows = try run(
            """
            SELECT relname::text FROM pg_class WHERE relnamespace = 'herald'::regnamespace AND relkind IN ('r', 'p')
                AND NOT relispartition ORDER BY 1
            """)
        return MovedTables.unknown(among: try rows.map { $0.text(0) }, own: Self.own)
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

    package func count(_ table: String) throws -> Int { Int(try run("SELECT count(*) FROM \(table)").integer) }

    private func selection(_ table: String, _ columns: [MovedColumn]) -> String {
        switch table {
        case "progress": "SELECT min(settled) FROM shards"
        case "counters": "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM replays_id_seq"
        case "lanes": "SELECT \(columns.list) FROM (\(Self.lanes)) AS lanes"
        case "app_blocks":
            """
            SELECT \(columns.list) FROM app_blocks
            WHERE block < (SELECT coalesce(max(sequence), 0) + 1 FROM events) >> 10
            """
        case "attempts": "SELECT \(columns.list) FROM attempts ORDER BY id"
        default: "SELECT \(columns.list) FROM \(table)"
        }
    }

    /// Where all lanes have one common position, those of shards that are farther get a row: from their position, up to where
    /// something is decided beyond it. Where attempts are ahead of a row, as after a crash, it is brought up to them, but not to
    /// replays (`Writer.decidedAhead`).
    private static let lanes = """
        SELECT l.delegate, l.cursor, greatest(l.position, ahead.event,
            (SELECT max(event) FROM waiting w WHERE w.delegate = l.delegate
                AND (w.is_replay & 3 = 0 OR w.is_replay & 8 = 8))) AS position
        FROM lanes l LEFT JOIN (
            SELECT a.delegate, max(a.event) AS event FROM attempts_ahead h JOIN attempts a ON a.id BETWEEN h.first AND h.last
            WHERE a.status BETWEEN 200 AND 299 AND a.is_replay IS NULL GROUP BY a.delegate
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

    private static let page = 256

    private func transaction(_ body: () throws -> Void) throws {
        _ = try writer.run(Request(.begin))
        do {
            try body()
            _ = try writer.run(Request(.commit))
        } catch {
            writer.rollBack()
            throw error
        }
    }

    package func visit(_ table: String, _ columns: [MovedColumn], _ body: ([MovedRow]) throws -> Void) throws {
        if table == "events" { return try visitEvents(columns, body) }
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

    /// Reads pages of limited bytes: events may be large.
    private func visitEvents(_ columns: [MovedColumn], _ body: ([MovedRow]) throws -> Void) throws {
        let sql = """
            SELECT \(columns.list) FROM
                (SELECT *, sum(octet_length(data)) OVER (ORDER BY sequence) AS bytes
                FROM events WHERE sequence > $1 ORDER BY sequence LIMIT 4096) AS page
            WHERE bytes - octet_length(data) < \(movedBytes)
            """
        var last: Int64 = -1
        while true {
            let rows = try rows(run(sql, { $0.add(last) }), columns.count)
            guard let next = rows.last?.integer(0) else { return }
            for row in rows where !reading.isIntact(row) {
                throw MaintenanceError.damaged(event: row.integer(0), label)
            }
            last = next
            try body(rows)
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
                default:
                    if rows.isEmpty { return }
                    try preparePartitions(table, columns, rows)
                    _ = try run([insertion(table, columns, rows)])
                }
            }
        }
    }

    /// Makes the partitions for rows of a log.
    private func preparePartitions(_ table: String, _ columns: [MovedColumn], _ rows: [MovedRow]) throws {
        guard let parent = Partitions.Parent(rawValue: table), let last = rows.last,
            let number = columns.firstIndex(where: { $0.name == (parent == .events ? "sequence" : "id") })
        else { return }
        try partitions.prepare(parent, after: last.integer(Int32(number))) { requests throws(StoreError) in
            try writer.run(requests)
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
            INSERT INTO \(table) (\(columns.list)) OVERRIDING SYSTEM VALUE
            SELECT * FROM unnest(\(types.joined(separator: ", ")))
            """)
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
