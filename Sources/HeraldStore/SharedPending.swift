package import HeraldModel

/// Shared statements of scheduled events.
package enum PendingStatement: Int, CaseIterable, Sendable {
    case add, find, move, remove, due, dueOfApp, apps, replaced, about, removeOfApp, next, setCount, list

    func text(_ dialect: SQLDialect) -> String {
        let (columns, ofTable) = (PendingEvent.columns, PendingEvent.columnsOfTable)
        switch self {
        case .add:
            return """
                INSERT INTO pending (\(columns), bytes)
                VALUES ((SELECT coalesce(max(key), 0) + 1 FROM pending), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                """
        case .find: return "SELECT \(columns) FROM pending WHERE app = ?1 AND id = ?2"
        case .move: return "UPDATE pending SET due_at = ?3, time = ?4 WHERE app = ?1 AND id = ?2"
        case .remove: return "DELETE FROM pending WHERE key = ?1"
        // Until time ?1, at most ?2, and no more once they have ?3 bytes.
        case .due: return Self.due("WHERE due_at <= ?1")
        // Only events of app ?4.
        case .dueOfApp: return Self.due("WHERE app = ?4 AND due_at <= ?1")
        // After app ?1, at most ?2.
        case .apps:
            return """
                SELECT app, (SELECT due_at FROM pending WHERE pending.app = counts.app ORDER BY due_at, key LIMIT 1)
                FROM (SELECT app FROM pending_counts WHERE app > ?1 AND events > 0 ORDER BY app LIMIT ?2) AS counts
                ORDER BY app
                """
        // By the events from ?1 to ?2. The id of one in the log may be its publisher's and 27 characters more.
        case .replaced:
            let columns = "pending.key, pending.app, pending.bytes, pending.id, pending.attributes"
            return """
                SELECT \(columns), logged.id, logged.attributes
                FROM (
                    SELECT app, id, attributes, id AS scheduled FROM events WHERE sequence BETWEEN ?1 AND ?2
                    UNION ALL
                    SELECT app, id, attributes, substr(id, 1, length(id) - 27) FROM events
                    WHERE sequence BETWEEN ?1 AND ?2 AND length(id) > 27
                ) AS logged CROSS JOIN pending
                WHERE pending.app = logged.app AND pending.id = logged.scheduled
                """
        case .about: return "SELECT \(columns) FROM pending WHERE app = ?1 AND subject = ?2 LIMIT ?3"
        case .removeOfApp:
            return """
                DELETE FROM pending WHERE key IN
                    (SELECT key FROM pending WHERE app = ?1 ORDER BY due_at, key LIMIT ?2)
                """
        case .next: return "SELECT due_at FROM pending ORDER BY due_at LIMIT 1"
        case .setCount:
            return """
                INSERT INTO pending_counts (\(PendingCount.columns)) VALUES (?1, ?2, ?3)
                ON CONFLICT (app) DO UPDATE SET events = excluded.events, bytes = excluded.bytes
                """
        // Of app ?1, after time ?2 and key ?3; at most ?4, and no more once they have ?5 bytes. ?6: a subject, or NULL.
        case .list:
            let isMeant = """
                WHERE app = ?1 AND (due_at, key) > (?2, ?3) AND (CAST(?6 AS text) IS NULL OR subject = CAST(?6 AS text))
                    AND NOT EXISTS (SELECT 1 FROM events WHERE events.app = pending.app AND events.id = pending.id)
                """
            return """
                SELECT \(ofTable)
                FROM (\(Self.sized(isMeant, limit: "?4"))) AS sized JOIN pending ON pending.key = sized.key
                WHERE sized.bytes_before < CAST(?5 AS bigint) ORDER BY pending.due_at, pending.key
                """
        }
    }

    /// The events that are due: at most ?2, and no more once they have ?3 bytes.
    private static func due(_ condition: String) -> String {
        """
        SELECT \(PendingEvent.columnsOfTable),
            EXISTS (SELECT 1 FROM events WHERE events.app = pending.app AND events.id = pending.id)
        FROM (\(sized(condition, limit: "?2"))) AS sized JOIN pending ON pending.key = sized.key
        WHERE sized.bytes_before < CAST(?3 AS bigint) ORDER BY pending.due_at, pending.key
        """
    }

    /// Events in the order of their times, with the bytes of those before them. Reads no data.
    private static func sized(_ condition: String, limit: String) -> String {
        """
        SELECT key, sum(bytes) OVER (ORDER BY due_at, key ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before
        FROM (SELECT key, due_at, bytes FROM pending \(condition) ORDER BY due_at, key LIMIT \(limit)) AS page
        """
    }
}

extension PendingEvent: RowConvertible {
    package static let columns = "key, app, id, type, subject, time, data, attributes, due_at"
    static let columnsOfTable = qualified(columns, by: "pending")
    private static let columnCount: Int32 = 9

