import HeraldCore
import HeraldTables

/// What a start needs. Reads by keys and indexes: the time grows with the number of delegates and unfinished deliveries, not with
/// the length of the log.
extension Writer {
    func recovery() throws(StoreError) -> Recovery {
        try connect()
        var recovery = Recovery()
        recovery.head = durable.position
        recovery.first = try run(Request(RetentionQueries.first)).first?.integer(0) ?? 1
        recovery.delegates = try rows(
            "SELECT \(WebhookDelegate.columns) FROM delegates WHERE deleted_at IS NULL ORDER BY key"
        ).map { row throws(StoreError) in try WebhookDelegate(row, sealer) }
        recovery.nextDelegateKey = try rows("SELECT max(key) FROM delegates").integer + 1
        recovery.appStates = try rows("SELECT \(AppState.columns) FROM app_states ORDER BY app").map { AppState($0) }
        recovery.eventTypes = try rows("SELECT \(EventTypeRecord.columns) FROM event_types ORDER BY app, type")
            .map { row throws(StoreError) in try EventTypeRecord(row) }
        recovery.keys = try rows("SELECT \(APIKey.columns) FROM keys ORDER BY id")
            .map { row throws(StoreError) in try APIKey(row) }
        recovery.sessions = try rows("SELECT \(Session.columns) FROM passes")
            .map { row throws(StoreError) in try Session(row) }
        recovery.apps = try rows("SELECT \(App.columns) FROM apps WHERE deleted_at IS NULL ORDER BY key")
            .map { row throws(StoreError) in try App(row) }
        recovery.nextAppKey = AppKey(
            rawValue: max(AppKey.default.rawValue, try rows("SELECT max(key) FROM apps").integer) + 1)
        recovery.blocks = try blocks(first: recovery.first, head: recovery.head)
        recovery.secret = try Sealing.secret(self)
        recovery.lastMark = try rows("SELECT \(LogMark.columns) FROM marks ORDER BY sequence DESC, time DESC LIMIT 1")
            .first.map { LogMark($0) }
        return recovery
    }

    private func rows(_ sql: String) throws(StoreError) -> Rows { try run(Request(Statement(sql))) }

    /// The blocks of the whole log. Counts and stores full blocks that are missing: the process may have ended before it stored
    /// them.
    private func blocks(first: LogPosition, head: LogPosition) throws(StoreError) -> [AppBlock] {
        let last = AppBlock.number(of: head + 1)
        var blocks = try rows("SELECT \(AppBlock.columns) FROM app_blocks ORDER BY block, app").map {
            AppBlock(
                app: AppKey(rawValue: $0.integer(1)), block: $0.integer(0), events: $0.integer(2), bytes: $0.integer(3))
        }
        let next = blocks.last.map { $0.block + 1 } ?? AppBlock.number(of: first)
        for block in stride(from: next, through: last, by: 1) {
            let found = try RetentionQueries.blocks(in: AppBlock.places(block)) { request throws(StoreError) in
                try run(request)
            }
            if block < last { _ = try run(Transaction.keep(block, found)) }
            blocks += found
        }
        return blocks
    }

    // MARK: Lanes

    func lanes() throws(StoreError) -> LaneRecovery {
        try connect()
        var recovery = LaneRecovery()
        for (shard, settled) in try rows("SELECT shard, settled FROM shards").map({ ($0.integer(0), $0.integer(1)) })
        where (0..<Int64(Shards.count)).contains(shard) {
            recovery.settled.set(Shards(of: shard), to: settled)
        }
        recovery.lanes = try rows("SELECT \(LanePosition.columns) FROM lanes ORDER BY delegate").map {
            LanePosition($0)
        }
        recovery.waiting = try rows(
            "SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting WHERE state = 1 ORDER BY due_at"
        ).map { row throws(StoreError) in try WaitingDelivery(row) }
        recovery.decided =
            try rows(Self.decidedAtCommonPosition).map { DeliveryKey($0) }
            + rows(Self.decidedOfLanes).map { DeliveryKey($0) }
        recovery.replays = try rows("SELECT \(Replay.columns) FROM replays ORDER BY id").map { Replay($0) }
        let unannounced = try rows("SELECT delegate, count FROM unannounced").map {
            ($0.integer(0), Int($0.integer(1)))
        }
        recovery.unannounced = Dictionary(unannounced) { $1 }
        return recovery
    }

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

    /// For other lanes: everything from their cursor to their position, looked up one by one.
    private static let decidedOfLanes = """
        SELECT l.delegate, n FROM lanes l CROSS JOIN generate_series(l.cursor + 1, l.position) AS n
        WHERE EXISTS (SELECT 1 FROM attempts a
            WHERE a.event = n AND a.delegate = l.delegate AND a.status BETWEEN 200 AND 299)
        OR EXISTS (SELECT 1 FROM waiting w WHERE w.event = n AND w.delegate = l.delegate)
        """
}
