import HeraldModel
import HeraldStore

/// Recovery at a start. Reads by keys and indexes: the time grows with the number of delegates and unfinished deliveries, not with
/// the length of the log.
extension Writer {
    /// - Parameter damaged: records the rows that are left out or replaced.
    func recovery(_ damaged: DamagedRows) throws(StoreError) -> Recovery {
        try connect()
        let rows = try snapshot(Self.requests)
        try settle(try StoreEnds(rows[0].first))
        let found = try Self.recovery(from: rows, sealer, damaged)
        var recovery = found.recovery
        recovery.blocks += try count(found.blocks, head: recovery.head)
        recovery.secret = try Sealing.secret(self)
        return recovery
    }

    /// - Parameter rows: of `requests`.
    /// - Returns: the recovery without the secret and without the blocks that are to be counted.
    static func recovery(
        from rows: [Rows], _ sealer: ColumnSealer, _ damaged: DamagedRows
    ) throws(StoreError) -> (recovery: Recovery, blocks: RecoveredBlocks) {
        let ends = try StoreEnds(rows[0].first)
        var recovery = Recovery()
        (recovery.head, recovery.lastChange) = (ends.event, ends.change)
        recovery.first = try rows[1].first?.natural(0, "position") ?? 1
        recovery.delegates = try rows[2].map { row throws(StoreError) in
            try WebhookDelegate(row, sealer, damaged)
        }
        recovery.nextDelegateKey = try rows[3].natural("delegate") + 1
        recovery.appStates = try rows[4].map { AppStateVersion($0) }
        recovery.eventTypes = try rows[5].map { EventTypeSummary($0, damaged) }
        recovery.keys = try rows[6].map { row throws(StoreError) in try APIKey(row) }
        recovery.sessions = try rows[7].readable(in: "passes", damaged) { row throws(StoreError) in try Session(row) }
        recovery.apps = try rows[8].map { row throws(StoreError) in try App(row) }
        recovery.nextAppKey = AppKey(rawValue: max(AppKey.default.rawValue, try rows[9].natural("app")) + 1)
        recovery.lastMark = try rows[10].first.map { row throws(StoreError) in try LogMark(row) }
        let blocks = RecoveredBlocks(
            try rows[11].map { row throws(StoreError) in try RecoveredBlocks.row(row, damaged) },
            first: recovery.first, head: recovery.head, damaged)
        recovery.blocks = blocks.counted
        recovery.pending = try rows[12].map { PendingCount($0, damaged) }
        return (recovery, blocks)
    }

    /// The requests of a start, without its lanes.
    static var requests: [Request] { all.map { Request($0) } }
    private static let all = [
        StoreEnds.statement, .shared(.log(.firstEvent)),
        Statement("SELECT \(WebhookDelegate.columns) FROM delegates WHERE deleted_at IS NULL ORDER BY key"),
        Statement("SELECT max(key) FROM delegates"),
        Statement("SELECT \(AppStateVersion.columns) FROM app_states ORDER BY app"),
        Statement("SELECT \(EventTypeSummary.columns(.postgres)) FROM event_types ORDER BY app, type"),
        Statement("SELECT \(APIKey.columns) FROM keys ORDER BY id"),
        Statement("SELECT \(Session.columns) FROM passes"),
        Statement("SELECT \(App.columns) FROM apps WHERE deleted_at IS NULL ORDER BY key"),
        Statement("SELECT max(key) FROM apps"),
        Statement("SELECT \(LogMark.columns) FROM marks ORDER BY sequence DESC, time DESC LIMIT 1"),
        Statement("SELECT \(AppBlock.columns) FROM app_blocks ORDER BY block, app"),
        Statement("SELECT \(PendingCount.columns) FROM pending_counts WHERE events > 0 ORDER BY app"),
    ]

    /// Reads in one snapshot, which no commit of another process comes between.
    private func snapshot(_ requests: [Request]) throws(StoreError) -> [Rows] {
        let all = [Request(.beginSnapshot)] + requests + [Request(.commit)]
        do {
            return Array(try run(all, seconds: Database.readSeconds).dropFirst().dropLast())
        } catch {
            rollBack()
            throw error
        }
    }

