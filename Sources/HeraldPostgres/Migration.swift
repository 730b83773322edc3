import HeraldModel
import HeraldStore

/// Brings the schema to the version of this release, under a lock: several processes may start at once.
enum Migration {
    /// From a version to the next one. A literal only adds what older releases can live with. What those need goes one release later.
    struct Step: ExpressibleByStringInterpolation {
        let text: String
        /// The oldest version that a release has to know to use the database from then on; `nil` if that stays as it is.
        let oldest: Int?

        init(stringLiteral text: String) { (self.text, oldest) = (text, nil) }

        private init(text: String, oldest: Int) { (self.text, self.oldest) = (text, oldest) }

        static func contraction(oldest: Int, _ text: String) -> Step { Step(text: text, oldest: oldest) }
    }

    static let isThere = hasTable("meta")

    /// A check for a table in the snapshot of the transaction, which fails without rights for the schema. `to_regclass` alone may find a
    /// table that was made after the snapshot.
    static func hasTable(_ name: String) -> Statement {
        Statement(
            """
            SELECT EXISTS (SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                WHERE nspname = 'herald' AND relname = '\(name)')
                AND to_regclass('herald.\(name)') IS NOT NULL
            """)
    }

    /// Whether there are other tables of Herald. `move` is there before the others.
    private static let hasOthers = Statement(
        """
        SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('herald') AND relkind IN ('r', 'p')
            AND relname <> 'move')
        """)
    private static let found = Statement("SELECT version, oldest_version FROM meta")
    private static let creation = [
        // `IF NOT EXISTS` would need the right to make schemas also where there is this one.
        Statement("DO $s$ BEGIN IF to_regnamespace('herald') IS NULL THEN CREATE SCHEMA herald; END IF; END $s$"),
        // `version`: that of the tables, 0 while there are none. `oldest_version`: the oldest version that may use the schema.
        Statement("CREATE TABLE meta (version bigint NOT NULL, oldest_version bigint NOT NULL)"),
        Statement("INSERT INTO meta VALUES (0, \(Schema.first))"),
    ]
    private static let raise = Statement("UPDATE meta SET version = $1")
    private static let raiseOldest = Statement("UPDATE meta SET oldest_version = $1")
    private static let share = Statement(
        "SELECT pg_advisory_lock_shared(\(Schema.versionLock), $1::bigint::int)")
    /// Whether a session lives whose release knows less than a version.
    private static let isInUse = Statement(
        """
        SELECT NOT bool_and(pg_try_advisory_xact_lock(\(Schema.versionLock), version))
        FROM generate_series(\(Schema.first), $1::bigint::int - 1) AS version
        """)

    private static let begin = [
        Statement.begin, Statement("SELECT pg_advisory_xact_lock(\(Schema.migrationLock))"),
        // Encrypting a large database takes a while.
        Statement("SELECT set_config('idle_in_transaction_session_timeout', '0', true)"),
    ]
    private static let isMoving = Statement("SELECT NOT pg_try_advisory_xact_lock_shared(\(Schema.moveLock))")

    /// Runs the body in a transaction, which other processes that start wait for.
    static func alone(_ writer: Writer, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        try writer.within(begin.map { Request($0) }, body)
    }

    /// Brings the schema to the last version of a list, or to the one before the first contraction that older releases, which
    /// still run, can't live with: a later start continues from there.
    /// - Parameter takesPart: in a move, which servers must not use.
    static func run(_ writer: Writer, _ migrations: [Step], takesPart: Bool = false) throws(StoreError) {
        try alone(writer) { () throws(StoreError) in
            let stored = try Self.version(writer, migrations, takesPart: takesPart)
            if stored == nil { _ = try writer.run(creation.map { Request($0) }) }
            let version = stored ?? 0
            for (number, step) in migrations.enumerated().dropFirst(version > 0 ? version - Schema.first + 1 : 0) {
                if let oldest = step.oldest {
                    if try writer.run(Request(isInUse) { $0.add(oldest) }).first?.flag(0) == true { return }
                    _ = try writer.run(Request(raiseOldest) { $0.add(oldest) })
                }
                _ = try writer.run(Request(Statement("DO $m$ BEGIN \(step.text)\nEND $m$")))
                _ = try writer.run(Request(raise) { $0.add(Schema.first + number) })
            }
        }
    }

    /// Checks the schema. Changes nothing.
    /// - Returns: its version; 0 if a start has to make its tables, `nil` if it has to make it.
    static func version(_ writer: Writer, _ migrations: [Step], takesPart: Bool = false) throws(StoreError) -> Int? {
        if !takesPart {
            if let state = try MoveMark.read(writer) { throw state.error(writer.database.label) }
            if try writer.run(Request(isMoving)).first?.flag(0) == true {
                throw .inUse(path: writer.database.label, holder: "`herald migrate`")
            }
        }
        if try writer.run(Request(isThere)).first?.flag(0) == true { return try check(writer, migrations) }
        if try writer.run(Request(hasOthers)).first?.flag(0) == true {
            throw corrupt(writer, "it lacks the table herald.meta, which has the version of the others")
        }
        return nil
    }

    /// The session says how much of the schema its release knows, for as long as it lives. From then on nothing goes that it needs.
    static func enter(_ writer: Writer, _ migrations: [Step]) throws(StoreError) {
        // It waits for a contraction that is going on.
        _ = try writer.run(Request(share) { $0.add(Schema.version(after: migrations)) })
        _ = try check(writer, migrations)
    }

    private static func corrupt(_ writer: Writer, _ reason: String) -> StoreError {
        .corrupt(path: writer.database.label, reason: reason)
    }

    /// - Returns: the version that is there.
    private static func check(_ writer: Writer, _ migrations: [Step]) throws(StoreError) -> Int {
        let rows = try writer.run(Request(found))
        guard rows.count == 1, let versions = rows.first else {
            throw corrupt(writer, "the table herald.meta has \(rows.count) rows instead of one")
        }
        let (version, oldest) = (Int(versions.integer(0)), Int(versions.integer(1)))
        guard version >= 0, oldest >= 0 else {
            throw corrupt(writer, "its schema version is \(version), for releases from \(oldest) on")
        }
        // A newer release may have added to the schema, and says whether this one can live with it.
        let supported = Schema.version(after: migrations)
        guard version <= supported || oldest <= supported else {
            throw .newer(path: writer.database.label, found: version, supported: supported)
        }
        guard version == 0 || version >= Schema.first else {
            throw .older(path: writer.database.label, found: version, supported: Schema.first)
        }
        return version
    }
}
