import HeraldModel

/// The settings of connections. Each value is read back; the database is refused if it differs.
enum Pragmas {
    static let writer = [
        ("journal_mode", "wal"),
        // FULL: COMMIT returns after the flush, so an accepted event is durable.
        ("synchronous", "2"),
        // Herald checkpoints by itself, to see the errors.
        ("wal_autocheckpoint", "0"),
        // 64 MiB: a longer log is truncated when it restarts.
        ("journal_size_limit", "67108864"),
        ("busy_timeout", String(Connection.busyMilliseconds)),
        ("foreign_keys", "1"),
        // Overwrites what is deleted or erased. (Debian builds SQLite this way, but Herald depends on it.)
        ("secure_delete", "1"),
        // The schema of a prepared file must not run code.
        ("trusted_schema", "0"),
        ("cell_size_check", "1"),
        // Without mmap: an I/O error in mapped memory would raise SIGBUS.
        ("mmap_size", "0"),
        ("temp_store", "2"),
    ]

    static let reader = [
        ("query_only", "1"),
        ("wal_autocheckpoint", "0"),
        ("busy_timeout", String(Connection.busyMilliseconds)),
        ("trusted_schema", "0"),
        ("cell_size_check", "1"),
        ("mmap_size", "0"),
        ("temp_store", "2"),
    ]

    /// - Parameter cache: the maximum size of the connection's pages in memory, in bytes.
    static func set(_ pragmas: [(String, String)], cache: Int, on connection: Connection) throws(StoreError) {
        for (name, value) in pragmas { try connection.set(name, value) }
        try connection.set("cache_size", String(-cache >> 10))
    }
}
