import HeraldCore

/// A read-only connection with its statements. One thread.
///
/// Every call is one statement (or says otherwise), so it sees one moment of the database; it ends after
/// `Connection.readSeconds` at the latest, and then lets go of its snapshot, since a reader that stays holds back the
/// checkpoints.
final class Reader: StoreReader {
    let connection: Connection
    private let heads: AttemptHeads
    private let eventsAfter, eventsMatching, eventsOfAppMatching, eventByID: Statement
    private let authStatus: Statement
    private let attemptsOfDelegate, failuresOfDelegate, attemptsOfDelivery, attemptsOfEvent: Statement
    private let attemptsAfter, lastOfAttempts: Statement
    private let waitingOfEvent, lanes, deletedDelegate, replays, statistics, audit: Statement
    private let waitingList: WaitingList
    let retention: RetentionQueries

    init(path: String, _ heads: AttemptHeads) throws(StoreError) {
        let connection = try Connection(path: path, .readOnly)
        try Pragmas.set(Pragmas.reader, on: connection)
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        self.connection = connection
        self.heads = heads
        eventsAfter = try prepare(
            "SELECT \(LoggedEvent.columns) FROM events WHERE sequence > ?1 ORDER BY sequence LIMIT ?2")
        eventsMatching = try prepare(Reader.eventsMatching)
        eventsOfAppMatching = try prepare(Reader.eventsOfAppMatching)
        eventByID = try prepare("SELECT \(LoggedEvent.columns) FROM events WHERE app = ?1 AND id = ?2")
        authStatus = try prepare("SELECT \(AuthStatus.columns) FROM auth_status WHERE app = ?1 AND user_id = ?2")
        attemptsOfDelegate = try prepare(AttemptList.ofDelegate)
        failuresOfDelegate = try prepare(AttemptList.failures)
        attemptsOfDelivery = try prepare(AttemptList.ofDelivery)
        attemptsOfEvent = try prepare("SELECT \(StoredAttempt.columns) FROM attempts WHERE event = ?1 ORDER BY id")
        attemptsAfter = try prepare(
            "SELECT \(StoredAttempt.columns) FROM attempts WHERE id > ?1 ORDER BY id LIMIT ?2")
        lastOfAttempts = try prepare("SELECT ifnull(max(id), 0) FROM attempts")
        waitingOfEvent = try prepare(
            "SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting WHERE event = ?1 ORDER BY delegate")
        waitingList = try WaitingList(connection)
        lanes = try prepare("SELECT \(LanePosition.columns) FROM lanes ORDER BY delegate")
        deletedDelegate = try prepare("SELECT id FROM delegates WHERE key = ?1 AND deleted_at IS NOT NULL")
        replays = try prepare("SELECT \(Replay.columns) FROM replays WHERE delegate = ?1 ORDER BY id")
        statistics = try prepare(
            "SELECT \(DeliveryStatistics.columns) FROM statistics WHERE delegate = ?1 AND start >= ?2 ORDER BY start")
        audit = try prepare(Reader.audit)
        retention = try RetentionQueries(connection)
    }

    // MARK: The log

    /// From the newest back until enough are found: what is rare in a long log takes a scan of it. (The plus keeps SQLite
    /// from sorting all events of the app.)
    static let eventsMatching = "SELECT \(LoggedEvent.columns) FROM events WHERE +app = ?2 AND \(isMeant)"
    /// The same within the events of an app that has its part of an index: each but `default`.
    static let eventsOfAppMatching = """
        SELECT \(LoggedEvent.columns) FROM events INDEXED BY events_of_apps WHERE app = ?2 AND app <> 1 AND \(isMeant)
        """

    private static let isMeant = """
        sequence < ?1 AND sequence > ?9 AND type BETWEEN ?3 AND ?4 AND time BETWEEN ?5 AND ?6
        AND (?7 IS NULL OR subject = ?7) AND audience IS NULL ORDER BY sequence DESC LIMIT ?8
        """

