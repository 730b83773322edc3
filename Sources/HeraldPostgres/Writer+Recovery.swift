import HeraldCore
import HeraldStore

/// Recovery at a start. Reads by keys and indexes: the time grows with the number of delegates and unfinished deliveries, and of
/// the responses that apps with a storage limit have, not with the length of the log.
extension Writer {
    func recovery() throws(StoreError) -> Recovery {
        try connect()
        let rows = try snapshot(Self.all.map { Request($0) })
        let ends = try StoreEnds(rows[0].first)
        try settle(ends)
        var recovery = Recovery()
        (recovery.head, recovery.lastChange) = (ends.event, ends.change)
        recovery.first = try rows[1].first?.natural(0, "position") ?? 1
        recovery.delegates = try rows[2].map { row throws(StoreError) in
            try WebhookDelegate(row, sealer, isForgiving: true)
        }
        recovery.nextDelegateKey = try rows[3].natural("delegate") + 1
        recovery.appStates = try rows[4].map { AppStateVersion($0) }
        recovery.eventTypes = try rows[5].map { row throws(StoreError) in try EventTypeSummary(row) }
        recovery.keys = try rows[6].map { row throws(StoreError) in try APIKey(row) }
        recovery.sessions = try rows[7].map { row throws(StoreError) in try Session(row) }
        recovery.apps = try rows[8].map { row throws(StoreError) in try App(row) }
        recovery.nextAppKey = AppKey(rawValue: max(AppKey.default.rawValue, try rows[9].natural("app")) + 1)
        recovery.lastMark = try rows[10].first.map { row throws(StoreError) in try LogMark(row) }
        recovery.blocks = try blocks(
            try rows[11].map { row throws(StoreError) in try AppBlock(row) }, first: recovery.first, head: recovery.head
        )
        recovery.pending = try rows[12].map { row throws(StoreError) in try PendingCount(row) }
        recovery.responses = try rows[13].map { ResponseBytes($0) }
        recovery.secret = try Sealing.secret(self)
        return recovery
    }

    private static let summary = EventTypeSummary.columns(text: "octet_length(description)", blob: "octet_length")
    static let keys = Statement("SELECT \(APIKey.columns) FROM keys ORDER BY id")
    private static let all = [
        StoreEnds.statement, .shared(.log(.firstEvent)),
        Statement("SELECT \(WebhookDelegate.columns) FROM delegates WHERE deleted_at IS NULL ORDER BY key"),
        Statement("SELECT max(key) FROM delegates"),
        Statement("SELECT \(AppStateVersion.columns) FROM app_states ORDER BY app"),
        Statement("SELECT \(summary) FROM event_types ORDER BY app, type"),
        keys,
        Statement("SELECT \(Session.columns) FROM passes"),
        Statement("SELECT \(App.columns) FROM apps WHERE deleted_at IS NULL ORDER BY key"),
        Statement("SELECT max(key) FROM apps"),
        Statement("SELECT \(LogMark.columns) FROM marks ORDER BY sequence DESC, time DESC LIMIT 1"),
        Statement("SELECT \(AppBlock.columns) FROM app_blocks ORDER BY block, app"),
        Statement("SELECT \(PendingCount.columns) FROM pending_counts WHERE events > 0 ORDER BY app"),
        Statement(ResponseBytes.ofLimitedApps),
    ]

    /// Reads in one snapshot, which no commit of another process comes between.
    private func snapshot(_ requests: [Request]) throws(StoreError) -> [Rows] {
        let all = [Request(Self.begin)] + requests + [Request(Self.commit)]
        do {
            return Array(try run(all, seconds: Database.readSeconds).dropFirst().dropLast())
        } catch {
            rollBack()
            throw error
        }
    }

    private static let begin = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    private static let commit = Statement("COMMIT")

