package import HeraldCore
import HeraldRuntime

/// The part of a reader whose statements both databases share.
package protocol SharedReader: SharedStatements {
    /// The last event that is visible.
    func end() throws(StoreError) -> LogPosition
}

/// Reads the registry and the audit log.
extension SharedReader {
    package func deletedDelegateID(_ key: DelegateKey) throws(StoreError) -> String? {
        try first(.deletedDelegateID, [.integer(key)]) { $0.text(0) }
    }

    package func audit(before id: Int64, limit: Int) throws(StoreError) -> [StoredAuditEntry] {
        try rows(.audit, [.integer(id), .integer(Int64(limit))]) { row throws(StoreError) in try StoredAuditEntry(row) }
    }
}

/// Reads deliveries.
extension SharedReader {
    package func attempts(event: LogPosition) throws(StoreError) -> [StoredAttempt] {
        try rows(.attemptsOfEvent, [.integer(event)]) { row throws(StoreError) in try StoredAttempt(row) }
    }

    package func waiting(event: LogPosition) throws(StoreError) -> [WaitingDelivery] {
        try rows(.waitingOfEvent, [.integer(event)]) { row throws(StoreError) in try WaitingDelivery(row) }
    }

    package func replays(_ delegate: DelegateKey) throws(StoreError) -> [Replay] {
        try rows(.replays, [.integer(delegate)]) { row throws(StoreError) in try Replay(row) }
    }

    package func statistics(_ delegate: DelegateKey, since start: Int64) throws(StoreError) -> [DeliveryStatistics] {
        try rows(.statistics, [.integer(delegate), .integer(start)]) { row throws(StoreError) in
            try DeliveryStatistics(row)
        }
    }

    package func waitingEvents(in range: ClosedRange<LogPosition>) throws(StoreError) -> [LogPosition] {
        try rows(.waitingEvents, [.integer(range.lowerBound), .integer(range.upperBound)]) { row throws(StoreError) in
            try row.natural(0, "position")
        }
    }

    package func rows(_ query: StoredRowsQuery) throws(StoreError) -> [WaitingDelivery] {
        let (statement, values): (SharedStatement, [ColumnValue]) =
            switch query.part {
            case .due(let time, let event): (.dueRows, [.integer(time), .integer(event)])
            case .subject(let subject, let first): (.rowsOfSubject, [.integer(first), .text(subject)])
            case .events(let range): (.rowsOfEvents, [.integer(range.lowerBound), .integer(range.upperBound)])
            }
        return try rows(statement, [.integer(query.delegate), .integer(Int64(query.limit))] + values) {
            row throws(StoreError) in try WaitingDelivery(row)
        }
    }

    package func deliveries(_ query: DeliveryQuery) throws(StoreError) -> [WaitingDelivery] { try page(query) }

    /// Runs one statement for each state.
    package func countDeliveries(_ query: DeliveryQuery) throws(StoreError) -> Int {
        var count = 0
        for state in query.states {
            let values = query.values(state, through: .max) + query.delegateValues
            let statement: SharedStatement = query.delegate == nil ? .countOfAll : .countOfDelegate
            count += Int(try first(statement, values) { $0.figure(0) } ?? 0)
        }
        return count
    }
}

/// Lists of deliveries with a row of their own, newest event first.
extension SharedStatements {
    /// Runs one statement for each state.
    package func page(_ query: DeliveryQuery) throws(StoreError) -> [WaitingDelivery] {
        let before = query.before ?? DeliveryKey(delegate: .max, event: .max)
        let statement: SharedStatement = query.delegate == nil ? .pageOfAll : .pageOfDelegate
        let place: [ColumnValue] = [.integer(before.event), .integer(before.delegate), .integer(Int64(query.limit))]
        var found: [WaitingDelivery] = []
        for state in query.states {
            let values = query.values(state, through: before.event) + place + query.delegateValues
            found += try rows(statement, values) { row throws(StoreError) in try WaitingDelivery(row) }
        }
        if query.states.count > 1 { found.sort { ($0.event, $0.delegate) > ($1.event, $1.delegate) } }
        return Array(found.prefix(query.limit))
    }
}

