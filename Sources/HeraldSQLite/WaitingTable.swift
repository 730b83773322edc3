import HeraldModel
import HeraldStore

/// Deliveries with a row of their own, for the writer: the table `waiting`.
struct WaitingTable {
    let drop, end: Statement
    private let set: Statement

    init(_ connection: Connection) throws(StoreError) {
        set = try connection.prepare(
            """
            INSERT OR REPLACE INTO waiting (\(WaitingDelivery.columns))
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE \(delegateLives)
            """)
        drop = try connection.prepare("UPDATE waiting SET state = ?3, due_at = ?4 WHERE delegate = ?1 AND event = ?2")
        end = try connection.prepare("DELETE FROM waiting WHERE delegate = ?1 AND event = ?2")
    }

    func set(_ delivery: WaitingDelivery) throws(StoreError) {
        set.bind(1, delivery.delegate)
        set.bind(2, delivery.event)
        set.bind(3, Int64(delivery.attempts))
        set.bind(4, delivery.dueAt)
        set.bind(5, Int64(delivery.state.rawValue))
        set.bind(6, delivery.form)
        set.bind(7, Int64(delivery.uncounted))
        try set.run()
    }
}

/// A loop may still report on delegate ?1 after it was deleted; this must not restore its rows.
let delegateLives = "EXISTS (SELECT 1 FROM delegates WHERE key = ?1 AND deleted_at IS NULL)"
