package import HeraldModel

/// Shared statements of deliveries.
package enum DeliveryStatement: Int, CaseIterable, Sendable {
    case addReplay, removeReplay, countReplays, replays, removeOldStatistics, pastStatistics, removePastStatistics,
        statistics, addVolume, pastVolumes, removePastVolumes, removeOldVolumes, volumesOfAll, volumesOfApp,
        volumesOfType, volumesByType, recipients,
        attemptsOfEvent, waitingOfEvent, waitingEvents, endOfPart, pageOfAll, pageOfDelegate, searchOfAll,
        searchOfDelegate, deliveredOfEvent, deliveredTo, countOfAll, countOfDelegate, countsOfApp, dueRows,
        rowsOfSubject, rowsOfEvents

    func text(_ dialect: SQLDialect) -> String {
        switch self {
        case .addReplay:
            """
            INSERT INTO replays (delegate, start, cursor, until, created_at)
            SELECT ?1, ?2, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM delegates WHERE key = ?1 AND deleted_at IS NULL)
            RETURNING id
            """
        case .removeReplay: "DELETE FROM replays WHERE id = ?1 AND delegate = ?2"
        case .countReplays: "SELECT count(*) FROM replays WHERE delegate = ?1"
        case .replays: "SELECT \(Replay.columns) FROM replays WHERE delegate = ?1 ORDER BY id"
        case .removeOldStatistics:
            """
            DELETE FROM statistics WHERE (delegate, start) IN
                (SELECT delegate, start FROM statistics WHERE start < ?1 LIMIT ?2)
            """
        case .pastStatistics: "SELECT \(DeliveryStatistics.columns) FROM statistics \(Self.past)"
        case .removePastStatistics:
            "DELETE FROM statistics WHERE (delegate, start) IN (SELECT delegate, start FROM statistics \(Self.past))"
        case .addVolume:
            """
            INSERT INTO volumes (\(Volume.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (app, start, type) DO UPDATE SET events = volumes.events + excluded.events,
                delivered = volumes.delivered + excluded.delivered, failed = volumes.failed + excluded.failed
            """
        case .pastVolumes: "SELECT \(Volume.columns) FROM volumes \(Self.pastVolumes(dialect))"
        case .removePastVolumes:
            """
            DELETE FROM volumes WHERE (app, start, type) IN
                (SELECT app, start, type FROM volumes \(Self.pastVolumes(dialect)))
            """
        case .removeOldVolumes:
            """
            DELETE FROM volumes WHERE (app, start, type) IN
                (SELECT app, start, type FROM volumes \(dialect.indexed(by: "volumes_by_start"))
                WHERE start < ?1 ORDER BY start LIMIT ?2)
            """
        case .volumesOfAll:
            """
            SELECT CAST(1 AS bigint), '', start, \(Volume.sums) FROM volumes \(dialect.indexed(by: "volumes_by_start"))
            WHERE start BETWEEN ?1 AND ?2 GROUP BY start ORDER BY start
            """
        case .volumesOfApp:
            """
            SELECT app, '', start, \(Volume.sums) FROM volumes WHERE app = ?3 AND start BETWEEN ?1 AND ?2
            GROUP BY app, start ORDER BY start
            """
        case .volumesOfType:
            """
            SELECT \(Volume.columns) FROM volumes
            WHERE app = ?3 AND start BETWEEN ?1 AND ?2 AND type = ?4 ORDER BY start
            """
        case .volumesByType:
            """
            SELECT app, type, CAST(?1 AS bigint), \(Volume.sums) FROM volumes
            WHERE app = ?3 AND start BETWEEN ?1 AND ?2 GROUP BY app, type ORDER BY 4 DESC, 5 DESC, type LIMIT ?4
            """
        case .statistics:
            "SELECT \(DeliveryStatistics.columns) FROM statistics WHERE delegate = ?1 AND start >= ?2 ORDER BY start"
        case .recipients:
            // With a limit for each part: PostgreSQL would read all of them for the union.
            """
            SELECT delegate FROM (SELECT DISTINCT delegate FROM attempts WHERE event = ?1 AND delegate > ?2
                ORDER BY delegate LIMIT ?3) AS attempted
            UNION SELECT delegate FROM (SELECT delegate FROM waiting WHERE event = ?1 AND delegate > ?2
                ORDER BY delegate LIMIT ?3) AS waits
            ORDER BY delegate LIMIT ?3
            """
        case .attemptsOfEvent:
            "SELECT \(StoredAttempt.columns) FROM attempts WHERE event = ?1 ORDER BY id DESC LIMIT ?2"
        case .waitingOfEvent:
            "SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting WHERE event = ?1 ORDER BY delegate"
        case .waitingEvents:
            """
            SELECT DISTINCT event FROM waiting \(dialect.indexed(by: "waiting_by_state"))
            WHERE state = 1 AND event BETWEEN ?1 AND ?2 ORDER BY event
            """
        // Lists have statements for one state each, since only then an index has the rows in the order of the list. For one
        // delegate the primary key would do as well, but reads its rows of all states.
        case .endOfPart:
            """
            SELECT event FROM waiting \(dialect.indexed(by: "waiting_by_state")) WHERE state = ?1 AND event BETWEEN ?2 AND ?3
            ORDER BY event DESC LIMIT 1 OFFSET ?4
            """
        case .pageOfAll: Self.page(dialect.indexed(by: "waiting_by_state"), "")
        case .pageOfDelegate: Self.page(dialect.indexed(by: "waiting_of_delegate"), "AND delegate = ?7")
        case .searchOfAll: Self.search(dialect.indexed(by: "waiting_by_state"), "")
        case .searchOfDelegate: Self.search(dialect.indexed(by: "waiting_of_delegate"), "AND delegate = ?7")
        case .deliveredOfEvent:
            """
            SELECT \(StoredAttempt.columns) FROM attempts \(dialect.indexed(by: "attempts_by_event"))
            WHERE event = ?1 AND delegate < ?2 AND \(Self.isDelivered) ORDER BY delegate DESC LIMIT ?3
            """
        // One search of the index for each event of the range. (CROSS JOIN fixes the order in SQLite, and the sum
        // keeps it from reading all ids of the app.)
        case .deliveredTo:
            """
            SELECT \(StoredAttempt.columnsOfTable)
            FROM events CROSS JOIN attempts \(dialect.indexed(by: "attempts_by_event"))
            WHERE events.sequence BETWEEN ?3 AND ?4 AND events.app + 0 = ?2 AND attempts.event = events.sequence
            AND attempts.delegate = ?1 AND \(Self.isDelivered) ORDER BY events.sequence DESC LIMIT ?5
            """
        case .countOfAll: "SELECT count(*) \(Self.counted(dialect.indexed(by: "waiting_by_state")))"
        case .countOfDelegate:
            "SELECT count(*) \(Self.counted(dialect.indexed(by: "waiting_of_delegate"))) AND delegate = ?5"
        // For each delegate a range of the index, so that the rows of other apps cost nothing.
        case .countsOfApp:
            """
            SELECT key, (SELECT count(*) \(Self.ofKey(dialect))), (SELECT max(event) \(Self.ofKey(dialect)))
            FROM delegates WHERE app = ?1 AND deleted_at IS NULL AND EXISTS (SELECT 1 \(Self.ofKey(dialect)))
            """
        case .dueRows:
            Self.rows(
                dialect.indexed(by: "waiting_by_time"), "(due_at, event) > (?3, ?4)", orderedBy: "due_at, event")
        case .rowsOfSubject:
            Self.rows(
                dialect.indexed(by: "waiting_of_delegate"),
                "event >= ?3 AND (SELECT subject FROM events WHERE sequence = waiting.event) = ?4", orderedBy: "event")
        case .rowsOfEvents:
            Self.rows(dialect.indexed(by: "waiting_of_delegate"), "event BETWEEN ?3 AND ?4", orderedBy: "event")
        }
    }

    /// Slots that do not begin with their hour, the oldest first.
    private static let isPast = "start >= ?1 AND start < ?2 AND start % \(Volume.hour) <> 0"
    private static let past = "WHERE \(isPast) ORDER BY start, delegate LIMIT ?3"

    private static func pastVolumes(_ dialect: SQLDialect) -> String {
        "\(dialect.indexed(by: "volumes_by_start")) WHERE \(isPast) ORDER BY start, app, type LIMIT ?3"
    }

    private static func counted(_ index: String) -> String {
        """
        FROM waiting \(index) WHERE state = ?1 AND event BETWEEN ?2 AND ?3
        AND EXISTS (SELECT 1 FROM delegates WHERE key = delegate AND app = ?4)
        """
    }

    /// One condition bounds events and delegates: with another one for the last event, SQLite would read all deliveries of that event.
    private static func listed(_ index: String, _ more: String) -> String {
        """
        FROM waiting \(index) WHERE state = ?1 AND event >= ?2 AND (event, delegate) < (?3, ?4)
        AND EXISTS (SELECT 1 FROM delegates WHERE key = delegate AND app = ?5) \(more)
        ORDER BY event DESC, delegate DESC LIMIT ?6
        """
    }

    private static func page(_ index: String, _ more: String) -> String {
        "SELECT \(WaitingDelivery.columnsWithSubject) \(listed(index, more))"
    }

    /// Like a page, with the type of the event and the end of the last attempt. The inner list bounds the work.
    private static func search(_ index: String, _ more: String) -> String {
        """
        SELECT \(WaitingDelivery.columnsOfFound), events.subject, events.type, attempts.status, attempts.failure,
            attempts.started_at
        FROM (SELECT \(WaitingDelivery.columns) \(listed(index, more))) AS found
        LEFT JOIN events ON events.sequence = found.event
        LEFT JOIN attempts ON attempts.id =
            (SELECT max(id) FROM attempts AS last WHERE last.event = found.event AND last.delegate = found.delegate)
        ORDER BY found.event DESC, found.delegate DESC
        """
    }

    /// The last success of a delivery without a row.
    private static let isDelivered = """
        attempts.status BETWEEN 200 AND 299
        AND NOT EXISTS (SELECT 1 FROM attempts AS later WHERE later.event = attempts.event
            AND later.delegate = attempts.delegate AND later.id > attempts.id AND later.status BETWEEN 200 AND 299)
        AND NOT EXISTS (SELECT 1 FROM waiting
            WHERE waiting.delegate = attempts.delegate AND waiting.event = attempts.event)
        """

    private static func ofKey(_ dialect: SQLDialect) -> String {
        "FROM waiting \(dialect.indexed(by: "waiting_of_delegate")) WHERE delegate = key AND state = ?2"
    }

    /// A part of the rows of one delegate.
    private static func rows(_ index: String, _ condition: String, orderedBy order: String) -> String {
        """
        SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting \(index)
        WHERE delegate = ?1 AND state = 1 AND \(condition) ORDER BY \(order) LIMIT ?2
        """
    }
}

