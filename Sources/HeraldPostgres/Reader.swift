import HeraldModel
import HeraldRuntime
import HeraldStore

/// Reads what is committed and flushed, in a session of its own. One thread.
///
/// A session that was lost is opened again by the next call, once. Each call runs one statement, and so sees one snapshot of the
/// database, unless documented otherwise.
final class Reader: StoreReader, SharedReader {
    private let database: Database
    let heads: AttemptHeads
    private let rounds: AttemptRounds
    private let sealer: ColumnSealer
    private let reading: EventReading
    private let damagedRows: DamagedRows
    /// Events after this are committed, but could still be lost: they are not visible yet.
    private let durable: DurableEnds
    private let clock: DatabaseClock
    private var session: PostgresSession?
    /// The events with which `ends` has confirmed a claim, for the call of `events` that follows it.
    private var confirmed: EventBatch?

    init(
        _ database: Database, _ heads: AttemptHeads, _ rounds: AttemptRounds, _ sealer: ColumnSealer,
        _ damaged: DamagedEvents, _ damagedRows: DamagedRows, _ durable: DurableEnds, _ clock: DatabaseClock
    ) {
        self.database = database
        self.heads = heads
        self.rounds = rounds
        self.sealer = sealer
        reading = EventReading(.combined, damaged)
        self.damagedRows = damagedRows
        self.durable = durable
        self.clock = clock
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
        confirmed = nil
        guard isFresh else {
            try confirm(durable.takeClaim())
            return durable.ends
        }
        let row = try run(Request(StoreEnds.withSubmissions)).first
        try settle(try StoreEnds(row))
        var ends = durable.ends
        ends.hasSubmissions = row?.flag(2) ?? false
        return ends
    }

    /// Believes what exists of a claim. Its events prove themselves as they are read, which saves a query of the ends.
    private func confirm(_ claim: StoreEnds) throws(StoreError) {
        let known = durable.ends
        if claim.event > known.event, claim.change <= known.change {
            let batch = try read(
                after: known.event, through: claim.event, limit: Self.confirmedEvents, maxBytes: Self.confirmedBytes)
            if batch.first == known.event + 1, !batch.events.isEmpty {
                confirmed = batch
                if batch.last == claim.event { return durable.raise(to: StoreEnds(event: claim.event, change: 0)) }
            }
        } else if claim.event <= known.event, claim.change <= known.change {
            return
        }
        let ends = try StoreEnds(try run(Request(StoreEnds.statement)).first)
        durable.raise(to: StoreEnds(event: min(claim.event, ends.event), change: min(claim.change, ends.change)))
    }

    /// The maximum of a batch that confirms a claim.
    private static let confirmedEvents = 256
    private static let confirmedBytes = 1 << 20

    func changes(after number: Int64, limit: Int) throws(StoreError) -> [ChangeSet] {
        // The changes may erase events, which are read again.
        confirmed = nil
        let sets = try ChangeList.sets(try run(ChangeList.request(after: number, limit: limit)))
        if let last = sets.last { try settle(StoreEnds(event: 0, change: last.number)) }
        return sets
    }

    func rows(of changes: Set<Change>) throws(StoreError) -> ChangedRows {
        let read = try run(ChangeList.requests(reading: changes))
        let found = try ChangeList.changed(changes, read, sealer, damagedRows)
        damagedRows.report()
        // They may be newer than the changes.
        try settle(found.ends)
        // Memory keeps the last attempts of no delegate that another process has deleted.
        let present = Set(found.rows.delegates.map(\.key))
        var deleted: [DelegateKey: Int64] = [:]
        for case .delegate(let key) in changes where !present.contains(key) { deleted[key] = 0 }
        if !deleted.isEmpty { heads.take(deleted) }
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
        let batch = confirmed
        confirmed = nil
        if let batch, batch.first == sequence + 1, batch.events.count <= limit, maxBytes >= Self.confirmedBytes {
            return batch
        }
        return try read(after: sequence, through: durable.position, limit: limit, maxBytes: maxBytes)
    }

