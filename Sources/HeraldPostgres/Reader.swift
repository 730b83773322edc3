import HeraldCore
import HeraldRuntime
import HeraldStore

/// Reads what is committed and flushed, in a session of its own. One thread.
///
/// A session that was lost is opened again by the next call, once. Each call runs one statement, and so sees one snapshot of the
/// database, unless documented otherwise.
final class Reader: StoreReader {
    private let database: Database
    private let heads: AttemptHeads
    private let rounds: AttemptRounds
    private let sealer: ColumnSealer
    private let reading: EventReading
    /// Events after this are committed, but could still be lost: they are not visible yet.
    private let durable: DurableEnds
    private var session: PostgresSession?

    init(
        _ database: Database, _ heads: AttemptHeads, _ rounds: AttemptRounds, _ sealer: ColumnSealer,
        _ damaged: DamagedEvents, _ durable: DurableEnds
    ) {
        self.database = database
        self.heads = heads
        self.rounds = rounds
        self.sealer = sealer
        reading = EventReading(.combined, damaged)
        self.durable = durable
    }

    private func run(_ requests: [Request]) throws(StoreError) -> [Rows] {
        var isRepeated = false
        while true {
            if session?.isAlive != true { session = try database.open(.read) }
            guard let session else { throw .unavailable(reason: "there is no session") }
            do {
                return try session.run([requests], seconds: Database.readSeconds)
            } catch {
                if case .lost = error, !isRepeated {
                    isRepeated = true
                    continue
                }
                // It may be in a transaction, which has failed.
                if requests.count > 1 { self.session = nil }
                throw error.ofRead(database.label)
            }
        }
    }

    private func run(_ request: Request) throws(StoreError) -> Rows { try run([request]).first ?? Rows(nil) }

    private func run(_ statement: Statement, _ fill: (inout Parameters) -> Void) throws(StoreError) -> Rows {
        try run(Request(statement, fill))
    }

    /// Makes sure that what the session has just read can't vanish any more.
    private func settle(_ ends: StoreEnds) throws(StoreError) {
        guard let session else { throw .unavailable(reason: "there is no session") }
        do {
            try session.settle(ends, durable)
        } catch {
            throw error.ofRead(database.label)
        }
    }
}

/// Reads what others have changed.
extension Reader {
    func ends(isFresh: Bool) throws(StoreError) -> StoreEnds {
        if isFresh { try settle(try StoreEnds(try run(Request(StoreEnds.statement)).first)) }
        return durable.ends
    }

    func changes(after number: Int64, limit: Int) throws(StoreError) -> [ChangeSet] {
        let sets = try ChangeList.sets(try run(ChangeList.request(after: number, limit: limit)))
        if let last = sets.last { try settle(StoreEnds(event: 0, change: last.number)) }
        return sets
    }

    func rows(of changes: Set<Change>) throws(StoreError) -> ChangedRows {
        let found = try ChangeList.changed(changes, try run(ChangeList.requests(reading: changes)), sealer)
        // They may be newer than the changes.
        try settle(found.ends)
        return found.rows
    }

    func nodes() throws(StoreError) -> [NodeRecord] {
        try run(Request(NodeList.statement)).map { NodeRecord($0) }
    }

    func moves(since time: Int64) throws(StoreError) -> [ShardMove] {
        try run(Request(NodeList.moves) { $0.add(time) }).map { ShardMove($0) }
    }
}

/// Reads the log.
extension Reader {
    /// The server reads only the length of data that it does not send.
    private static let eventsAfter = Statement(
        """
        SELECT \(LoggedEvent.columns) FROM (
            SELECT *, \(bytesBefore("ASC")) FROM events WHERE sequence > $1 AND sequence <= $3 ORDER BY sequence LIMIT $2) e
        WHERE bytes_before <= $4 ORDER BY sequence
        """)

    /// The bytes of the data of the rows before each.
    private static func bytesBefore(_ order: String) -> String {
        """
        sum(octet_length(data)) OVER (ORDER BY sequence \(order) ROWS UNBOUNDED PRECEDING) - octet_length(data)
            AS bytes_before
        """
    }

