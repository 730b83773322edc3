import HeraldCore

/// How connections are set up. Every value is read back, and a difference refuses the database.
enum Pragmas {
    static let writer = [
        ("journal_mode", "wal"),
        // FULL: COMMIT returns after the flush. It is what "accepted" means.
        ("synchronous", "2"),
        // Checkpoints are ours, so that we see their errors.
        ("wal_autocheckpoint", "0"),
        // 64 MiB: a log that grew longer is cut when it starts over.
        ("journal_size_limit", "67108864"),
        ("busy_timeout", String(Connection.busyMilliseconds)),
        ("foreign_keys", "1"),
        // What is deleted or erased is overwritten. (It is how Debian builds SQLite; here it is relied on.)
        ("secure_delete", "1"),
        // Of a file that someone prepared, nothing is believed.
        ("trusted_schema", "0"),
        ("cell_size_check", "1"),
        // An I/O error in mapped memory would be a SIGBUS.
        ("mmap_size", "0"),
        ("temp_store", "2"),
        // 64 MiB.
        ("cache_size", "-65536"),
    ]

    static let reader = [
        ("query_only", "1"),
        ("wal_autocheckpoint", "0"),
        ("busy_timeout", String(Connection.busyMilliseconds)),
        ("trusted_schema", "0"),
        ("cell_size_check", "1"),
        ("mmap_size", "0"),
        ("temp_store", "2"),
        ("cache_size", "-4096"),
    ]

    static func set(_ pragmas: [(String, String)], on connection: Connection) throws(StoreError) {
        for (name, value) in pragmas { try connection.set(name, value) }
    }
}
