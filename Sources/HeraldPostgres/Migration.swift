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

    static func run(_ writer: Writer, _ migrations: [String] = Schema.migrations) throws(StoreError) {
        let lock = Statement("SELECT pg_advisory_xact_lock(\(Schema.migrationLock))")
        _ = try writer.run([Request(Statement("BEGIN")), Request(lock)])
        do throws(StoreError) {
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
            _ = try writer.run(Request(Statement("COMMIT")))
        } catch {
            _ = try? writer.run(Request(Statement("ROLLBACK")))
            throw error
        }
    }
}