extension DeliveryQuery {
    fileprivate func values(_ state: WaitingDelivery.State, through last: LogPosition) -> [ColumnValue] {
        [
            .integer(Int64(state.rawValue)), .integer(max(event ?? .min, events?.lowerBound ?? .min)),
            .integer(min(event ?? .max, events?.upperBound ?? .max, last)), .integer(app.rawValue),
        ]
    }

    fileprivate var delegateValues: [ColumnValue] { delegate.map { [.integer($0)] } ?? [] }
}

/// Reads the log.
extension SharedReader {
    package func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus? {
        try first(.authStatus, [.integer(app.rawValue), .text(userID)]) { row throws(StoreError) in
            try AuthStatus(row)
        }
    }

    package func appState(_ app: AppKey) throws(StoreError) -> AppState? {
        try first(.appState, [.integer(app.rawValue)]) { row throws(StoreError) in try AppState(row) }
    }

    package func firstEvent() throws(StoreError) -> LogPosition { try position(.firstEvent) ?? 1 }

    package func lastEvent(before time: Int64) throws(StoreError) -> LogPosition {
        try position(.lastBefore, [.integer(time)]) ?? 0
    }

    package func sequence(since time: Int64) throws(StoreError) -> LogPosition { try places(at: time).early }

    package func lastEvent(through time: Int64) throws(StoreError) -> LogPosition { try places(at: time + 1).late - 1 }

    /// The first event that may have been accepted at this time or later, and the first that is known to have been.
    private func places(at time: Int64) throws(StoreError) -> (early: LogPosition, late: LogPosition) {
        func mark(_ statement: SharedStatement) throws(StoreError) -> LogMark? {
            try first(statement, [.integer(time)]) { row throws(StoreError) in try LogMark(row) }
        }
        let window = AcceptanceWindow(
            before: try mark(.markBefore), later: try mark(.markSince), first: try firstEvent(), head: try end(),
            now: Clock.system.wall())
        if window.isEmpty { return (window.after + 1, window.end) }
        func values(until end: LogPosition) -> [ColumnValue] {
            [window.after, end, window.low, window.high].map { .integer($0) }
                + [.text(window.ids.lowerBound), .text(window.ids.upperBound)]
        }
        let since: [ColumnValue] = [.integer(time), .text(AcceptanceWindow.ids(at: time).first)]
        let late = try position(.acceptedSince, values(until: window.until) + since) ?? window.end
        return (try position(.lastKnown, values(until: late)).map { $0 + 1 } ?? window.after + 1, late)
    }

    /// Runs one statement for each part of the log, so that none takes long or holds a snapshot for long.
    package func sequences(
        about subject: String, app: AppKey, after sequence: LogPosition, limit: Int
    ) throws(StoreError) -> [LogPosition] {
        let head = try end()
        var found: [LogPosition] = []
        var start = max(try firstEvent(), sequence + 1)
        while start <= head, found.count < limit {
            let end = min(head, start + SharedStatement.partLength - 1)
            let values: [ColumnValue] = [
                .text(subject), .integer(app.rawValue), .integer(start), .integer(end),
                .integer(Int64(limit - found.count)),
            ]
            found += try rows(.about, values) { row throws(StoreError) in try row.natural(0, "position") }
            start = end + 1
        }
        return found
    }

    package func removals() throws(StoreError) -> [Removal] {
        try rows(.removals, []) { Removal($0) }.compactMap { $0 }
    }
}

extension SharedStatement {
    /// The number of events in a part of the log that `about` scans, which takes about ten milliseconds.
    fileprivate static var partLength: LogPosition { 50_000 }
}
