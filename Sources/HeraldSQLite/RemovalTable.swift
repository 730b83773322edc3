import HeraldCore
import HeraldStore

/// The counts of removals by retention, for the writer: the tables `removals` and `unannounced`.
struct RemovalTable {
    private let add, setUnannounced, removeUnannounced: Statement

    init(_ connection: Connection) throws(StoreError) {
        add = try Statement(
            connection,
            """
            INSERT INTO removals (\(Removal.columns)) VALUES (?1, ?2, ?3)
            ON CONFLICT (part, cause) DO UPDATE SET count = count + excluded.count
            """)
        setUnannounced = try Statement(
            connection, "INSERT OR REPLACE INTO unannounced (delegate, count) SELECT ?1, ?2 WHERE \(delegateLives)")
        removeUnannounced = try Statement(connection, "DELETE FROM unannounced WHERE delegate = ?1")
    }

    func add(_ removal: Removal) throws(StoreError) {
        add.bind(1, removal.part.rawValue)
        add.bind(2, removal.cause.rawValue)
        add.bind(3, Int64(removal.count))
        try add.run()
    }

    func setUnannounced(_ count: Int, of delegate: DelegateKey) throws(StoreError) {
        let statement = count > 0 ? setUnannounced : removeUnannounced
        statement.bind(1, delegate)
        if count > 0 { statement.bind(2, Int64(count)) }
        try statement.run()
    }

    static func unannounced(_ connection: Connection) throws(StoreError) -> [DelegateKey: Int] {
        let rows = try Statement(connection, "SELECT delegate, count FROM unannounced").rows {
            row throws(StoreError) in (try row.natural(0, "delegate"), Int(row.figure(1)))
        }
        return Dictionary(rows) { $1 }
    }
}