    func events(after sequence: LogPosition, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch {
        let rows = try run(Self.eventsAfter) { parameters in
            parameters.add(sequence)
            parameters.add(limit)
            parameters.add(durable.position)
            parameters.add(maxBytes)
        }
        var index: Int32 = 0
        return try reading.batch(else: sequence + 1, maxBytes: maxBytes) { () throws(StoreError) -> Row? in
            defer { index += 1 }
            return rows[index]
        }
    }

    /// Scans from the newest event backwards until enough are found, which is slow for rare events in a long log.
    private static let eventsMatching = Statement(
        matching("app + 0 = $2"))
    /// Events that match within an app in the partial index: all apps but `default`.
    private static let eventsOfAppMatching = Statement(
        matching("app = $2 AND app <> 1"))

    private static func matching(_ isOfApp: String) -> String {
        """
        SELECT \(LoggedEvent.columns) FROM (
            SELECT *, \(bytesBefore("DESC")) FROM events WHERE \(isOfApp) AND sequence < $1 AND sequence > $9
                AND type BETWEEN $3 AND $4 AND time BETWEEN $5 AND $6 AND ($7::text IS NULL OR subject = $7)
                AND audience IS NULL ORDER BY sequence DESC LIMIT $8) e
        WHERE bytes_before < $10 ORDER BY sequence DESC
        """
    }

    func events(_ query: EventQuery) throws(StoreError) -> [LoggedEvent] {
        // "~" sorts after every character of a type.
        let (from, to) =
            switch query.type {
            case .any: ("", "~")
            case .prefix(let prefix): (prefix, prefix + "~")
            case .exact(let type): (type, type)
            }
        let rows = try run(query.app == .default ? Self.eventsMatching : Self.eventsOfAppMatching) { parameters in
            parameters.add(min(query.before ?? .max, durable.position + 1))
            parameters.add(query.app.rawValue)
            parameters.add(from)
            parameters.add(to)
            parameters.add(query.since ?? .min)
            parameters.add(query.until ?? .max)
            parameters.add(query.subject)
            parameters.add(query.limit)
            parameters.add(query.after)
            parameters.add(query.maxBytes)
        }
        var found: [LoggedEvent] = []
        var bytes = 0
        var index: Int32 = 0
        while bytes < query.maxBytes, let row = rows[index] {
            index += 1
            guard let logged = try reading.listed(row) else { continue }
            bytes += logged.event.body.count
            found.append(logged)
        }
        guard found.count < index, bytes < query.maxBytes, let last = try rows[index - 1]?.natural(0, "position") else {
            return found
        }
        // Damaged events were left out: continue with earlier events instead.
        var rest = query
        rest.before = last
        rest.limit = query.limit - found.count
        rest.maxBytes = query.maxBytes - bytes
        return found + (try events(rest))
    }

    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent? {
        let name = NameInApp(app: app, name: id)
        let rows = try run(LogQueries.request(LogQueries.events, [name]))
        guard let found = try LogQueries.events(rows, of: [name], reading)[name] ?? nil else { return nil }
        // Another process may have published it, and delivered it already.
        try settle(StoreEnds(event: found.sequence, change: 0))
        return found
    }

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus? {
        let name = NameInApp(app: app, name: userID)
        let rows = try run(LogQueries.request(LogQueries.statuses, [name]))
        return try LogQueries.statuses(rows, of: [name])[name] ?? nil
    }

    func appState(_ app: AppKey) throws(StoreError) -> AppState? {
        try LogQueries.states(try run(LogQueries.statesRequest([app])), of: [app])[app] ?? nil
    }

    func eventTypes(_ names: [String], app: AppKey) throws(StoreError) -> [EventTypeRecord] {
        if names.isEmpty { return [] }
        let asked = names.map { NameInApp(app: app, name: $0) }
        return try run(LogQueries.request(ChangeList.eventTypes, asked)).map { row throws(StoreError) in
            try EventTypeRecord(row)
        }
    }

    func firstEvent() throws(StoreError) -> LogPosition {
        try run(Request(RetentionQueries.first)).first?.natural(0, "position") ?? 1
    }

    func lastEvent() throws(StoreError) -> LogPosition { try ends(isFresh: true).event }

    func lastEvent(before time: Int64) throws(StoreError) -> LogPosition {
        try run(RetentionQueries.lastBefore) { $0.add(time) }.natural("position")
    }

    func sequence(since time: Int64) throws(StoreError) -> LogPosition { try places(at: time).early }

    func lastEvent(through time: Int64) throws(StoreError) -> LogPosition { try places(at: time + 1).late - 1 }

    /// The first event that may have been accepted at this time or later, and the first that is known to have been.
    private func places(at time: Int64) throws(StoreError) -> (early: LogPosition, late: LogPosition) {
        func mark(_ statement: Statement) throws(StoreError) -> LogMark? {
            try run(statement) { $0.add(time) }.first.map { row throws(StoreError) in try LogMark(row) }
        }
        let window = AcceptanceWindow(
            before: try mark(RetentionQueries.markBefore), later: try mark(RetentionQueries.markSince),
            first: try firstEvent(), head: durable.position, now: Clock.system.wall())
        if window.isEmpty { return (window.after + 1, window.end) }
        func find(_ statement: Statement, until end: LogPosition) throws(StoreError) -> LogPosition? {
            try run(statement) { parameters in
                for number in [window.after, end, time, window.low, window.high] { parameters.add(number) }
                parameters.add(window.ids.lowerBound)
                parameters.add(window.ids.upperBound)
                parameters.add(AcceptanceWindow.ids(at: time).first)
            }.first?.natural(0, "position")
        }
        let late = try find(RetentionQueries.acceptedSince, until: window.until) ?? window.end
        return (try find(RetentionQueries.known, until: late).map { $0 + 1 } ?? window.after + 1, late)
    }

    /// Runs one statement for each part of the log, so that none takes long.
    func sequences(
        about subject: String, app: AppKey, after sequence: LogPosition, limit: Int
    ) throws(StoreError) -> [LogPosition] {
        let head = durable.position
        var found: [LogPosition] = []
        var start = max(try firstEvent(), sequence + 1)
        while start <= head, found.count < limit {
            let end = min(head, start + RetentionQueries.partLength - 1)
            found += try run(RetentionQueries.about) { parameters in
                parameters.add(subject)
                parameters.add(app.rawValue)
                parameters.add(start)
                parameters.add(end)
                parameters.add(limit - found.count)
            }.map { row throws(StoreError) in try row.natural(0, "position") }
            start = end + 1
        }
        return found
    }

    /// Returns the sizes of the rows, by their content (`RetentionQueries.eventBytes`).
    func sizes() throws(StoreError) -> StorageSizes {
        let rows = try run([Request(RetentionQueries.eventBytes), Request(RetentionQueries.attempts)])
        var sizes = StorageSizes()
        if let attempts = rows[1].first {
            (sizes.firstAttempt, sizes.lastAttempt) = (
                try attempts.natural(0, "attempt"), try attempts.natural(1, "attempt")
            )
            sizes.attempts = attempts.figure(2)
        }
        sizes.used = StoredNumber.figure(rows[0].integer) + sizes.attempts
        return sizes
    }

    func eventSizes(
        after sequence: LogPosition, through end: LogPosition, limit: Int
    ) throws(StoreError) -> [EventSize] {
        try run(RetentionQueries.eventSizes) { parameters in
            parameters.add(sequence)
            parameters.add(min(end, durable.position))
            parameters.add(limit)
        }.map { row throws(StoreError) in EventSize(try row.natural(0, "position"), bytes: Int(row.figure(1))) }
    }

    func removals() throws(StoreError) -> [Removal] {
        try run(Request(RetentionQueries.removals)).map { Removal($0) }.compactMap { $0 }
    }
}

/// Reads the registry and the audit log.
extension Reader {
    private static let deletedDelegate = Statement(
        "SELECT id FROM delegates WHERE key = $1 AND deleted_at IS NOT NULL")
    private static let audit = Statement(
        "SELECT \(StoredAuditEntry.columns) FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2")