    /// The blocks of the whole log. Counts and stores full blocks that are missing: the process may have ended before it stored
    /// them.
    private func blocks(
        _ stored: [AppBlock], first: LogPosition, head: LogPosition
    ) throws(StoreError) -> [AppBlock] {
        let last = AppBlock.number(of: head + 1)
        var blocks = stored
        if let beyond = stored.first(where: { $0.block > last }) {
            throw .unreadable("block", "\(beyond.block), behind the last event")
        }
        let next = blocks.last.map { $0.block + 1 } ?? AppBlock.number(of: first)
        for block in stride(from: next, to: last, by: 1) {
            // No other session changes it at this time.
            try decide { transaction throws(StoreError) in blocks += try transaction.countBlock(block) }
        }
        let places = AppBlock.places(last)
        guard places.lowerBound <= head else { return blocks }
        return try blocks
            + RetentionQueries.blocks(in: places.lowerBound...head) { request throws(StoreError) in try run(request) }
    }

    // MARK: Lanes

    func lanes(maxRows: Int) throws(StoreError) -> LaneRecovery {
        try connect()
        let waiting = [Self.recovered, Self.crowded].map { Request($0) { $0.add(maxRows) } }
        let rows = try snapshot(Self.ofLanes.map { Request($0) } + waiting)
        var recovery = LaneRecovery()
        for (shard, settled) in try rows[0].map({ row throws(StoreError) in
            (row.integer(0), try row.natural(1, "position"))
        })
        where (0..<Int64(Shards.count)).contains(shard) {
            recovery.settled.set(Shards(of: shard), to: settled)
        }
        recovery.lanes = try rows[1].map { row throws(StoreError) in try LanePosition(row) }
        for decided in rows[2...4] {
            recovery.decided += try decided.map { row throws(StoreError) in try DeliveryKey(row) }
        }
        recovery.replays = try rows[5].map { row throws(StoreError) in try Replay(row) }
        recovery.unannounced = try numbers(rows[6])
        recovery.waiting = try rows[7].map { row throws(StoreError) in try WaitingDelivery(row) }
        recovery.crowded = try numbers(rows[8]).mapValues(LaneBacklog.init)
        return recovery
    }

    /// A number for each delegate.
    private func numbers(_ rows: Rows) throws(StoreError) -> [DelegateKey: Int] {
        let numbers = try rows.map { row throws(StoreError) in (try row.natural(0, "delegate"), Int(row.figure(1))) }
        return Dictionary(numbers) { $1 }
    }

    private static let recovered = Statement(WaitingDelivery.recovered)
    private static let crowded = Statement(WaitingDelivery.crowded)

    private static let ofLanes = [
        Statement("SELECT shard, settled FROM shards"),
        Statement("SELECT \(LanePosition.columns) FROM lanes ORDER BY delegate"),
        Statement(decidedAtCommonPosition), Statement(decidedOfLanes), Statement(decidedAhead),
        Statement("SELECT \(Replay.columns) FROM replays ORDER BY id"),
        Statement("SELECT delegate, count FROM unannounced"),
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

    /// For other lanes: everything from their cursor to their position, looked up one by one. Positions that are not in the log
    /// are refused when the lanes are read, and must not keep the database busy until then.
    private static let decidedOfLanes = """
        SELECT l.delegate, n FROM lanes l
        CROSS JOIN generate_series(greatest(l.cursor, 0), least(l.position, (SELECT max(sequence) FROM events))) AS n
        WHERE n > l.cursor AND (EXISTS (SELECT 1 FROM attempts a
            WHERE a.event = n AND a.delegate = l.delegate AND a.status BETWEEN 200 AND 299)
        OR EXISTS (SELECT 1 FROM waiting w WHERE w.event = n AND w.delegate = l.delegate))
        """

    /// And what was written since their position was.
    private static let decidedAhead = """
        SELECT a.delegate, a.event FROM attempts_ahead h JOIN attempts a ON a.id BETWEEN h.first AND h.last
        JOIN lanes l ON l.delegate = a.delegate AND a.event > l.position WHERE a.status BETWEEN 200 AND 299
        UNION SELECT w.delegate, w.event FROM lanes l JOIN waiting w ON w.delegate = l.delegate AND w.event > l.position
        """
}