    /// Runs the body, which only reads, in one snapshot.
    func inSnapshot<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try within([Request(.beginSnapshot)], body)
    }

    /// Runs the body in the transaction that the requests begin, and ends it.
    func within<Value>(_ beginning: [Request], _ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        _ = try run(beginning)
        do throws(StoreError) {
            let value = try body()
            _ = try run(Request(.commit))
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    private static let removeBlocks = Statement("DELETE FROM app_blocks")

    /// Counts and stores full blocks, and counts the one that the log has not filled.
    private func count(_ recovered: RecoveredBlocks, head: LogPosition) throws(StoreError) -> [AppBlock] {
        var blocks: [AppBlock] = []
        if recovered.areDamaged { _ = try run(Request(Self.removeBlocks)) }
        for block in recovered.missing {
            // No other session changes it at this time.
            try decide(alone: true) { transaction throws(StoreError) in blocks += try transaction.countBlock(block) }
        }
        let places = AppBlock.places(AppBlock.number(of: head + 1))
        guard places.lowerBound <= head else { return blocks }
        let last: [AppBlock] = try run(RetentionQueries.blocks(in: places.lowerBound...head)).values()
        return blocks + last
    }

    // MARK: Lanes

    /// - Parameter damaged: records the rows that are left out or replaced.
    func lanes(maxRows: Int, _ damaged: DamagedRows) throws(StoreError) -> LaneRecovery {
        try connect()
        return try Self.lanes(from: try snapshot(Self.requestsOfLanes(maxRows: maxRows)), damaged)
    }

    static func requestsOfLanes(maxRows: Int) -> [Request] {
        let waiting = [recovered, crowded].map { Request($0) { $0.add(maxRows) } }
        return ofLanes.map { Request($0) } + waiting + [Request(givenUpAhead)]
    }

    /// - Parameter rows: of `requestsOfLanes`.
    static func lanes(from rows: [Rows], _ damaged: DamagedRows) throws(StoreError) -> LaneRecovery {
        var recovery = LaneRecovery()
        let head = try StoreEnds(rows[7].first).event
        for row in rows[0].all {
            let (shard, settled) = (row.integer(0), try row.natural(1, "position"))
            if (0..<Int64(Shards.count)).contains(shard) { recovery.settled.set(Shards(of: shard), to: settled) }
        }
        recovery.lanes = try rows[1].map { LanePosition.recovered($0, head: head, damaged) }.compactMap { $0 }
        for decided in rows[2...4] {
            recovery.decided += try decided.readable(in: "attempts or waiting", key: 0...1, damaged) {
                row throws(StoreError) in try DeliveryKey(row)
            }
        }
        recovery.replays = try rows[5].readable(in: "replays", damaged) { row throws(StoreError) in try Replay(row) }
        recovery.unannounced = try numbers(rows[6], in: "unannounced", damaged)
        recovery.waiting = try rows[8].readable(in: "waiting", key: 0...1, damaged) { row throws(StoreError) in
            try WaitingDelivery.recovered(row, damaged)
        }
        recovery.crowded = try numbers(rows[9], in: "waiting", damaged).mapValues(LaneBacklog.init)
        recovery.givenUp = try rows[10].readable(in: "waiting", key: 0...1, damaged) { row throws(StoreError) in
            try DeliveryKey(row)
        }
        return recovery
    }

    /// A number for each delegate.
    private static func numbers(
        _ rows: Rows, in table: String, _ damaged: DamagedRows
    ) throws(StoreError) -> [DelegateKey: Int] {
        let numbers = try rows.readable(in: table, damaged) { row throws(StoreError) in
            (try row.natural(0, "delegate"), Int(row.figure(1)))
        }
        return Dictionary(numbers) { $1 }
    }

    private static let recovered = Statement(WaitingDelivery.recovered)
    private static let crowded = Statement(WaitingDelivery.crowded)

    private static let ofLanes = [
        Statement("SELECT shard, settled FROM shards"),
        Statement("SELECT \(LanePosition.columns) FROM lanes ORDER BY delegate"),
        Statement(decidedAtCommonPosition), Statement(decidedOfLanes), Statement(decidedAhead),
        Statement("SELECT \(Replay.columns) FROM replays ORDER BY id"),
        Statement("SELECT delegate, count FROM unannounced"), StoreEnds.statement,
    ]

    /// The deliveries that ended after the positions of their lanes. Redeliveries are included: the delegate has
    /// received what a replay delivered, and a waiting replay has a row. For lanes at the position of their shard: everything
    /// after it.
    private static let decidedAtCommonPosition = """
        SELECT delegate, event FROM attempts d WHERE status BETWEEN 200 AND 299 AND \(isBeyondShard)
        UNION SELECT delegate, event FROM waiting d WHERE \(isBeyondShard)
        """

    private static let isBeyondShard = """
        event > (SELECT min(settled) FROM shards)
        AND event > (SELECT settled FROM shards WHERE shard = d.delegate % \(Shards.count))
        AND NOT EXISTS (SELECT 1 FROM lanes WHERE lanes.delegate = d.delegate)
        AND EXISTS (SELECT 1 FROM delegates WHERE key = d.delegate AND deleted_at IS NULL)
        """

    /// For other lanes: everything from their cursor to their position, looked up one by one. A lane that is not in the log begins
    /// again, and must not keep the database busy.
    private static let decidedOfLanes = """
        SELECT l.delegate, n FROM lanes l
        CROSS JOIN generate_series(CASE WHEN l.cursor >= 0 THEN l.cursor END,
            CASE WHEN l.position <= (SELECT max(sequence) FROM events) THEN l.position END) AS n
        WHERE n > l.cursor AND (EXISTS (SELECT 1 FROM attempts a
            WHERE a.event = n AND a.delegate = l.delegate AND a.status BETWEEN 200 AND 299)
        OR EXISTS (SELECT 1 FROM waiting w WHERE w.event = n AND w.delegate = l.delegate))
        """

    /// And what was written since their position was. A replay or a redelivery may be far ahead of its lane: the lane's row would
    /// then span all events in between, so these do not count, and the lane delivers their events, too.
    private static let decidedAhead = """
        SELECT a.delegate, a.event FROM attempts_ahead h JOIN attempts a ON a.id BETWEEN h.first AND h.last
        JOIN lanes l ON l.delegate = a.delegate AND a.event > l.position
        WHERE a.status BETWEEN 200 AND 299 AND a.is_replay IS NULL
        UNION SELECT w.delegate, w.event FROM lanes l JOIN waiting w ON w.delegate = l.delegate AND w.event > l.position
        WHERE w.is_replay & 3 = 0 OR w.is_replay & 8 = 8
        """

    private static let givenUpAhead = Statement(
        """
        SELECT w.delegate, w.event FROM lanes l JOIN waiting w ON w.delegate = l.delegate AND w.event > l.position
        WHERE w.state <> 1 AND w.is_replay & 3 <> 0 AND w.is_replay & 8 = 0
        """)
}
