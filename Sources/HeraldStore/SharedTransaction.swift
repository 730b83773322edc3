package import HeraldCore

/// A connection that runs shared statements.
package protocol SharedStatements: AnyObject {
    associatedtype SharedRow: ResultRow

    func rows<Value>(
        _ statement: SharedStatement, _ values: [ColumnValue], _ make: (SharedRow) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value]
}

extension SharedStatements {
    package func first<Value>(
        _ statement: SharedStatement, _ values: [ColumnValue] = [], _ make: (SharedRow) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? { try rows(statement, values, make).first }

    /// The first column of the first row.
    func position(_ statement: SharedStatement, _ values: [ColumnValue] = []) throws(StoreError) -> LogPosition? {
        try first(statement, values) { row throws(StoreError) in try row.natural(0, "position") }
    }
}

/// The part of a transaction whose statements both databases share.
package protocol SharedTransaction: SharedStatements {
    var sealer: ColumnSealer { get }
    var head: LogPosition { get throws(StoreError) }

    /// Runs a statement.
    /// - Returns: the number of rows that it has changed.
    @discardableResult
    func change(_ statement: SharedStatement, _ values: [ColumnValue]) throws(StoreError) -> Int

    /// Runs a statement whose result is not needed: in its order, before the commit.
    func record(_ statement: SharedStatement, _ values: [ColumnValue]) throws(StoreError)

    func redeliver(_ deliveries: [WaitingDelivery]) throws(StoreError)

    /// Ends deliveries with a row of their own.
    func drop(_ deliveries: [DeliveryKey], at time: Int64) throws(StoreError)

    /// The attempts of a deleted delegate are not listed any more.
    func forgetAttempts(of delegate: DelegateKey)

    /// Retention has removed the events of a range.
    /// - Parameters:
    ///   - first: the first event before.
    ///   - kept: the first event now.
    func removed(_ range: ClosedRange<LogPosition>, first: LogPosition, kept: LogPosition) throws(StoreError)
}

/// Changes of the registry.
extension SharedTransaction {
    package func setDelegate(_ delegate: WebhookDelegate) throws(StoreError) {
        let changed = try change(.setDelegate, try DelegateColumns.table.values(of: delegate, sealer))
        if changed == 0 { throw .failed(reason: "delegate \(delegate.id) was deleted") }
    }

    package func removeDelegate(_ key: DelegateKey, at time: Int64) throws(StoreError) {
        try change(.wipeDelegate, [.integer(key), .integer(time), .blob([])])
        let removals: [SharedStatement] = [
            .removeLanes, .removeWaiting, .removeReplays, .removeStatistics, .removeHeads, .removeUnannounced,
        ]
        for removal in removals { try record(removal, [.integer(key)]) }
        forgetAttempts(of: key)
    }

    package func setEventType(_ type: EventTypeRecord) throws(StoreError) {
        try change(.setEventType, try EventTypeColumns.table.values(of: type))
    }

    package func removeEventType(_ type: String, app: AppKey) throws(StoreError) {
        try change(.removeEventType, [.integer(app.rawValue), .text(type)])
    }
}

/// Changes of access.
extension SharedTransaction {
    package func setKey(_ key: APIKey) throws(StoreError) { try change(.setKey, try KeyColumns.table.values(of: key)) }

    package func removeKey(_ id: String) throws(StoreError) { try change(.removeKey, [.text(id)]) }

    package func setSession(_ session: Session) throws(StoreError) {
        try change(.setSession, try SessionColumns.table.values(of: session))
    }

    package func removeSession(_ digest: [UInt8]) throws(StoreError) { try change(.removeSession, [.blob(digest)]) }

    package func setApp(_ app: App) throws(StoreError) { try change(.setApp, try AppColumns.table.values(of: app)) }

    package func removeApp(_ key: AppKey, at time: Int64) throws(StoreError) {
        try change(.markAppDeleted, [.integer(key.rawValue), .integer(time)])
        let removals: [SharedStatement] = [.removeStatuses, .removeAppStates, .removeAnswers]
        for removal in removals { try record(removal, [.integer(key.rawValue)]) }
    }

    package func addAudit(_ entry: AuditEntry) throws(StoreError) {
        try record(.addAudit, try AuditColumns.table.values(of: entry))
    }