/// Changes of deliveries.
extension SharedTransaction {
    package func recipients(
        event: LogPosition, after delegate: DelegateKey, limit: Int
    ) throws(StoreError) -> [DelegateKey] {
        try rows(.delivery(.recipients), [event, delegate, limit]) {
            row throws(StoreError) in try row.natural(0, "delegate")
        }
    }

    package func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) throws(StoreError) -> Replay {
        let id = try first(.delivery(.addReplay), [delegate, cursor, until, time]) { row throws(StoreError) in
            try row.natural(0, "replay")
        }
        guard let id else { throw .failed(reason: "delegate \(delegate) was deleted") }
        return Replay(id: id, delegate: delegate, cursor: cursor, until: until, createdAt: time)
    }

    package func removeReplay(_ id: Int64, of delegate: DelegateKey) throws(StoreError) -> Bool {
        try change(.delivery(.removeReplay), [id, delegate]) > 0
    }

    package func countReplays(_ delegate: DelegateKey) throws(StoreError) -> Int {
        Int(try first(.delivery(.countReplays), [delegate]) { $0.figure(0) } ?? 0)
    }

    package func removeStatistics(before time: Int64, limit: Int) throws(StoreError) -> Int {
        let past: [any ColumnConvertible] = [time - DeliveryStatistics.lateness, time, limit]
        var hours: [DeliveryKey: DeliveryStatistics] = [:]
        // A slot that can't be read is removed: it must not hold up retention.
        let slots = try rows(.delivery(.pastStatistics), past) { try? DeliveryStatistics($0) }
        for case let slot? in slots {
            let start = slot.start - slot.start % Volume.hour
            let key = DeliveryKey(delegate: slot.delegate, event: start)
            hours[key, default: DeliveryStatistics(delegate: slot.delegate, start: start)].add(slot)
        }
        if !slots.isEmpty {
            try change(.delivery(.removePastStatistics), past)
            var checkpoint = Checkpoint()
            checkpoint.statistics = hours.sorted { $0.key < $1.key }.map(\.value)
            try write(checkpoint)
        }
        let volumes = try rows(.delivery(.pastVolumes), past) { try? Volume($0) }
        if !volumes.isEmpty {
            try change(.delivery(.removePastVolumes), past)
            try add(volumes.compactMap { $0?.ofHour })
        }
        let old = time - DeliveryStatistics.lifetimeOfHours
        let removed = try change(.delivery(.removeOldStatistics), [old, limit])
        let oldest = time + DeliveryStatistics.lifetime - Volume.lifetime
        let gone = try change(.delivery(.removeOldVolumes), [oldest, limit])
        return max(slots.count, volumes.count, removed, gone)
    }

    package func add(_ volumes: [Volume]) throws(StoreError) {
        for volume in volumes { try record(.delivery(.addVolume), volume.values) }
    }
}

