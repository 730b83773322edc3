import HeraldModel
import HeraldStore

/// The events that a delegate has missed and is not notified of yet, for the writer: the table `unannounced`.
struct UnannouncedTable {
    private let insert, remove: Statement

    init(_ connection: Connection) throws(StoreError) {
        insert = try Statement(
            connection, "INSERT OR REPLACE INTO unannounced (delegate, count) SELECT ?1, ?2 WHERE \(delegateLives)")
        remove = try Statement(connection, "DELETE FROM unannounced WHERE delegate = ?1")
    }

    func set(_ count: Int, of delegate: DelegateKey) throws(StoreError) {
        try (count > 0 ? insert.bound(delegate, count) : remove.bound(delegate)).run()
    }

    static func all(_ connection: Connection, _ damaged: DamagedRows) throws(StoreError) -> [DelegateKey: Int] {
        let rows = try Statement(connection, "SELECT delegate, count FROM unannounced")
            .readableRows(in: "unannounced", damaged) { row throws(StoreError) in
                (try row.natural(0, "delegate"), Int(row.figure(1)))
            }
        return Dictionary(rows) { $1 }
    }
}
