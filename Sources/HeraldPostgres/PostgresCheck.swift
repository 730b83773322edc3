package import HeraldCrypto
package import HeraldModel
package import HeraldRuntime
import HeraldStore

/// Whether a server could start with a database, for operators. Changes nothing in it.
package struct PostgresCheck: Sendable {
    /// The servers and the database, without the user and the password.
    package let label: String
    /// How far the clock of the database is ahead of this machine's, in milliseconds: at least and at most.
    package let clockOffset: ClosedRange<Int64>
    /// `nil` if a start changes the schema first: it is of an earlier version.
    package let keys: [APIKey]?
    /// The delegates that a start disables, because stored values of them can't be read.
    package let disabled: [WebhookDelegate]
    /// The rows that a start leaves out or replaces, including those of `disabled`.
    package let damagedRows: [DamagedRows.Finding]

    /// - Parameter url: `postgres://user@host1,host2/database?…`, as libpq takes it.
    /// - Throws: the error of a start.
    package init(url: String, sealer: Sealer? = nil, clock: Clock = .system) throws(StoreError) {
        let database = try Database(url: url)
        let writer = Writer(database, ColumnSealer(sealer: sealer), clock)
        try writer.connect()
        // A start needs two sessions at once.
        _ = try database.open(.listen)
        label = database.label
        let sent = clock.wall()
        let row = try writer.run(Request(Self.time)).first
        let received = max(sent, clock.wall())
        guard let time = row?.integer(0) else { throw .unavailable(reason: "the database returned no time") }
        clockOffset = Self.offset(of: time, sent: sent, received: received)
        let damaged = DamagedRows()
        let recovery = try writer.inSnapshot { () throws(StoreError) in try Self.recovery(writer, damaged) }
        keys = recovery?.keys
        disabled = recovery?.delegates.filter(\.state.isUnreadable) ?? []
        damagedRows = damaged.findings
    }

    /// - Parameters:
    ///   - time: of the server, which may be any number.
    ///   - sent: this machine's time before it was read.
    ///   - received: this machine's time afterwards.
    static func offset(of time: Int64, sent: Int64, received: Int64) -> ClosedRange<Int64> {
        let time = StoredNumber.figure(time)
        return (time - received)...(time - sent)
    }

    /// The most waiting deliveries of one delegate that are read.
    private static let maxRows = 1_000

    /// Reads all that a start would read. In one snapshot, a server that starts at the same time changes nothing in it.
    /// - Returns: `nil` if a start changes the schema first.
    private static func recovery(_ writer: Writer, _ damaged: DamagedRows) throws(StoreError) -> Recovery? {
        let found = try Migration.version(writer, Schema.migrations)
        if found == nil, let row = try writer.run(Request(mayCreate)).first, !row.flag(0) {
            throw .notWritable(
                path: writer.database.label,
                reason: "its role may not make the schema herald, or tables in it: \(row.text(1))")
        }
        guard let version = found, version > 0 else { return Recovery() }
        let (secret, isSealed) = try Sealing.check(writer)
        guard version >= Schema.version() else { return nil }
        let sealer = isSealed ? writer.sealer : ColumnSealer.none
        if let secret { _ = try sealer.secret(secret) }
        let rows = try writer.run(Writer.requests, seconds: Database.readSeconds)
        let lanes = try writer.run(Writer.requestsOfLanes(maxRows: maxRows), seconds: Database.readSeconds)
        _ = try Writer.lanes(from: lanes, damaged)
        return try Writer.recovery(from: rows, sealer, damaged).recovery
    }

    private static let time = Statement("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
    private static let mayCreate = Statement(
        """
        SELECT coalesce(has_schema_privilege(to_regnamespace('herald')::oid, 'CREATE'),
                has_database_privilege(current_database(), 'CREATE')),
            format(CASE WHEN to_regnamespace('herald') IS NULL THEN 'GRANT CREATE ON DATABASE %I TO %I'
                ELSE 'GRANT ALL ON SCHEMA herald TO %2$I' END, current_database(), current_user)
        """)
}
