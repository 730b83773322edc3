import HeraldModel
import HeraldStore

/// The list of changes: a row for each deciding transaction, whose number follows the one before. The session that holds the lock which gives
/// events their order adds to it, so it has no gaps.
enum ChangeList {
    /// How long a set is kept at least, in milliseconds.
    private static let lifetime = 600_000
    /// Old sets are removed with each number that this divides, and a few times as many as have come since.
    private static let removalInterval: Int64 = 64

    private static let add = Statement(
        """
        INSERT INTO changes (number, name, changes, time)
        VALUES ($1, $2, $3, (extract(epoch FROM now()) * 1000)::bigint)
        """)
    /// Removes the oldest changes. The newest one stays, so that numbers continue.
    private static let removeOld = Statement(
        """
        DELETE FROM changes WHERE number IN
            (SELECT number FROM (SELECT number, time FROM changes ORDER BY number LIMIT \(4 * removalInterval)) AS oldest
            WHERE time < (extract(epoch FROM now()) * 1000)::bigint - \(lifetime)) AND number < $1
        """)
    private static let list = Statement(
        "SELECT number, name, changes FROM changes WHERE number > $1 ORDER BY number LIMIT $2")

    static func requests(adding changes: [Change], number: Int64, name: Int64) -> [Request] {
        let adding = Request(add) { $0.add(number, name, changes.map(\.text).joined(separator: "\n")) }
        guard number.isMultiple(of: removalInterval) else { return [adding] }
        return [adding, Request(removeOld) { $0.add(number) }]
    }

    static func request(after number: Int64, limit: Int) -> Request {
        Request(list) { $0.add(number, limit) }
    }

    /// Changes that only a newer version knows are left out.
    static func sets(_ rows: Rows) throws(StoreError) -> [ChangeSet] {
        try rows.map { row throws(StoreError) in
            ChangeSet(
                number: try row.natural(0, "number of a change"), name: row.integer(1),
                changes: row.text(2).split(separator: "\n").compactMap { Change(text: String($0)) })
        }
    }

    // MARK: What was changed

    private static let delegates = Statement(
        "SELECT \(WebhookDelegate.columns) FROM delegates WHERE key = ANY($1::bigint[]) AND deleted_at IS NULL")
    private static let keys = Statement("SELECT \(APIKey.columns) FROM keys WHERE id = ANY($1::text[])")
    private static let sessions = Statement("SELECT \(Session.columns) FROM passes WHERE digest = ANY($1::bytea[])")
    private static let apps = Statement(
        "SELECT \(App.columns) FROM apps WHERE key = ANY($1::bigint[]) AND deleted_at IS NULL")
    /// In the order in which they were asked for.
    static let eventTypes = Statement(
        """
        SELECT \(EventTypeRecord.columns) FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked(a, t, n)
        JOIN event_types ON app = a AND type = t ORDER BY n
        """)
    private static let deliveries = Statement(
        """
        SELECT \(WaitingDelivery.columnsWithSubject) FROM unnest($1::bigint[], $2::bigint[]) AS asked(d, e)
        JOIN waiting ON delegate = d AND event = e
        """)
    private static let pending = Statement(
        "SELECT \(PendingCount.columns) FROM pending_counts WHERE app = ANY($1::bigint[]) AND events > 0")
    private static let replays = Statement("SELECT \(Replay.columns) FROM replays WHERE id = ANY($1::bigint[])")