    func deletedDelegateID(_ key: DelegateKey) throws(StoreError) -> String? {
        try run(Self.deletedDelegate) { $0.add(key) }.first?.text(0)
    }

    func audit(before id: Int64, limit: Int) throws(StoreError) -> [StoredAuditEntry] {
        try run(Self.audit) { parameters in
            parameters.add(id)
            parameters.add(limit)
        }.map { row throws(StoreError) in try StoredAuditEntry(row) }
    }
}

/// Reads deliveries.
extension Reader {
    private static let attemptsOfEvent = Statement(
        "SELECT \(StoredAttempt.columns) FROM attempts WHERE event = $1 ORDER BY id")
    private static let attemptsAfter = Statement(
        "SELECT \(StoredAttempt.columns) FROM attempts WHERE id > $1 AND id < $3 ORDER BY id LIMIT $2")
    private static let attemptBefore = Statement("SELECT id FROM attempts WHERE id < $1 ORDER BY id DESC LIMIT 1")
    private static let attemptFrom = Statement("SELECT id FROM attempts WHERE id >= $1 ORDER BY id LIMIT 1")
    private static let waitingOfEvent = Statement(
        "SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting WHERE event = $1 ORDER BY delegate")
    private static let replays = Statement("SELECT \(Replay.columns) FROM replays WHERE delegate = $1 ORDER BY id")
    private static let statistics = Statement(
        "SELECT \(DeliveryStatistics.columns) FROM statistics WHERE delegate = $1 AND start >= $2 ORDER BY start")
    private static let waitingEvents = Statement(
        "SELECT DISTINCT event FROM waiting WHERE state = 1 AND event BETWEEN $1 AND $2 ORDER BY event")
    /// The positions of shards, the lanes, and the replays. Every server asks once a second.
    private static let progress = Statement(
        """
        SELECT shard, settled, 0, 0, 0, 0, 0::bigint FROM shards
        UNION ALL SELECT \(LanePosition.columns), 0, 0, 0, 1 FROM lanes
        UNION ALL SELECT \(Replay.columns), 2 FROM replays
        """)

