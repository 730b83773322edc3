import HeraldModel
import HeraldStore

/// The server's own secret: one row, created if it is missing.
extension SQLiteStore {
    static func secret(_ connection: Connection, _ columnSealer: ColumnSealer) throws(StoreError) -> ServerSecret? {
        try Statement(connection, "SELECT secret FROM server").row { row throws(StoreError) in
            try columnSealer.secret(row.bytes(0))
        }
    }

    /// Call it after the migration, and after sealing if the database is to be sealed.
    static func makeSecret(_ connection: Connection, _ columnSealer: ColumnSealer) throws(StoreError) {
        guard try secret(connection, columnSealer) == nil else { return }
        try Statement(connection, "INSERT INTO server (secret) VALUES (?1)")
            .run(1, lent: try columnSealer.seal(ServerSecret().bytes, .secret))
    }
}
