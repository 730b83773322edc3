package import HeraldCrypto
package import HeraldModel
package import HeraldRuntime
import HeraldStore
import Synchronization

/// The event store in a PostgreSQL database, in its schema `herald`.
///
/// Any number of processes may have it open. One session writes; readers have sessions of their own. Each session connects again
/// when it was lost; until then calls fail with `StoreError.unavailable`.
///
/// @unchecked: `writer` belongs to the writer's thread, as EventStore requires; all else is immutable or locked.
package final class PostgresStore: EventStore, @unchecked Sendable {
    private let database: Database
    private let columnSealer: ColumnSealer
    private let heads: AttemptHeads
    private let durable = DurableEnds()
    package let damagedEvents = DamagedEvents()
    package let damagedRows = DamagedRows()
    private let writer: Writer
    private let listener: Listener
    private let clock: DatabaseClock
    private var isClosed = false
    /// Found when it was opened.
    package let risks: [DatabaseRisk]

    /// Why the last transaction failed, if the database could not be reached.
    private let failure = Mutex<StoreError?>(nil)

    /// Opens the database, and creates or migrates the schema.
    /// - Parameters:
    ///   - url: `postgres://user@host1,host2/database?…`, as libpq takes it.
    ///   - sealer: seals secrets, extra headers, URLs and remembered responses. The first time it is provided, it seals
    ///     the existing values. A sealed database opens with the same key only; otherwise `StoreError.sealed` is thrown.
    ///   - partitionSize: the rows of a new partition.
    ///   - newest: `newestPrimary` of the store that this one follows.
    ///   - clock: of this machine.
    package convenience init(
        url: String, sealer: Sealer? = nil, partitionSize: Int64 = Partitions.size, newest: Primary? = nil,
        clock: Clock = .system
    ) throws(StoreError) {
        try self.init(
            url: url, sealer: sealer, partitionSize: partitionSize, newest: newest, clock: clock,
            migrations: Schema.migrations)
    }

    /// - Parameter migrations: the schema as this release knows it.
    init(
        url: String, sealer: Sealer? = nil, partitionSize: Int64 = Partitions.size, newest: Primary? = nil,
        clock: Clock = .system, migrations: [Migration.Step]
    ) throws(StoreError) {
        database = try Database(url: url, newest: newest)
        columnSealer = ColumnSealer(sealer: sealer)
        listener = Listener(database, durable)
        self.clock = DatabaseClock(clock)
        writer = Writer(
            database, columnSealer, damagedEvents, durable, listener, self.clock, migrations,
            partitionSize: partitionSize)
        heads = writer.heads
        try writer.connect()
        risks = [database.risk, DatabaseRisk.ofRoles(writer)].compactMap { $0 }
        try writer.migrate()
        try Sealing.open(writer)
        try writer.begin()
    }

    deinit { close() }

    /// The servers and the database, without the user and the password.
    package var label: String { database.label }

    /// The newest server that was written to. Any thread.
    package var newestPrimary: Primary? { database.primary.newest }

    package func recover() throws(StoreError) -> Recovery {
        let recovery = try openWriter().recovery(damagedRows)
        damagedRows.report()
        return recovery
    }

    package func recover(_ shards: Shards, maxRows: Int) throws(StoreError) -> LaneRecovery {
        let writer = try openWriter()
        writer.takesShards()
        let lanes = try writer.lanes(maxRows: maxRows, damagedRows).of(shards)
        damagedRows.report()
        return lanes
    }

    @discardableResult
    package func transaction(
        _ kind: TransactionKind, _ body: (any StoreTransaction) throws(StoreError) -> Void
    ) throws(StoreError) -> Commit {
        let writer = try openWriter()
        do {
            let commit = try writer.transaction(kind, body)
            failure.withLock { $0 = nil }
            return commit
        } catch {
            switch error {
            case .unavailable, .unknown: failure.withLock { $0 = error }
            default: break
            }
            throw error
        }
    }

    /// The server copies its log by itself. Makes and drops partitions.
    package func checkpointIfDue(erasing: Bool) throws(StoreError) -> DatabaseCheckpoint {
        let writer = try openWriter()
        // Half a partition is left: the next call tries again.
        try? writer.preparePartitions(at: Clock.system.monotonic())
        return writer.dropPartitions().map { DatabaseCheckpoint.kept($0.error, tries: $0.tries) } ?? .notDue
    }

    package func makeReader() throws(StoreError) -> any StoreReader {
        Reader(database, heads, writer.rounds, columnSealer, damagedEvents, damagedRows, durable, clock)
    }

    package var isShared: Bool { true }

    package var clockOffset: Int64 { clock.offset }

    package var leases: (any ShardLeases)? { writer }

    package func observe(_ notify: @escaping @Sendable () -> Bool) { listener.start(notify) }

    package func health() throws(StoreError) {
        if let failure = database.ended ?? failure.withLock({ $0 }) { throw failure }
    }

    package func checkFiles() throws(StoreError) {
        listener.startIfDue()
        if let ended = database.ended { throw ended }
        if try !openWriter().isConnected { throw .unavailable(reason: "the connection was closed") }
    }

    package func close() {
        if !isClosed, writer.isConnected {
            // What is not given, the others find out themselves.
            try? writer.leave()
            try? writer.give(writer.held)
        }
        isClosed = true
        listener.close()
        writer.close()
    }

    private func openWriter() throws(StoreError) -> Writer {
        if isClosed { throw .failed(reason: "it is closed") }
        return writer
    }
}