    private func read(
        after sequence: LogPosition, through end: LogPosition, limit: Int, maxBytes: Int
    ) throws(StoreError) -> EventBatch {
        let rows = try run(Self.eventsAfter) { $0.add(sequence, limit, end, maxBytes) }
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
        let (from, to) = query.typeRange
        let before = min(query.before ?? .max, durable.position + 1)
        let rows = try run(query.app == .default ? Self.eventsMatching : Self.eventsOfAppMatching) { parameters in
            parameters.add(
                before, query.app, from, to, query.since ?? Int64.min, query.until ?? Int64.max, query.subject,
                query.limit, query.after, query.maxBytes)
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

    func eventTypes(_ names: [String], app: AppKey) throws(StoreError) -> [EventTypeRecord] {
        if names.isEmpty { return [] }
        let asked = names.map { NameInApp(app: app, name: $0) }
        return try run(LogQueries.request(ChangeList.eventTypes, asked)).values()
    }

    func lastEvent() throws(StoreError) -> LogPosition { try ends(isFresh: true).event }

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
        try run(RetentionQueries.eventSizes) { $0.add(sequence, min(end, durable.position), limit) }
            .map { row throws(StoreError) in EventSize(try row.natural(0, "position"), bytes: Int(row.figure(1))) }
    }
}

/// Reads events from SQL.
extension Reader {
    func submissions(after app: AppKey, limit: Int, maxBytes: Int) throws(StoreError) -> [Submission] {
        // A row that can't be read stays, and holds up no other one.
        let found = try run(SubmissionQueries.list) { $0.add(limit, maxBytes, app.rawValue) }
            .readable(in: "submissions", damagedRows) { row throws(StoreError) in
                try Submission(row, "event from SQL")
            }
        damagedRows.report()
        return found
    }
}

/// Runs shared statements.
extension Reader {
    func rows<Value>(
        _ statement: SharedStatement, _ values: [any ColumnConvertible], _ make: (Row) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] { try run(Request(statement, values)).map(make) }

    func end() -> LogPosition { durable.position }

    var wall: Int64 { clock.machine.wall() + clock.offset }
}

/// Reads deliveries.
extension Reader {
    private static let attemptsAfter = Statement(
        "SELECT \(StoredAttempt.columns) FROM attempts WHERE id > $1 AND id < $3 ORDER BY id LIMIT $2")
    private static let attemptBefore = Statement("SELECT id FROM attempts WHERE id < $1 ORDER BY id DESC LIMIT 1")
    private static let attemptFrom = Statement("SELECT id FROM attempts WHERE id >= $1 ORDER BY id LIMIT 1")
    /// The positions of shards, the lanes, and the replays. Every server asks once a second.
    private static let progress = Statement(
        """
        SELECT shard, settled, 0, 0, 0, 0, 0::bigint FROM shards
        UNION ALL SELECT \(LanePosition.columns), 0, 0, 0, 1 FROM lanes
        UNION ALL SELECT \(Replay.columns), 2 FROM replays
        """)

    func attempts(_ query: AttemptQuery) throws(StoreError) -> [StoredAttempt] {
        try run(AttemptList.request(query, heads, durable)).values()
    }

    func rest(of query: AttemptQuery) throws(StoreError) -> Int64? {
        // Failures have an index, and an event has few attempts: those searches look at what they find.
        if query.event != nil || query.succeeded == false { return nil }
        return try run(AttemptList.restRequest(query, heads, durable)).first?.natural(0, "attempt")
    }

    func attempts(after id: Int64, limit: Int) throws(StoreError) -> [StoredAttempt] {
        var found: [StoredAttempt] = []
        var place = id
        while found.count < limit {
            let parts = rounds.followed(after: place)
            guard let ids = parts.first else { break }
            let start = max(place, ids.lowerBound - 1)
            let rows = try run(Self.attemptsAfter) { $0.add(start, limit - found.count, ids.upperBound) }
            found += try rows.values()
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

    /// In one snapshot: a lane that catches up in between must not be at an older common position.
    func progress() throws(StoreError) -> DeliveryProgress {
        var progress = DeliveryProgress()
        for row in try run(Request(Self.progress)).all {
            switch row.integer(6) {
            case 0: progress.settled.set(Shards(of: row.integer(0)), to: try row.natural(1, "position"))
            case 1:
                if let lane = LanePosition.followed(row, damagedRows) { progress.lanes.append(lane) }
            default:
                if let replay = try Replay.followed(row, damagedRows) { progress.replays.append(replay) }
            }
        }
        damagedRows.report()
        progress.lanes.sort { $0.delegate < $1.delegate }
        progress.replays.sort { $0.id < $1.id }
        return progress
    }
}