/// Reads deliveries.
extension SharedReader {
    package func attempts(event: LogPosition, limit: Int) throws(StoreError) -> [StoredAttempt] {
        let found: [StoredAttempt] = try rows(.delivery(.attemptsOfEvent), [event, limit])
        return found.reversed()
    }

    package func waiting(event: LogPosition) throws(StoreError) -> [WaitingDelivery] {
        try rows(.delivery(.waitingOfEvent), [event])
    }

    package func replays(_ delegate: DelegateKey) throws(StoreError) -> [Replay] {
        try rows(.delivery(.replays), [delegate])
    }

    package func statistics(_ delegate: DelegateKey, since start: Int64) throws(StoreError) -> [DeliveryStatistics] {
        try rows(.delivery(.statistics), [delegate, start])
    }

    package func volumes(_ query: VolumeQuery) throws(StoreError) -> [Volume] {
        let slots: [any ColumnConvertible] = [query.slots.lowerBound, query.slots.upperBound]
        let (statement, more): (DeliveryStatement, [any ColumnConvertible]) =
            switch (query.app, query.type) {
            case (nil, _): (.volumesOfAll, [])
            case (let app?, nil): (.volumesOfApp, [app])
            case (let app?, let type?): (.volumesOfType, [app, type])
            }
        return try rows(.delivery(statement), slots + more)
    }

