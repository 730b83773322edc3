import HeraldCore

/// Brings the schema to the version of this release, under a lock: several processes may start at once.
enum Migration {
    private static let isThere = Statement("SELECT to_regclass('herald.meta') IS NOT NULL")
    private static let found = Statement("SELECT version, oldest_version FROM meta")
    private static let creation = [
        Statement("CREATE SCHEMA IF NOT EXISTS herald"),
        // `version`: the number of migrations. `oldest_version`: the oldest version that may use the schema.
        Statement("CREATE TABLE meta (version bigint NOT NULL, oldest_version bigint NOT NULL)"),
        Statement("INSERT INTO meta VALUES (0, 1)"),
    ]
    private static let raise = Statement("UPDATE meta SET version = $1")

    private static let begin = [
        Statement("BEGIN"), Statement("SELECT pg_advisory_xact_lock(\(Schema.migrationLock))"),
        // Encrypting a large database takes a while.
        Statement("SELECT set_config('idle_in_transaction_session_timeout', '0', true)"),
    ]
    private static let commit = Statement("COMMIT")

    /// Runs the body in a transaction, which other processes that start wait for.
    static func alone(_ writer: Writer, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        _ = try writer.run(begin.map { Request($0) })
        do throws(StoreError) {
            try body()
            _ = try writer.run(Request(commit))
        } catch {
            writer.rollBack()
            throw error
        }
    }

    static func run(_ writer: Writer, _ migrations: [String] = Schema.migrations) throws(StoreError) {
        try alone(writer) { () throws(StoreError) in
            if try writer.run(Request(isThere)).first?.flag(0) != true {
                _ = try writer.run(creation.map { Request($0) })
            }
            let versions = try writer.run(Request(found)).first
            let version = Int(versions?.integer(0) ?? 0)
            let oldest = Int(versions?.integer(1) ?? 0)
            // A newer release may have added to the schema, and says whether this one can live with it.
            guard version <= migrations.count || oldest <= migrations.count else {
                throw StoreError.newer(path: writer.database.label, found: version, supported: migrations.count)
            }
            for migration in migrations.dropFirst(version) {
                _ = try writer.run(Request(Statement("DO $m$ BEGIN \(migration)\nEND $m$")))
            }
            if version < migrations.count { _ = try writer.run(Request(raise) { $0.add(migrations.count) }) }
        }
    }
}