    func attempts(_ query: AttemptQuery) throws(StoreError) -> [StoredAttempt] {
        try run(AttemptList.request(query, heads, durable)).map { row throws(StoreError) in try StoredAttempt(row) }
    }

    func rest(of query: AttemptQuery) throws(StoreError) -> Int64? {
        // Failures have an index, and an event has few attempts: those searches look at what they find.
        if query.event != nil || query.succeeded == false { return nil }
        return try run(AttemptList.restRequest(query, heads, durable)).first?.natural(0, "attempt")
    }

    func attempts(event: LogPosition) throws(StoreError) -> [StoredAttempt] {
        try run(Self.attemptsOfEvent) { $0.add(event) }.map { row throws(StoreError) in try StoredAttempt(row) }
    }

    func attempts(after id: Int64, limit: Int) throws(StoreError) -> [StoredAttempt] {
        var found: [StoredAttempt] = []
        var place = id
        while found.count < limit {
            let parts = rounds.followed(after: place)
            guard let ids = parts.first else { break }
            let rows = try run(Self.attemptsAfter) { parameters in
                parameters.add(max(place, ids.lowerBound - 1))
                parameters.add(limit - found.count)
                parameters.add(ids.upperBound)
            }
            found += try rows.map { row throws(StoreError) in try StoredAttempt(row) }
            // Retention may have left nothing in many rounds.
            guard parts.count > 1, let next = try run(Self.attemptFrom, { $0.add(ids.upperBound) }).first else { break }
            place = try next.natural(0, "attempt") - 1
        }
        return found
    }

    func lastAttempt() throws(StoreError) -> Int64 {
        if rounds.last > 0 { return rounds.last }
        let older = rounds.followed(after: 0).first?.upperBound ?? .max
        return try run(Self.attemptBefore) { $0.add(older) }.natural("attempt")
    }

    func waiting(event: LogPosition) throws(StoreError) -> [WaitingDelivery] {
        try run(Self.waitingOfEvent) { $0.add(event) }.map { row throws(StoreError) in try WaitingDelivery(row) }
    }

    func rows(_ query: StoredRowsQuery) throws(StoreError) -> [WaitingDelivery] {
        try run(WaitingList.request(query)).map { row throws(StoreError) in try WaitingDelivery(row) }
    }

    /// Runs one statement for each state.
    func deliveries(_ query: DeliveryQuery) throws(StoreError) -> [WaitingDelivery] {
        try WaitingList.page(query) { request throws(StoreError) in try run(request) }
    }

    /// Runs one statement for each state.
    func countDeliveries(_ query: DeliveryQuery) throws(StoreError) -> Int {
        try WaitingList.count(query) { request throws(StoreError) in try run(request) }
    }

    func replays(_ delegate: DelegateKey) throws(StoreError) -> [Replay] {
        try run(Self.replays) { $0.add(delegate) }.map { row throws(StoreError) in try Replay(row) }
    }

    func statistics(_ delegate: DelegateKey, since start: Int64) throws(StoreError) -> [DeliveryStatistics] {
        try run(Self.statistics) { parameters in
            parameters.add(delegate)
            parameters.add(start)
        }.map { row throws(StoreError) in try DeliveryStatistics(row) }
    }

    /// In one snapshot: a lane that catches up in between must not be at an older common position.
    func progress() throws(StoreError) -> DeliveryProgress {
        var progress = DeliveryProgress()
        for row in try run(Request(Self.progress)).map({ $0 }) {
            switch row.integer(6) {
            case 0: progress.settled.set(Shards(of: row.integer(0)), to: try row.natural(1, "position"))
            case 1: progress.lanes.append(try LanePosition(row))
            default: progress.replays.append(try Replay(row))
            }
        }
        progress.lanes.sort { $0.delegate < $1.delegate }
        progress.replays.sort { $0.id < $1.id }
        return progress
    }

    func waitingEvents(in range: ClosedRange<LogPosition>) throws(StoreError) -> [LogPosition] {
        try run(Self.waitingEvents) { parameters in
            parameters.add(range.lowerBound)
            parameters.add(range.upperBound)
        }.map { row throws(StoreError) in try row.natural(0, "position") }
    }
}
