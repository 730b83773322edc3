import HeraldModel
import HeraldStore

/// A read-only connection with its statements. One thread.
///
/// Unless documented otherwise, each call runs one statement, and so sees one snapshot of the database. It ends after
/// `Connection.readSeconds` at the latest and releases its snapshot, since open snapshots hold back checkpoints.
final class Reader: StoreReader {
    let connection: Connection
    let heads: AttemptHeads
    private let reading: EventReading
    let damagedRows: DamagedRows
    private let eventsAfter, eventsMatching, eventsOfAppMatching, eventByID: Statement
    private let eventType: Statement
    let shared: PreparedStatements
    let deliveries: DeliveryQueries
    let retention: RetentionQueries

    init(
        path: String, _ heads: AttemptHeads, _ damaged: DamagedEvents, _ damagedRows: DamagedRows, cache: Int
    ) throws(StoreError) {
        let connection = try Connection(path: path, .readOnly)
        connection.tellsFailedReads = true
        try Pragmas.set(Pragmas.reader, cache: cache, on: connection)
        self.connection = connection
        self.heads = heads
        reading = EventReading(.hashed, damaged)
        self.damagedRows = damagedRows
        eventsAfter = try connection.prepare(
            "SELECT \(LoggedEvent.columns) FROM events WHERE sequence > ?1 ORDER BY sequence LIMIT ?2")
        eventsMatching = try connection.prepare(Reader.eventsMatching)
        eventsOfAppMatching = try connection.prepare(Reader.eventsOfAppMatching)
        eventByID = try connection.prepare("SELECT \(LoggedEvent.columns) FROM events WHERE app = ?1 AND id = ?2")
        eventType = try connection.prepare(
            "SELECT \(EventTypeRecord.columns) FROM event_types WHERE app = ?1 AND type = ?2")
        shared = PreparedStatements(connection)
        deliveries = try DeliveryQueries(connection)
        retention = try RetentionQueries(connection)
    }

    // MARK: The log

    /// Scans from the newest event backwards until enough are found, which is slow for rare events in a long log. (The
    /// unary plus keeps SQLite from sorting all events of the app.)
    static let eventsMatching = "SELECT \(LoggedEvent.columns) FROM events WHERE +app = ?2 AND \(isMeant)"
    /// Events that match within an app in the partial index: all apps but `default`.
    static let eventsOfAppMatching = """
        SELECT \(LoggedEvent.columns) FROM events INDEXED BY events_of_apps WHERE app = ?2 AND app <> 1 AND \(isMeant)
        """

    private static let isMeant = """
        sequence < ?1 AND sequence > ?9 AND type BETWEEN ?3 AND ?4 AND time BETWEEN ?5 AND ?6
        AND (?7 IS NULL OR subject = ?7) AND audience IS NULL ORDER BY sequence DESC LIMIT ?8
        """

    func events(after sequence: LogPosition, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch {
        connection.startClock()
        return try reading.batch(eventsAfter.bound(sequence, limit), else: sequence + 1, maxBytes: maxBytes)
    }

    func events(_ query: EventQuery) throws(StoreError) -> [LoggedEvent] {
        connection.startClock()
        let (from, to) = query.typeRange
        let matching = query.app == .default ? eventsMatching : eventsOfAppMatching
        let statement = matching.bound(
            query.before ?? Int64.max, query.app, from, to, query.since ?? Int64.min, query.until ?? Int64.max,
            query.subject, query.limit, query.after)
        var bytes = 0
        let hasRoom = { bytes < query.maxBytes }
        let rows = try statement.rows(while: hasRoom) { row throws(StoreError) in
            let logged = try reading.listed(row)
            bytes += logged?.event.body.count ?? 0
            return (try row.natural(0, "position"), logged)
        }
        let found = rows.compactMap { $0.1 }
        guard found.count < rows.count, bytes < query.maxBytes, let last = rows.last?.0 else { return found }
        // Damaged events were left out: continue with earlier events instead.
        var rest = query
        rest.before = last
        rest.limit = query.limit - found.count
        rest.maxBytes = query.maxBytes - bytes
        return found + (try events(rest))
    }

    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent? {
        connection.startClock()
        eventByID.bind(1, app.rawValue)
        eventByID.bind(2, id)
        return try eventByID.row { row throws(StoreError) in try reading.event(row, app: app, id: id) }
    }

    /// One statement for each.
    func eventTypes(_ names: [String], app: AppKey) throws(StoreError) -> [EventTypeRecord] {
        connection.startClock()
        var found: [EventTypeRecord] = []
        for name in names {
            let one = eventType.bound(app, name)
            if let type: EventTypeRecord = try one.row() { found.append(type) }
        }
        return found
    }
}
