import HeraldModel
import HeraldRuntime
import HeraldStore

extension SQLiteStore {
    /// Reads by keys and indexes only: the time grows with the number of delegates and unfinished deliveries, not with
    /// the length of the log. A connection that only reads changes nothing.
    /// - Parameter damaged: records the rows that are left out or replaced.
    static func recovery(
        _ connection: Connection, _ columnSealer: ColumnSealer, head: LogPosition, _ damaged: DamagedRows
    ) throws(StoreError) -> Recovery {
        var recovery = Recovery()
        recovery.head = head
        recovery.first = head > 0 ? try connection.natural("SELECT min(sequence) FROM events", "position") : 1
        let lastDelegate = try connection.natural("SELECT max(key) FROM delegates", "delegate")
        recovery.delegates = try delegates(connection, columnSealer, through: lastDelegate, damaged)
        recovery.nextDelegateKey = lastDelegate + 1
        recovery.appStates = try Statement(
            connection, "SELECT \(AppStateVersion.columns) FROM app_states ORDER BY app"
        ).rows()
        recovery.eventTypes = try Statement(
            connection, "SELECT \(EventTypeSummary.columns(.sqlite)) FROM event_types ORDER BY app, type"
        ).rows { EventTypeSummary($0, damaged) }
        recovery.keys = try Statement(connection, "SELECT \(APIKey.columns) FROM keys ORDER BY id")
            .rows { row throws(StoreError) in try APIKey(row) }
        recovery.sessions = try Statement(connection, "SELECT \(Session.columns) FROM passes")
            .readableRows(in: "passes", damaged) { row throws(StoreError) in try Session(row) }
        recovery.apps = try Statement(
            connection, "SELECT \(App.columns) FROM apps WHERE deleted_at IS NULL ORDER BY key"
        ).rows()
        recovery.nextAppKey = AppKey(
            rawValue: max(AppKey.default.rawValue, try connection.natural("SELECT max(key) FROM apps", "app")) + 1)
        recovery.blocks = try BlockTable.all(connection, first: recovery.first, head: head, damaged)
        if let secret = try secret(connection, columnSealer) { recovery.secret = secret }
        recovery.pending = try Statement(
            connection, "SELECT \(PendingCount.columns) FROM pending_counts WHERE events > 0 ORDER BY app"
        ).rows { PendingCount($0, damaged) }
        recovery.lastMark = try Statement(
            connection, "SELECT \(LogMark.columns) FROM marks ORDER BY sequence DESC, time DESC LIMIT 1"
        ).row()
        return recovery
    }

    /// To read the delegates is most of a start, so a second connection reads the later half at the same time.
    private static func delegates(
        _ connection: Connection, _ columnSealer: ColumnSealer, through last: DelegateKey, _ damaged: DamagedRows
    ) throws(StoreError) -> [WebhookDelegate] {
        // A thread and a connection take longer than few delegates.
        guard last > 1_000 else { return try delegates(connection, columnSealer, .min...last, damaged) }
        let middle = last / 2
        let path = connection.path
        let access = connection.access == .immutable ? Connection.Access.immutable : .readOnly
        let halves = Thread.together(name: "recover") {
            Result { () throws(StoreError) in
                let other = try Connection(path: path, access)
                other.tellsFailedReads = true
                return try delegates(other, columnSealer, middle + 1...last, damaged)
            }
        } _: {
            Result { () throws(StoreError) in try delegates(connection, columnSealer, .min...middle, damaged) }
        }
        return try halves.own.get() + halves.other.get()
    }

    /// The delegates with these keys, in their order.
    private static func delegates(
        _ connection: Connection, _ columnSealer: ColumnSealer, _ keys: ClosedRange<DelegateKey>,
        _ damaged: DamagedRows
    ) throws(StoreError) -> [WebhookDelegate] {
        let rows = try Statement(
            connection,
            """
            SELECT \(WebhookDelegate.columns) FROM delegates WHERE deleted_at IS NULL AND key BETWEEN ?1 AND ?2 ORDER BY key
            """)
        return try rows.bound(keys.lowerBound, keys.upperBound).rows { row throws(StoreError) in
            try WebhookDelegate(row, columnSealer, damaged)
        }
    }

