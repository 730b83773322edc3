import HeraldModel
import HeraldStore

/// The server's own secret: one row, created if it is missing.
extension SQLiteStore {
    static func secret(_ connection: Connection, _ columnSealer: ColumnSealer) throws(StoreError) -> ServerSecret? {
        guard let found = try Statement(connection, "SELECT secret FROM server").row({ $0.bytes(0) }) else {
            return nil
        }
        let bytes = try columnSealer.open(found, .secret)
        guard bytes.count == ServerSecret.byteCount else {
            throw .unreadable(reason: "the server's secret has the wrong length")
        }
        return ServerSecret(bytes: bytes)
    }

    /// Call it after the migration, and after sealing if the database is to be sealed.
    static func makeSecret(_ connection: Connection, _ columnSealer: ColumnSealer) throws(StoreError) {
        guard try secret(connection, columnSealer) == nil else { return }
        try Statement(connection, "INSERT INTO server (secret) VALUES (?1)")
            .run(1, lent: try columnSealer.seal(ServerSecret().bytes, .secret))
    }
}