    /// The requests that read what was changed, and the ends of the log, in one snapshot.
    static func requests(reading changes: Set<Change>) -> [Request] {
        var (delegates, apps, replays, blocks): ([Int64], [Int64], [Int64], [Int64]) = ([], [], [], [])
        var pending: [Int64] = []
        var keys: [String] = []
        var sessions: [[UInt8]] = []
        var types: [NameInApp] = []
        var deliveries: [DeliveryKey] = []
        for change in changes {
            switch change {
            case .delegate(let key): delegates.append(key)
            case .key(let id): keys.append(id)
            case .session(let digest): sessions.append(digest)
            case .app(let key): apps.append(key.rawValue)
            case .eventType(let type, let app): types.append(NameInApp(app: app, name: type))
            case .delivery(let key): deliveries.append(key)
            case .replay(let id, _): replays.append(id)
            case .block(let block): blocks.append(block)
            case .pending(let app): pending.append(app.rawValue)
            case .firstEvent, .erasing, .event, .statuses: break
            }
        }
        return [
            Request(.beginSnapshot), Request(StoreEnds.statement), Request(Self.delegates, numbers: delegates),
            Request(Self.keys) { parameters in parameters.add(keys) { $0 } },
            Request(Self.sessions) { parameters in parameters.add(sessions) { $0 } },
            Request(Self.apps, numbers: apps), LogQueries.request(eventTypes, types),
            Request(Self.deliveries) { parameters in
                parameters.add(deliveries) { $0.delegate }
                parameters.add(deliveries) { $0.event }
            },
            Request(Self.replays, numbers: replays), Request(RetentionQueries.blocksOf, numbers: blocks),
            Request(.log(.firstEvent), []), Request(Self.pending, numbers: pending), Request(.commit),
        ]
    }

    /// Rows that can't be read do not stop the others, as at a start. A damaged key or app stops a start; here the key opens nothing
    /// any more, and the app keeps its settings in memory.
    /// - Parameters:
    ///   - rows: of `requests(reading:)`.
    ///   - damaged: records the rows that are left out or replaced.
    static func changed(
        _ changes: Set<Change>, _ rows: [Rows], _ sealer: ColumnSealer, _ damaged: DamagedRows
    ) throws(StoreError) -> (rows: ChangedRows, ends: StoreEnds) {
        let ends = try StoreEnds(rows[1].first)
        var found = ChangedRows()
        found.delegates = try rows[2].map { row throws(StoreError) in
            try WebhookDelegate(row, sealer, damaged)
        }
        found.keys = try rows[3].map { row throws(StoreError) -> APIKey in
            let key = try row.unlessUnreadable(in: "keys", key: 1...1, damaged) { row throws(StoreError) in
                try APIKey(row)
            }
            return key ?? APIKey(unreadable: row)
        }
        found.sessions = try rows[4].readable(in: "passes", damaged) { row throws(StoreError) in try Session(row) }
        var unreadable: Set<Change> = []
        found.apps = try rows[5].map { row throws(StoreError) -> App? in
            let app = try row.unlessUnreadable(in: "apps", damaged) { row throws(StoreError) in try App(row) }
            if app == nil { unreadable.insert(.app(AppKey(rawValue: row.integer(0)))) }
            return app
        }.compactMap { $0 }
        found.eventTypes = try rows[6].map { row throws(StoreError) -> EventTypeRecord in
            let type = try row.unlessUnreadable(in: "event_types", key: 0...1, damaged) { row throws(StoreError) in
                try EventTypeRecord(row)
            }
            return type ?? EventTypeRecord(unreadable: row)
        }
        found.deliveries = try rows[7].readable(in: "waiting", key: 0...1, damaged) { row throws(StoreError) in
            try WaitingDelivery.recovered(row, damaged)
        }
        found.replays = try rows[8].readable(in: "replays", damaged) { row throws(StoreError) in try Replay(row) }
        found.blocks = try rows[9].map { row throws(StoreError) -> AppBlock? in
            let (block, part) = try RecoveredBlocks.row(row, damaged)
            if part == nil { unreadable.insert(.block(block)) }
            return part
        }.compactMap { $0 }
        found.unreadable = unreadable
        if changes.contains(.firstEvent) { found.first = try rows[10].first?.natural(0, "position") ?? ends.event + 1 }
        found.pending = try rows[11].map { PendingCount($0, damaged) }
        return (found, ends)
    }
}