    /// Never fails: a row with an impossible value is an event that is damaged, since it must not hold up the others.
    package init(_ row: some ResultRow) {
        let app = AppKey(rawValue: row.integer(1))
        func event(at time: Int64, _ attributes: [KeyValue]) -> Event {
            row.withBytes(6) { data in
                Event(
                    app: app, id: row.text(2), type: row.text(3), subject: row.optionalText(4), time: time,
                    attributes: attributes, data: data)
            }
        }
        do throws(StoreError) {
            let attributes = row.isNull(7) ? [] : try row.pairs(7)
            let (time, dueAt) = (try row.time(5), try row.time(8))
            let event = event(at: time, attributes)
            self.init(key: row.integer(0), event: event.isPlausible ? event : event.damaged(), dueAt: dueAt)
        } catch {
            self.init(key: row.integer(0), event: event(at: row.figure(5), []).damaged(), dueAt: row.figure(8))
        }
    }

    fileprivate static func due(_ row: some ResultRow) -> DueEvent {
        DueEvent(PendingEvent(row), isInLog: row.flag(columnCount))
    }
}

extension ReplacedEvent {
    /// `nil` if the ids alone are alike, or a source can't be read.
    fileprivate init?(_ row: some ResultRow) {
        let app = AppKey(rawValue: row.integer(1))
        func event(_ column: Int32) throws(StoreError) -> Event {
            let attributes = row.isNull(column + 1) ? [] : try row.pairs(column + 1)
            return Event(
                app: app, id: row.text(column), type: "", subject: nil, time: 0, attributes: attributes,
                data: Array("0".utf8))
        }
        guard let scheduled = try? event(3), let logged = try? event(5), logged.replaces(scheduled) else { return nil }
        self.init(key: row.integer(0), app: app, bytes: row.figure(2))
    }
}

extension PendingCount {
    package static let columns = "app, events, bytes"

    /// Never fails: a count only limits its app. One that is brought into its range is recorded.
    /// - Parameter row: a row of `columns`.
    package init(_ row: some ResultRow, _ damaged: DamagedRows) {
        self.init(app: AppKey(rawValue: row.integer(0)), events: row.figure(1), bytes: row.figure(2))
        if events != row.integer(1) || bytes != row.integer(2) {
            let found = events == row.integer(1) ? row.integer(2) : row.integer(1)
            damaged.record(row.name(0...0), in: "pending_counts", "it holds an impossible count, \(found)")
        }
    }
}

/// Changes scheduled events.
extension SharedTransaction {
    package func addPending(_ event: Event, dueAt: Int64) throws(StoreError) {
        let attributes = event.attributes.isEmpty ? nil : TextList.encode(event.attributes)
        try record(
            .pending(.add),
            [
                event.app, event.id, event.type, event.subject, event.time, Array(event.data), attributes, dueAt,
                event.storedBytes,
            ])
    }

    package func movePending(app: AppKey, id: String, to dueAt: Int64, time: Int64) throws(StoreError) {
        try record(.pending(.move), [app, id, dueAt, time])
    }

    package func removePending(_ keys: [Int64]) throws(StoreError) {
        for key in keys { try record(.pending(.remove), [key]) }
    }

    package func duePending(at time: Int64, limit: Int, maxBytes: Int) throws(StoreError) -> [DueEvent] {
        try rows(.pending(.due), [time, limit, maxBytes]) { PendingEvent.due($0) }
    }

    package func duePending(
        of app: AppKey, at time: Int64, limit: Int, maxBytes: Int
    ) throws(StoreError) -> [DueEvent] {
        try rows(.pending(.dueOfApp), [time, limit, maxBytes, app]) { PendingEvent.due($0) }
    }

    package func pendingApps(after app: AppKey, limit: Int) throws(StoreError) -> [PendingApp] {
        try rows(.pending(.apps), [app, limit]) { row in
            PendingApp(app: AppKey(rawValue: row.integer(0)), dueAt: row.isNull(1) ? .max : row.figure(1))
        }
    }

    package func replacedPending(in range: ClosedRange<LogPosition>) throws(StoreError) -> Set<ReplacedEvent> {
        let found = try rows(.pending(.replaced), [range.lowerBound, range.upperBound]) { ReplacedEvent($0) }
        return Set(found.compactMap { $0 })
    }

    package func pending(about subject: String, app: AppKey, limit: Int) throws(StoreError) -> [PendingEvent] {
        try rows(.pending(.about), [app, subject, limit])
    }

    package func removePending(of app: AppKey, limit: Int) throws(StoreError) -> Int {
        try change(.pending(.removeOfApp), [app, limit])
    }

    package func setPendingCount(_ count: PendingCount) throws(StoreError) {
        try record(.pending(.setCount), [count.app, count.events, count.bytes])
    }
}

/// Reads scheduled events.
extension SharedStatements {
    package func pending(app: AppKey, id: String) throws(StoreError) -> PendingEvent? {
        try first(.pending(.find), [app, id])
    }

    package func nextPending() throws(StoreError) -> Int64? {
        try first(.pending(.next)) { $0.figure(0) }
    }

    package func pending(_ query: PendingQuery) throws(StoreError) -> [PendingEvent] {
        let (dueAt, key): (Int64, Int64) = (query.after?.dueAt ?? .min, query.after?.key ?? 0)
        return try rows(.pending(.list), [query.app, dueAt, key, query.limit, query.maxBytes, query.subject])
    }
}
