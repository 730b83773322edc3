import HeraldModel
import HeraldStore

/// The statements that read deliveries.
struct DeliveryQueries {
    let attemptsOfDelegate, restOfAttempts, failuresOfDelegate, attemptsOfDelivery: Statement
    let attemptsAfter, lastOfAttempts, settled, lanes, allReplays: Statement

    init(_ connection: Connection) throws(StoreError) {
        attemptsOfDelegate = try connection.prepare(AttemptList.ofDelegate)
        restOfAttempts = try connection.prepare(AttemptList.rest)
        failuresOfDelegate = try connection.prepare(AttemptList.failures)
        attemptsOfDelivery = try connection.prepare(AttemptList.ofDelivery)
        attemptsAfter = try connection.prepare(
            "SELECT \(StoredAttempt.columns) FROM attempts WHERE id > ?1 ORDER BY id LIMIT ?2")
        lastOfAttempts = try connection.prepare("SELECT ifnull(max(id), 0) FROM attempts")
        lanes = try connection.prepare("SELECT \(LanePosition.columns) FROM lanes ORDER BY delegate")
        settled = try connection.prepare("SELECT settled FROM progress")
        allReplays = try connection.prepare("SELECT \(Replay.columns) FROM replays ORDER BY id")
    }
}

extension Reader {
    func attempts(_ query: AttemptQuery) throws(StoreError) -> [StoredAttempt] {
        if query.event == nil, query.succeeded != false {
            for head in heads.candidates(of: query.delegate) {
                let found = try attempts(query, from: head)
                if !found.isEmpty { return found }
            }
            return []
        }
        return try attempts(query, from: query.event ?? 0)
    }

    /// - Parameter start: the event of the attempts, or the delegate's last attempt.
    private func attempts(_ query: AttemptQuery, from start: Int64) throws(StoreError) -> [StoredAttempt] {
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
            statement.bind(5, start)
        }
        return try statement.rows()
    }

    /// Failures have an index, and an event has few attempts: those searches look at what they find.
    func rest(of query: AttemptQuery) throws(StoreError) -> Int64? {
        if query.event != nil || query.succeeded == false { return nil }
        for head in heads.candidates(of: query.delegate) {
            connection.startClock()
            deliveries.restOfAttempts.bind(1, query.delegate)
            deliveries.restOfAttempts.bind(2, query.before ?? .max)
            deliveries.restOfAttempts.bind(5, head)
            if let rest = try deliveries.restOfAttempts.row({ $0.integer(0) }) { return rest }
        }
        return nil
    }

    func attempts(after id: Int64, limit: Int) throws(StoreError) -> [StoredAttempt] {
        connection.startClock()
        return try deliveries.attemptsAfter.bound(id, limit).rows()
    }

    func lastAttempt() throws(StoreError) -> Int64 {
        connection.startClock()
        return try deliveries.lastOfAttempts.row { row throws(StoreError) in try row.natural(0, "attempt") } ?? 0
    }

    /// In one snapshot: a lane that catches up in between must not be at an older common position.
    func progress() throws(StoreError) -> DeliveryProgress {
        connection.startClock()
        var progress = DeliveryProgress()
        try connection.snapshot { () throws(StoreError) in
            progress.settled = SettledPositions(
                try deliveries.settled.row { row throws(StoreError) in try row.natural(0, "position") } ?? 0)
            progress.lanes = try deliveries.lanes.rows { LanePosition.followed($0, damagedRows) }.compactMap { $0 }
            progress.replays = try deliveries.allReplays.rows { row throws(StoreError) in
                try Replay.followed(row, damagedRows)
            }.compactMap { $0 }
        }
        damagedRows.report()
        return progress
    }
}
