import HeraldCore
import HeraldStore

/// The statements that read deliveries.
struct DeliveryQueries {
    let attemptsOfDelegate, restOfAttempts, failuresOfDelegate, attemptsOfDelivery, attemptsOfEvent: Statement
    let attemptsAfter, lastOfAttempts, waitingOfEvent, statistics: Statement
    let settled, lanes, replays, allReplays, waitingEvents: Statement
    let waitingList: WaitingList
    let dueRows, rowsOfSubject, rowsOfEvents: Statement

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        attemptsOfDelegate = try prepare(AttemptList.ofDelegate)
        restOfAttempts = try prepare(AttemptList.rest)
        failuresOfDelegate = try prepare(AttemptList.failures)
        attemptsOfDelivery = try prepare(AttemptList.ofDelivery)
        attemptsOfEvent = try prepare("SELECT \(StoredAttempt.columns) FROM attempts WHERE event = ?1 ORDER BY id")
        attemptsAfter = try prepare(
            "SELECT \(StoredAttempt.columns) FROM attempts WHERE id > ?1 ORDER BY id LIMIT ?2")
        lastOfAttempts = try prepare("SELECT ifnull(max(id), 0) FROM attempts")
        waitingOfEvent = try prepare(
            "SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting WHERE event = ?1 ORDER BY delegate")
        waitingList = try WaitingList(connection)
        dueRows = try prepare(DeliveryQueries.dueRows)
        rowsOfSubject = try prepare(DeliveryQueries.rowsOfSubject)
        rowsOfEvents = try prepare(DeliveryQueries.rowsOfEvents)
        lanes = try prepare("SELECT \(LanePosition.columns) FROM lanes ORDER BY delegate")
        replays = try prepare("SELECT \(Replay.columns) FROM replays WHERE delegate = ?1 ORDER BY id")
        settled = try prepare("SELECT settled FROM progress")
        allReplays = try prepare("SELECT \(Replay.columns) FROM replays ORDER BY id")
        waitingEvents = try prepare(DeliveryQueries.waitingEvents)
        statistics = try prepare(
            "SELECT \(DeliveryStatistics.columns) FROM statistics WHERE delegate = ?1 AND start >= ?2 ORDER BY start")
    }

    /// Rows of delegate ?1, at most ?4.
    static let dueRows = """
        SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting INDEXED BY waiting_by_time
        WHERE delegate = ?1 AND state = 1 AND (due_at, event) > (?2, ?3) ORDER BY due_at, event LIMIT ?4
        """
    static let rowsOfSubject = """
        SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting INDEXED BY waiting_of_delegate
        WHERE delegate = ?1 AND state = 1 AND event >= ?2
        AND (SELECT subject FROM events WHERE sequence = waiting.event) = ?3 ORDER BY event LIMIT ?4
        """
    static let rowsOfEvents = """
        SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting INDEXED BY waiting_of_delegate
        WHERE delegate = ?1 AND state = 1 AND event BETWEEN ?2 AND ?3 ORDER BY event LIMIT ?4
        """

    static let waitingEvents = """
        SELECT DISTINCT event FROM waiting INDEXED BY waiting_by_state
        WHERE state = 1 AND event BETWEEN ?1 AND ?2 ORDER BY event
        """
}

extension Reader {
    func attempts(_ query: AttemptQuery) throws(StoreError) -> [StoredAttempt] {
        connection.startClock()
        let statement =
            switch (query.event, query.succeeded) {
            case (.some, _): deliveries.attemptsOfDelivery
            case (nil, false): deliveries.failuresOfDelegate
            case (nil, _): deliveries.attemptsOfDelegate
            }
        statement.bind(1, query.delegate)
        statement.bind(2, query.before ?? .max)
        // The statement of failures has no parameter 3; SQLite then ignores the bind, as for any unused number.
        statement.bind(3, query.succeeded.map { $0 ? 1 : 0 })
        statement.bind(4, Int64(query.limit))
        if statement !== deliveries.failuresOfDelegate {
            statement.bind(5, query.event ?? heads.last(of: query.delegate))
        }
        return try statement.rows { row throws(StoreError) in try StoredAttempt(row) }
    }