    package func volumesByType(
        _ app: AppKey, in slots: ClosedRange<Int64>, limit: Int
    ) throws(StoreError) -> [Volume] {
        try rows(.delivery(.volumesByType), [slots.lowerBound, slots.upperBound, app, limit])
    }

    package func waitingEvents(in range: ClosedRange<LogPosition>) throws(StoreError) -> [LogPosition] {
        try rows(.delivery(.waitingEvents), [range.lowerBound, range.upperBound]) {
            row throws(StoreError) in try row.natural(0, "position")
        }
    }

    package func rows(_ query: StoredRowsQuery) throws(StoreError) -> [WaitingDelivery] {
        let (statement, values): (SharedStatement, [any ColumnConvertible]) =
            switch query.part {
            case .due(let time, let event): (.delivery(.dueRows), [time, event])
            case .subject(let subject, let first): (.delivery(.rowsOfSubject), [first, subject])
            case .events(let range): (.delivery(.rowsOfEvents), [range.lowerBound, range.upperBound])
            }
        return try rows(statement, [query.delegate, query.limit] + values)
    }

    package func delivered(
        event: LogPosition, before delegate: DelegateKey, limit: Int
    ) throws(StoreError) -> [StoredAttempt] {
        try rows(.delivery(.deliveredOfEvent), [event, delegate, limit])
    }

    package func delivered(
        to delegate: DelegateKey, app: AppKey, in range: ClosedRange<LogPosition>, limit: Int
    ) throws(StoreError) -> [StoredAttempt] {
        try rows(.delivery(.deliveredTo), [delegate, app, range.lowerBound, range.upperBound, limit])
    }

