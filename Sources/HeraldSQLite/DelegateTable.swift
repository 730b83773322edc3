import HeraldCore
import HeraldStore

/// Webhooks, for the writer: the table `delegates`, and the removal of dependent rows.
struct DelegateTable {
    private let connection: Connection
    private let columnSealer: ColumnSealer
    private let set, wipe: Statement
    /// Delete the rows that refer to a delegate, one statement for each table.
    private let removals: [Statement]

    init(_ connection: Connection, _ columnSealer: ColumnSealer) throws(StoreError) {
        self.connection = connection
        self.columnSealer = columnSealer
        set = try Statement(
            connection, DelegateColumns.table.upsert(on: "key", "?") + " WHERE deleted_at IS NULL")
        wipe = try Statement(
            connection,
            """
            UPDATE delegates SET deleted_at = ?2, updated_at = ?2, \(DelegateColumns.table.wiping(noBytes: "x''"))
            WHERE key = ?1 AND deleted_at IS NULL
            """)
        var removals: [Statement] = []
        for table in ["lanes", "waiting", "replays", "statistics", "attempt_heads", "unannounced"] {
            removals.append(try Statement(connection, "DELETE FROM \(table) WHERE delegate = ?1"))
        }
        self.removals = removals
    }

    func set(_ delegate: WebhookDelegate) throws(StoreError) {
        try DelegateColumns.table.bind(delegate, to: set, columnSealer)
        try set.run()
        if connection.changes == 0 { throw .failed(reason: "delegate \(delegate.id) was deleted") }
    }

    func remove(_ key: DelegateKey, at time: Int64) throws(StoreError) {
        wipe.bind(1, key)
        wipe.bind(2, time)
        try wipe.run()
        for statement in removals {
            statement.bind(1, key)
            try statement.run()
        }
    }
}