    /// Failures have an index, and an event has few attempts: those searches look at what they find.
    func rest(of query: AttemptQuery) throws(StoreError) -> Int64? {
        if query.event != nil || query.succeeded == false { return nil }
        connection.startClock()
        deliveries.restOfAttempts.bind(1, query.delegate)
        deliveries.restOfAttempts.bind(2, query.before ?? .max)
        deliveries.restOfAttempts.bind(5, heads.last(of: query.delegate))
        return try deliveries.restOfAttempts.row { $0.integer(0) }
    }

    func attempts(event: LogPosition) throws(StoreError) -> [StoredAttempt] {
        connection.startClock()
        deliveries.attemptsOfEvent.bind(1, event)
        return try deliveries.attemptsOfEvent.rows { row throws(StoreError) in try StoredAttempt(row) }
    }

    func attempts(after id: Int64, limit: Int) throws(StoreError) -> [StoredAttempt] {
        connection.startClock()
        deliveries.attemptsAfter.bind(1, id)
        deliveries.attemptsAfter.bind(2, Int64(limit))
        return try deliveries.attemptsAfter.rows { row throws(StoreError) in try StoredAttempt(row) }
    }

    func lastAttempt() throws(StoreError) -> Int64 {
        connection.startClock()
        return try deliveries.lastOfAttempts.row { row throws(StoreError) in try row.natural(0, "attempt") } ?? 0
    }

    func waiting(event: LogPosition) throws(StoreError) -> [WaitingDelivery] {
        connection.startClock()
        deliveries.waitingOfEvent.bind(1, event)
        return try deliveries.waitingOfEvent.rows { row throws(StoreError) in try WaitingDelivery(row) }
    }

    func rows(_ query: StoredRowsQuery) throws(StoreError) -> [WaitingDelivery] {
        connection.startClock()
        let statement: Statement
        switch query.part {
        case .due(let time, let event):
            statement = deliveries.dueRows
            statement.bind(2, time)
            statement.bind(3, event)
        case .subject(let subject, let first):
            statement = deliveries.rowsOfSubject
            statement.bind(2, first)
            statement.bind(3, subject)
        case .events(let range):
            statement = deliveries.rowsOfEvents
            statement.bind(2, range.lowerBound)
            statement.bind(3, range.upperBound)
        }
        statement.bind(1, query.delegate)
        statement.bind(4, Int64(query.limit))
        return try statement.rows { row throws(StoreError) in try WaitingDelivery(row) }
    }

    /// Runs one statement for each state.
    func deliveries(_ query: DeliveryQuery) throws(StoreError) -> [WaitingDelivery] {
        connection.startClock()
        return try deliveries.waitingList.page(query)
    }

    /// Runs one statement for each state.
    func countDeliveries(_ query: DeliveryQuery) throws(StoreError) -> Int {
        connection.startClock()
        return try deliveries.waitingList.count(query)
    }

    func replays(_ delegate: DelegateKey) throws(StoreError) -> [Replay] {
        connection.startClock()
        deliveries.replays.bind(1, delegate)
        return try deliveries.replays.rows { row throws(StoreError) in try Replay(row) }
    }

    func statistics(_ delegate: DelegateKey, since start: Int64) throws(StoreError) -> [DeliveryStatistics] {
        connection.startClock()
        deliveries.statistics.bind(1, delegate)
        deliveries.statistics.bind(2, start)
        return try deliveries.statistics.rows { row throws(StoreError) in try DeliveryStatistics(row) }
    }

    /// In one snapshot: a lane that catches up in between must not be at an older common position.
    func progress() throws(StoreError) -> DeliveryProgress {
        connection.startClock()
        var progress = DeliveryProgress()
        try connection.snapshot { () throws(StoreError) in
            progress.settled = SettledPositions(
                try deliveries.settled.row { row throws(StoreError) in try row.natural(0, "position") } ?? 0)
            progress.lanes = try deliveries.lanes.rows { row throws(StoreError) in try LanePosition(row) }
            progress.replays = try deliveries.allReplays.rows { row throws(StoreError) in try Replay(row) }
        }
        return progress
    }

    func waitingEvents(in range: ClosedRange<LogPosition>) throws(StoreError) -> [LogPosition] {
        connection.startClock()
        deliveries.waitingEvents.bind(1, range.lowerBound)
        deliveries.waitingEvents.bind(2, range.upperBound)
        return try deliveries.waitingEvents.rows { $0.integer(0) }
    }
}