    /// Runs one statement for each state.
    package func countDeliveries(_ query: DeliveryQuery) throws(StoreError) -> Int {
        var count = 0
        for state in query.states {
            let values: [any ColumnConvertible] = [state.rawValue, query.first, query.last, query.app]
            let statement: SharedStatement =
                query.delegate == nil ? .delivery(.countOfAll) : .delivery(.countOfDelegate)
            count += Int(try first(statement, values + query.delegateValues) { $0.figure(0) } ?? 0)
        }
        return count
    }
}

extension SharedReader {
    package func countDeliveries(
        app: AppKey, _ state: WaitingDelivery.State
    ) throws(StoreError) -> [DeliveryCount] {
        try rows(.delivery(.countsOfApp), [app, state.rawValue]) { row throws(StoreError) in
            DeliveryCount(
                delegate: try row.natural(0, "delegate"), deliveries: Int(row.figure(1)),
                newest: try row.natural(2, "position"))
        }
    }
}

/// Lists of deliveries with a row of their own, newest event first.
extension SharedStatements {
    /// - Returns: the deliveries of a search whose conditions bound it.
    func find(_ query: DeliveryQuery) throws(StoreError) -> DeliveryPage {
        guard let filter = query.filter else {
            let rows = try page(query)
            return DeliveryPage(rows: rows, rest: rows.count == query.limit ? rows.last?.key : nil)
        }
        var found = DeliveryPage()
        var part = query
        part.limit = min(query.work, rowsOfSearch)
        for _ in 0..<(query.work + part.limit - 1) / part.limit {
            let more = try examine(part, filter)
            found.rows += more.rows
            found.rest = more.rest
            if found.rows.count >= query.limit {
                found.rows.removeLast(found.rows.count - query.limit)
                found.rest = found.rows.last?.key
                break
            }
            guard let rest = more.rest else { break }
            part.before = rest
        }
        return found
    }

    /// Runs one statement for each state.
    private func page(_ query: DeliveryQuery) throws(StoreError) -> [WaitingDelivery] {
        let statement: SharedStatement = query.delegate == nil ? .delivery(.pageOfAll) : .delivery(.pageOfDelegate)
        var found: [WaitingDelivery] = []
        for state in query.states {
            found += try rows(statement, query.pageValues(state))
        }
        if query.states.count > 1 { found.sort { $0.key > $1.key } }
        return Array(found.prefix(query.limit))
    }

    /// The matching ones among the next rows of each state, at most `limit`.
    private func examine(_ query: DeliveryQuery, _ filter: DeliveryFilter) throws(StoreError) -> DeliveryPage {
        let statement: SharedStatement =
            query.delegate == nil ? .delivery(.searchOfAll) : .delivery(.searchOfDelegate)
        var found = DeliveryPage()
        for state in query.states {
            let part = try rows(statement, query.pageValues(state)) { row throws(StoreError) in
                (
                    delivery: try WaitingDelivery(row),
                    matches: filter.matches(
                        type: row.optionalText(8), subject: row.optionalText(7), last: try AttemptEnd(row, 9))
                )
            }
            found.rows += part.lazy.filter(\.matches).map(\.delivery)
            // The list is complete down to the last row that was read of a state with more of them.
            if part.count == query.limit, let last = part.last?.delivery.key {
                found.rest = max(found.rest ?? last, last)
            }
        }
        if let rest = found.rest { found.rows.removeAll { $0.key < rest } }
        found.rows.sort { $0.key > $1.key }
        return found
    }
}

/// The number of rows that one statement of a search reads.
private let rowsOfSearch = 500

extension DeliveryQuery {
    /// The first and the last event of its conditions.
    fileprivate var first: LogPosition { max(event ?? .min, events?.lowerBound ?? .min) }
    fileprivate var last: LogPosition { min(event ?? .max, events?.upperBound ?? .max) }

    /// The parameters of a page of one state.
    fileprivate func pageValues(_ state: WaitingDelivery.State) -> [any ColumnConvertible] {
        let end = min(before ?? DeliveryKey(delegate: .max, event: .max), DeliveryKey(delegate: .max, event: last))
        return [state.rawValue, first, end.event, end.delegate, app, limit] + delegateValues
    }

    fileprivate var delegateValues: [any ColumnConvertible] { if let delegate { [delegate] } else { [] } }
}