    /// Reads by keys and indexes, too. One process has all shards, and stores one position for them.
    /// - Parameters:
    ///   - head: the end of the log. No lane is ahead of it.
    ///   - damaged: records the rows that are left out or replaced.
    static func lanes(
        _ connection: Connection, head: LogPosition, maxRows: Int, _ damaged: DamagedRows
    ) throws(StoreError) -> LaneRecovery {
        var recovery = LaneRecovery()
        let settled = try connection.natural("SELECT settled FROM progress", "position")
        guard settled <= head else { throw .unreadable("position", "\(settled), behind the last event, \(head)") }
        recovery.settled = SettledPositions(settled)
        recovery.lanes = try Statement(connection, "SELECT \(LanePosition.columns) FROM lanes ORDER BY delegate")
            .rows { LanePosition.recovered($0, head: head, damaged) }.compactMap { $0 }
        recovery.waiting = try Statement(connection, WaitingDelivery.recovered).bound(maxRows)
            .readableRows(in: "waiting", key: 0...1, damaged) { row throws(StoreError) in
                try WaitingDelivery.recovered(row, damaged)
            }
        let crowded = try Statement(connection, WaitingDelivery.crowded).bound(maxRows)
        recovery.crowded = try numbers(crowded, in: "waiting", damaged).mapValues(LaneBacklog.init)
        recovery.decided = try decided(connection, settled, recovery.lanes, damaged)
        recovery.givenUp = try Statement(connection, givenUpAhead).readableRows(in: "waiting", key: 0...1, damaged) {
            row throws(StoreError) in try DeliveryKey(row)
        }
        recovery.replays = try Statement(connection, "SELECT \(Replay.columns) FROM replays ORDER BY id")
            .readableRows(in: "replays", damaged) { row throws(StoreError) in try Replay(row) }
        let unannounced = try Statement(connection, "SELECT delegate, count FROM unannounced")
        recovery.unannounced = try numbers(unannounced, in: "unannounced", damaged)
        return recovery
    }

    /// A number for each delegate.
    private static func numbers(
        _ rows: Statement, in table: String, _ damaged: DamagedRows
    ) throws(StoreError) -> [DelegateKey: Int] {
        let numbers = try rows.readableRows(in: table, damaged) { row throws(StoreError) in
            (try row.natural(0, "delegate"), Int(row.figure(1)))
        }
        return Dictionary(numbers) { $1 }
    }

    /// The deliveries that ended after the positions of their lanes. Redeliveries are included: the delegate has
    /// received what a replay delivered, and a waiting replay has a row. All are at or before the position of their
    /// lane, so without them the lane would only send them again.
    private static func decided(
        _ connection: Connection, _ settled: LogPosition, _ lanes: [LanePosition], _ damaged: DamagedRows
    ) throws(StoreError) -> [DeliveryKey] {
        func keys(_ statement: Statement) throws(StoreError) -> [DeliveryKey] {
            try statement.readableRows(in: "attempts or waiting", key: 0...1, damaged) { row throws(StoreError) in
                try DeliveryKey(row)
            }
        }
        var decided = try keys(Statement(connection, decidedAtCommonPosition).bound(settled))
        let own = try Statement(connection, decidedOfLane)
        for lane in lanes where lane.cursor < lane.position {
            decided += try keys(own.bound(lane.delegate, lane.cursor, lane.position))
        }
        if !lanes.isEmpty { decided += try keys(Statement(connection, decidedAhead)) }
        return decided
    }

    /// For lanes at the common position, ?1: everything after it.
    static let decidedAtCommonPosition = """
        SELECT delegate, event FROM attempts WHERE event > ?1 AND status BETWEEN 200 AND 299 AND \(hasNoLane)
        UNION SELECT delegate, event FROM waiting WHERE event > ?1 AND \(hasNoLane)
        """

    private static let hasNoLane = """
        delegate NOT IN (SELECT delegate FROM lanes)
        AND EXISTS (SELECT 1 FROM delegates WHERE key = delegate AND deleted_at IS NULL)
        """

    /// For the lane of delegate ?1: everything from its cursor to its position, ?2 to ?3, looked up one by one.
    static let decidedOfLane = """
        WITH RECURSIVE span (event) AS
        (SELECT ?2 + 1 WHERE ?2 < ?3 UNION ALL SELECT event + 1 FROM span WHERE event < ?3)
        SELECT ?1, event FROM span
        WHERE EXISTS (SELECT 1 FROM attempts
            WHERE attempts.event = span.event AND delegate = ?1 AND status BETWEEN 200 AND 299)
        OR EXISTS (SELECT 1 FROM waiting WHERE waiting.event = span.event AND delegate = ?1)
        """

    /// For lanes with a row: the outcomes beyond their position, as partial checkpoints write them (`CheckpointBuilder`).
    /// The last attempts of the table include those of such checkpoints. A replay may be far ahead of its lane: the lane's row
    /// would then span all events in between, so attempts of replays do not count.
    static let decidedAhead = """
        SELECT attempts.delegate, attempts.event FROM attempts CROSS JOIN lanes ON lanes.delegate = attempts.delegate
        WHERE id > (SELECT max(id) FROM attempts) - \(AttemptHeads.round) AND attempts.event > lanes.position
            AND status BETWEEN 200 AND 299 AND is_replay IS NULL
        UNION SELECT waiting.delegate, waiting.event FROM lanes CROSS JOIN waiting ON waiting.delegate = lanes.delegate
        WHERE waiting.event > lanes.position AND (is_replay & 3 = 0 OR is_replay & 8 = 8)
        """

    /// Redeliveries that are not decided and have ended without success.
    static let givenUpAhead = """
        SELECT waiting.delegate, waiting.event FROM lanes CROSS JOIN waiting ON waiting.delegate = lanes.delegate
        WHERE waiting.event > lanes.position AND state <> 1 AND is_replay & 3 <> 0 AND is_replay & 8 = 0
        """
}