    package func trimAudit() throws(StoreError) { try change(.trimAudit, []) }
}

/// Changes of deliveries.
extension SharedTransaction {
    package func redeliver(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [WaitingDelivery] {
        let again = try page(query).map {
            WaitingDelivery(
                delegate: $0.delegate, event: $0.event, attempts: 0, dueAt: time, state: .retrying, isReplay: true,
                subject: $0.subject)
        }
        if !again.isEmpty { try redeliver(again) }
        return again
    }

    package func drop(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [DeliveryKey] {
        let dropped = try page(query).map { DeliveryKey(delegate: $0.delegate, event: $0.event) }
        if !dropped.isEmpty { try drop(dropped, at: time) }
        return dropped
    }

    package func recipients(event: LogPosition) throws(StoreError) -> [DelegateKey] {
        try rows(.recipients, [.integer(event)]) { row throws(StoreError) in try row.natural(0, "delegate") }
    }

    package func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) throws(StoreError) -> Replay {
        let values: [ColumnValue] = [.integer(delegate), .integer(cursor), .integer(until), .integer(time)]
        let id = try first(.addReplay, values) { row throws(StoreError) in try row.natural(0, "replay") }
        guard let id else { throw .failed(reason: "delegate \(delegate) was deleted") }
        return Replay(id: id, delegate: delegate, cursor: cursor, until: until, createdAt: time)
    }

    package func removeReplay(_ id: Int64, of delegate: DelegateKey) throws(StoreError) -> Bool {
        try change(.removeReplay, [.integer(id), .integer(delegate)]) > 0
    }

    package func countReplays(_ delegate: DelegateKey) throws(StoreError) -> Int {
        Int(try first(.countReplays, [.integer(delegate)]) { $0.figure(0) } ?? 0)
    }

    package func removeStatistics(before time: Int64, limit: Int) throws(StoreError) -> Int {
        try change(.removeOldStatistics, [.integer(time), .integer(Int64(limit))])
    }
}

/// Changes of the log.
extension SharedTransaction {
    package func addMark(_ mark: LogMark) throws(StoreError) {
        try change(.addMark, [.integer(mark.sequence), .integer(mark.time)])
    }

    package func removeExpiredAnswers(now: Int64, limit: Int) throws(StoreError) {
        try change(.removeExpiredAnswers, [.integer(now), .integer(Int64(limit))])
    }

    package func count(_ removal: Removal) throws(StoreError) { try record(.addRemoval, removal.values) }

    package func removeEvents(
        _ range: ClosedRange<LogPosition>, limit: Int
    ) throws(StoreError) -> RemovedEvents {
        let first = try firstEvent()
        let last = try head
        let lower = max(range.lowerBound, first)
        var upper = min(range.upperBound, last - 1, lower - 1 + min(LogPosition(limit), last))
        if lower <= upper { upper = try removeWaiting(lower...upper, limit: limit) }
        guard lower <= upper else { return RemovedEvents(count: 0, through: range.lowerBound - 1, first: first) }
        let count = try change(.removeEvents, [.integer(lower), .integer(upper)])
        let kept = try firstEvent()
        try change(.removeMarks, [.integer(kept)])
        try removed(lower...upper, first: first, kept: kept)
        return RemovedEvents(count: count, through: upper, first: kept)
    }

    private func firstEvent() throws(StoreError) -> LogPosition { try position(.firstEvent) ?? 1 }

    /// Removes at most `limit` rows of the events in a range.
    /// - Returns: the last event up to which no rows are left.
    private func removeWaiting(_ range: ClosedRange<LogPosition>, limit: Int) throws(StoreError) -> LogPosition {
        let removed = try change(
            .removeWaitingOfRange,
            [.integer(range.lowerBound), .integer(range.upperBound), .integer(Int64(limit))])
        guard removed == limit else { return range.upperBound }
        let next = try first(.firstWaiting, [.integer(range.lowerBound)]) { row throws(StoreError) in
            try row.optionalNatural(0, "position")
        }
        return min(range.upperBound, ((next ?? nil) ?? .max) - 1)
    }
}

extension Removal {
    /// The parameters of `SharedStatement.addRemoval`.
    package var values: [ColumnValue] { [.text(part.rawValue), .text(cause.rawValue), .integer(Int64(count))] }
}
