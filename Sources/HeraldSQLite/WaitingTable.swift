import HeraldCore
import HeraldStore

/// Deliveries with a row of their own, for the writer: the table `waiting`.
struct WaitingTable {
    private let connection: Connection
    private let list: WaitingList
    private let set, drop, end, removeOfRange, oldest: Statement

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        self.connection = connection
        list = try WaitingList(connection)
        set = try prepare(
            """
            INSERT OR REPLACE INTO waiting (\(WaitingDelivery.columns))
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE \(delegateLives)
            """)
        drop = try prepare("UPDATE waiting SET state = ?3, due_at = ?4 WHERE delegate = ?1 AND event = ?2")
        end = try prepare("DELETE FROM waiting WHERE delegate = ?1 AND event = ?2")
        removeOfRange = try prepare(WaitingTable.removeOfRange)
        oldest = try prepare("SELECT min(event) FROM waiting WHERE event >= ?1")
    }

    /// Deletes at most ?3 rows of events ?1 to ?2.
    static let removeOfRange = """
        DELETE FROM waiting WHERE (delegate, event) IN
        (SELECT delegate, event FROM waiting WHERE event BETWEEN ?1 AND ?2 ORDER BY event LIMIT ?3)
        """

    func set(_ delivery: WaitingDelivery) throws(StoreError) {
        set.bind(1, delivery.delegate)
        set.bind(2, delivery.event)
        set.bind(3, Int64(delivery.attempts))
        set.bind(4, delivery.dueAt)
        set.bind(5, Int64(delivery.state.rawValue))
        set.bind(6, delivery.isNamed ? 2 : delivery.isReplay ? 1 : 0)
        set.bind(7, Int64(delivery.uncounted))
        try set.run()
    }

    func end(_ delivery: DeliveryKey) throws(StoreError) {
        end.bind(1, delivery.delegate)
        end.bind(2, delivery.event)
        try end.run()
    }

    func redeliver(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [WaitingDelivery] {
        let again = try list.page(query).map {
            WaitingDelivery(
                delegate: $0.delegate, event: $0.event, attempts: 0, dueAt: time, state: .retrying, isReplay: true,
                subject: $0.subject)
        }
        for delivery in again { try set(delivery) }
        return again
    }

    func drop(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [DeliveryKey] {
        let dropped = try list.page(query).map { DeliveryKey(delegate: $0.delegate, event: $0.event) }
        for delivery in dropped {
            drop.bind(1, delivery.delegate)
            drop.bind(2, delivery.event)
            drop.bind(3, Int64(WaitingDelivery.State.dropped.rawValue))
            drop.bind(4, time)
            try drop.run()
        }
        return dropped
    }

    /// Removes at most `limit` rows of the events in a range.
    /// - Returns: the last event up to which no rows are left.
    func remove(_ range: ClosedRange<LogPosition>, limit: Int) throws(StoreError) -> LogPosition {
        removeOfRange.bind(1, range.lowerBound)
        removeOfRange.bind(2, range.upperBound)
        removeOfRange.bind(3, Int64(limit))
        try removeOfRange.run()
        guard connection.changes == limit else { return range.upperBound }
        oldest.bind(1, range.lowerBound)
        let next = try oldest.row { row throws(StoreError) in try row.optionalNatural(0, "position") } ?? nil
        return min(range.upperBound, (next ?? .max) - 1)
    }

    /// Removes at most `limit` rows of an event.
    /// - Returns: the number of rows removed.
    func removeThose(of event: LogPosition, limit: Int) throws(StoreError) -> Int {
        removeOfRange.bind(1, event)
        removeOfRange.bind(2, event)
        removeOfRange.bind(3, Int64(limit))
        try removeOfRange.run()
        return connection.changes
    }
}

/// A loop may still report on delegate ?1 after it was deleted; this must not restore its rows.
let delegateLives = "EXISTS (SELECT 1 FROM delegates WHERE key = ?1 AND deleted_at IS NULL)"