    func events(after sequence: LogPosition, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch {
        connection.startClock()
        eventsAfter.bind(1, sequence)
        eventsAfter.bind(2, Int64(limit))
        return try eventsAfter.batch(else: sequence + 1, maxBytes: maxBytes)
    }

    func events(_ query: EventQuery) throws(StoreError) -> [LoggedEvent] {
        connection.startClock()
        // "~" sorts after every character of a type.
        let (from, to) =
            switch query.type {
            case .any: ("", "~")
            case .prefix(let prefix): (prefix, prefix + "~")
            case .exact(let type): (type, type)
            }
        let statement = query.app == .default ? eventsMatching : eventsOfAppMatching
        statement.bind(1, query.before ?? .max)
        statement.bind(2, query.app.rawValue)
        statement.bind(3, from)
        statement.bind(4, to)
        statement.bind(5, query.since ?? .min)
        statement.bind(6, query.until ?? .max)
        statement.bind(7, query.subject)
        statement.bind(8, Int64(query.limit))
        statement.bind(9, query.after)
        return try statement.rows { row throws(StoreError) in try LoggedEvent(row) }
    }

    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent? {
        connection.startClock()
        eventByID.bind(1, app.rawValue)
        eventByID.bind(2, id)
        return try eventByID.row { row throws(StoreError) in try LoggedEvent(row) }
    }

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus? {
        connection.startClock()
        authStatus.bind(1, app.rawValue)
        authStatus.bind(2, userID)
        return try authStatus.row { AuthStatus($0) }
    }

    static let audit = "SELECT \(StoredAuditEntry.columns) FROM audit WHERE id < ?1 ORDER BY id DESC LIMIT ?2"

    func audit(before id: Int64, limit: Int) throws(StoreError) -> [StoredAuditEntry] {
        connection.startClock()
        audit.bind(1, id)
        audit.bind(2, Int64(limit))
        return try audit.rows { StoredAuditEntry($0) }
    }

    // MARK: Deliveries

    func attempts(_ query: AttemptQuery) throws(StoreError) -> [StoredAttempt] {
        connection.startClock()
        let statement =
            switch (query.event, query.succeeded) {
            case (.some, _): attemptsOfDelivery
            case (nil, false): failuresOfDelegate
            case (nil, _): attemptsOfDelegate
            }
        statement.bind(1, query.delegate)
        statement.bind(2, query.before ?? .max)
        // The statement of failures has no such parameter, and ignores it like any number that it skips.
        statement.bind(3, query.succeeded.map { $0 ? 1 : 0 })
        statement.bind(4, Int64(query.limit))
        if statement !== failuresOfDelegate { statement.bind(5, query.event ?? heads.last(of: query.delegate)) }
        return try statement.rows { row throws(StoreError) in try StoredAttempt(row) }
    }

    func attempts(event: LogPosition) throws(StoreError) -> [StoredAttempt] {
        connection.startClock()
        attemptsOfEvent.bind(1, event)
        return try attemptsOfEvent.rows { row throws(StoreError) in try StoredAttempt(row) }
    }

    func attempts(after id: Int64, limit: Int) throws(StoreError) -> [StoredAttempt] {
        connection.startClock()
        attemptsAfter.bind(1, id)
        attemptsAfter.bind(2, Int64(limit))
        return try attemptsAfter.rows { row throws(StoreError) in try StoredAttempt(row) }
    }

    func lastAttempt() throws(StoreError) -> Int64 {
        connection.startClock()
        return try lastOfAttempts.row { $0.integer(0) } ?? 0
    }

    func waiting(event: LogPosition) throws(StoreError) -> [WaitingDelivery] {
        connection.startClock()
        waitingOfEvent.bind(1, event)
        return try waitingOfEvent.rows { row throws(StoreError) in try WaitingDelivery(row) }
    }

    /// One statement for each state.
    func deliveries(_ query: DeliveryQuery) throws(StoreError) -> [WaitingDelivery] {
        connection.startClock()
        return try waitingList.page(query)
    }

    /// One statement for each state.
    func countDeliveries(_ query: DeliveryQuery) throws(StoreError) -> Int {
        connection.startClock()
        return try waitingList.count(query)
    }

    func replays(_ delegate: DelegateKey) throws(StoreError) -> [Replay] {
        connection.startClock()
        replays.bind(1, delegate)
        return try replays.rows { Replay($0) }
    }

    func statistics(_ delegate: DelegateKey, since start: Int64) throws(StoreError) -> [DeliveryStatistics] {
        connection.startClock()
        statistics.bind(1, delegate)
        statistics.bind(2, start)
        return try statistics.rows { row throws(StoreError) in try DeliveryStatistics(row) }
    }

    func lanePositions() throws(StoreError) -> [LanePosition] {
        connection.startClock()
        return try lanes.rows { LanePosition($0) }
    }

    func deletedDelegateID(_ key: DelegateKey) throws(StoreError) -> String? {
        connection.startClock()
        deletedDelegate.bind(1, key)
        return try deletedDelegate.row { $0.text(0) }
    }
}

extension Statement {
    /// The events that it finds, ascending, until their data exceeds `maxBytes`.
    /// - Parameter first: where the batch is said to begin when there is none.
    func batch(else first: LogPosition, maxBytes: Int) throws(StoreError) -> EventBatch {
        defer { reset() }
        var first = first
        var events: [Event] = []
        var bytes = 0
        while bytes <= maxBytes, try step() {
            let logged = try LoggedEvent(self)
            if events.isEmpty { first = logged.sequence }
            events.append(logged.event)
            bytes += logged.event.data.count
        }
        return EventBatch(first: first, events: events)
    }
}
