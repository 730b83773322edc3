import Glibc
import HeraldModel
import HeraldRuntime
import HeraldStore

/// The session that writes, and what it knows of the database. The writer's thread.
///
/// It holds the locks of the shards that this process has (`Writer+Leases`): who has lost those has lost the session to write with.
final class Writer {
    let database: Database
    let sealer: ColumnSealer
    let reading: EventReading
    /// The last attempts, as far as this process needs them: of the delegates whose shards it has.
    let heads = AttemptHeads([:])
    let rounds = AttemptRounds()
    let durable: DurableEnds
    let clock: DatabaseClock
    private let migrations: [Migration.Step]
    private let listener: Listener
    private var lastAttempt: Int64 = 0
    var partitions: Partitions
    package let node = NodeKey.random()
    /// The server ends the session when there are no signs of life.
    var isWatched = false
    var silence = NodeSilence()
    /// This process is about to end.
    var isLeaving = false
    /// The shards that the session has.
    package internal(set) var held: Shards = []
    /// Shards of an earlier session that other nodes may have held since. Open attempts may still end.
    var lost: Shards = []
    private var session: PostgresSession?
    /// The schema is there, and this process knows where it begins.
    private var hasBegun = false
    /// Attempts may have been recorded that this process does not know of, or it has taken shards.
    private var mustBeginRound = true
    /// The rounds of this session; the last one is in use.
    private var openRounds: [Int64] = []
    /// The last one of all, when this process began to write.
    private var lastRound: Int64 = 0
    /// Memory may have last attempts of deleted delegates from this id on.
    private var firstUnchecked = Int64.max
    /// There may be rounds to end.
    private var mustEndRounds = false
    private var lacksPartition = false
    /// A statement of the transaction has waited for a lock in vain.
    private var lacksLock = false
    /// The transaction has the lock that gives events their order.
    private var hasOrder = false

    init(
        _ database: Database, _ sealer: ColumnSealer, _ damaged: DamagedEvents, _ durable: DurableEnds,
        _ listener: Listener, _ clock: DatabaseClock, _ migrations: [Migration.Step], partitionSize: Int64
    ) {
        self.database = database
        self.sealer = sealer
        reading = EventReading(.combined, damaged)
        self.durable = durable
        self.listener = listener
        self.clock = clock
        self.migrations = migrations
        partitions = Partitions(size: partitionSize)
    }

    /// A writer without a store, for a check or a move.
    convenience init(_ database: Database, _ sealer: ColumnSealer = .none, _ clock: Clock = .system) {
        let durable = DurableEnds()
        self.init(
            database, sealer, DamagedEvents(), durable, Listener(database, durable), DatabaseClock(clock),
            Schema.migrations, partitionSize: Partitions.size)
    }

    // MARK: The session

    /// Runs requests in one transaction, or as the next part of the one that was begun. Nothing of it is committed if it fails.
    func run(_ requests: [Request], seconds: Double = Database.writeSeconds) throws(StoreError) -> [Rows] {
        guard let session else { throw .unavailable(reason: "there is no session") }
        do {
            return try session.run([requests], seconds: seconds)
        } catch {
            record(error)
            if error.isConflict(through: 0) || error.isOfPartition { throw .outdated }
            throw error.ofRead(database.label)
        }
    }

    func run(_ request: Request) throws(StoreError) -> Rows { try run([request]).first ?? Rows(nil) }

    private func record(_ error: PostgresError) {
        if case .refused(_, "55P03", _) = error { lacksLock = true }
        if error.isOfPartition { lacksPartition = true }
    }

    /// Opens a session if there is none.
    func connect() throws(StoreError) {
        if let ended = database.ended { throw ended }
        if !isConnected {
            session = nil
            session = try database.open(.log)
            do {
                if hasBegun {
                    try enterAgain()
                    try resume()
                }
            } catch {
                session = nil
                throw error
            }
        }
        if mustEndRounds { endRounds() }
        if lacksPartition {
            // Retention may have dropped the partition of the open round.
            mustBeginRound = true
            try preparePartitions(ahead: Partitions.size)
            lacksPartition = false
        }
    }

    /// Whether there is a session, and nothing is known against it.
    var isConnected: Bool { session?.isAlive == true }

    func close() { session = nil }

    func pause(milliseconds: Int32) { poll(nil, 0, milliseconds) }

    /// Makes the schema, or brings it to this release's version.
    func migrate() throws(StoreError) {
        try Migration.run(self, migrations)
        try Migration.enter(self, migrations)
    }

    /// While there was no session, a newer release may have contracted the schema, or another process encrypted the database.
    private func enterAgain() throws(StoreError) {
        do throws(StoreError) {
            try Migration.enter(self, migrations)
            try enter()
            try Sealing.checkAgain(self)
        } catch {
            if case .newer = error { try end("a newer release has changed its schema") }
            if case .sealed = error { try end("another process has encrypted its secrets") }
            throw error
        }
    }

    /// Begins to write, once the schema is there.
    func begin() throws(StoreError) {
        lastRound = try run(AttemptRounds.lastRound).round()
        try settle(StoreEnds(try run(Request(StoreEnds.statement)).first))
        try enter()
        try Sealing.checkAgain(self)
        try checkLocks()
        hasBegun = true
        try partitions.read { requests throws(StoreError) in try run(requests) }
        try preparePartitions()
    }

    /// Flushes what was read, so that it cannot be lost.
    func settle(_ ends: StoreEnds) throws(StoreError) {
        if durable.includes(ends) { return }
        try commit([], through: -1)
        durable.raise(to: ends)
    }

    /// Continues with another session, only if the server has everything that was flushed. Not every server identifies itself to `PrimaryWatch`.
    private func resume() throws(StoreError) {
        let ends = try StoreEnds(try run(Request(StoreEnds.statement)).first)
        if ends.event < durable.position {
            try end("it ends at event \(ends.event), and had been flushed up to \(durable.position)")
        }
        if ends.change < durable.change {
            try end("it ends at change \(ends.change), and had been flushed up to \(durable.change)")
        }
        openRounds = []
        mustBeginRound = true
    }

    private func end(_ reason: String) throws(StoreError) {
        database.primary.end(reason)
        throw .replaced(path: database.label, reason: reason)
    }

    // MARK: Attempts

    /// This process takes shards: the attempts of their delegates are linked to those that others have recorded.
    func takesShards() { mustBeginRound = true }

    /// An id for an attempt.
    /// - Parameter last: the last one of the same transaction.
    func attempt(after last: Int64?) throws(StoreError) -> Int64 {
        if mustBeginRound { try readHeads() }
        let last = last ?? lastAttempt
        guard let ids = openRounds.last.map(AttemptRounds.ids), last + 1 < ids.upperBound else {
            return try beginRound() + 1
        }
        // An earlier run of the transaction may have begun the round. The ids between are those of others.
        return max(last, ids.lowerBound) + 1
    }

    /// - Returns: the id before its attempts.
    private func beginRound() throws(StoreError) -> Int64 {
        let round = try run(AttemptRounds.begin).round()
        openRounds.append(round)
        rounds.began(round)
        mustEndRounds = true
        return AttemptRounds.ids(round).lowerBound
    }

    /// Between two transactions: attempts of the last one are in those rounds.
    private func endRounds() {
        guard let current = openRounds.last,
            // What fails now is tried again later: lists are right, and take longer.
            (try? run([Self.shareProgress, AttemptRounds.end(Array(openRounds.dropLast()), current: current)])) != nil
        else { return }
        forgetDeleted(current)
        openRounds = [current]
        mustEndRounds = false
    }

    /// Forgets the last attempts of delegates that were deleted during them.
    private func forgetDeleted(_ current: Int64) {
        let recorded = Array(heads.since(firstUnchecked).keys)
        guard let rows = try? run(Request(AttemptRounds.deleted, numbers: recorded)),
            let keys = try? rows.map({ row throws(StoreError) in try row.natural(0, "delegate") })
        else { return }
        var deleted: [DelegateKey: Int64] = [:]
        for key in keys { deleted[key] = 0 }
        heads.take(deleted)
        firstUnchecked = AttemptRounds.ids(current).lowerBound
    }

    /// Begins a round, and reads the last attempts.
    private func readHeads() throws(StoreError) {
        lastAttempt = try beginRound()
        var found: [DelegateKey: Int64] = [:]
        for rows in try run(AttemptRounds.heads.map { Request($0) }) {
            for row in rows.all {
                let (delegate, attempt) = (try row.natural(0, "delegate"), try row.natural(1, "attempt"))
                found[delegate] = max(attempt, found[delegate] ?? 0)
            }
        }
        heads.take(found)
        firstUnchecked = min(firstUnchecked, lastAttempt)
        durable.raise(toAttempt: lastAttempt)
        mustBeginRound = false
    }

    /// Makes the partitions that will be needed.
    /// - Parameter now: see `Partitions.prepare`.
    func preparePartitions(ahead count: Int64 = 0, at now: Int64? = nil) throws(StoreError) {
        // Of a round all ids are used, or none.
        let attempts = AttemptRounds.ids(openRounds.last ?? lastRound).upperBound
        for (parent, last) in [(Partitions.Parent.events, durable.position), (.attempts, attempts)] {
            try partitions.prepare(parent, after: last + count, at: now) { requests throws(StoreError) in
                try run(requests)
            }
        }
    }

    /// - Returns: see `Partitions.drop`.
    func dropPartitions() -> (error: StoreError, tries: Int)? {
        partitions.drop(at: Clock.system.monotonic()) { requests throws(StoreError) in try run(requests) }
    }

    // MARK: Transactions

    /// - Parameter alone: see `decide`.
    func transaction(
        _ kind: TransactionKind, alone: Bool = false, _ body: (any StoreTransaction) throws(StoreError) -> Void
    ) throws(StoreError) -> Commit {
        try connect()
        let round = openRounds.last
        // Other work may have waited for another lock, such as the drop of a partition.
        (lacksLock, hasOrder) = (false, false)
        do {
            switch kind {
            case .deciding: return try decide(alone: alone, body)
            case .publishing: return try publish(body)
            case .recording:
                let known = LogReads(base: durable.position)
                let transaction = Transaction(self, .recording, known: known)
                try body(transaction)
                return try commit(transaction, known)
            }
        } catch {
            // Of the ids some may be used; or the round was begun in what was rolled back.
            if case .unknown = error { mustBeginRound = true }
            if openRounds.last != round { mustBeginRound = true }
            if case .unavailable = error, hasOrder, lacksLock, !alone {
                return try transaction(kind, alone: true, body)
            }
            if lacksLock, let holder = holderOfLock() {
                throw .unavailable(reason: "another session holds a lock that this one needs: \(holder)")
            }
            throw error
        }
    }

    /// The first request of a transaction that changes rows of deliveries before it has the lock of the order, or without it.
    static let shareProgress = Request(Statement("SELECT pg_advisory_xact_lock_shared(\(Schema.progressLock))"))

    private static let takeOrder = [
        Statement("SELECT set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(\(Schema.orderLock))"),
        // A statement of its own, with a new snapshot: it sees what was committed while this session waited.
        StoreEnds.statement,
    ]
    /// Longer than most commits take that only record.
    private static let limit = Statement("SELECT set_config('lock_timeout', '20ms', true)")
    private static let beginning = ([Statement.begin] + takeOrder + [limit]).map { Request($0) }
    private static let keepOut = Statement("SELECT pg_advisory_xact_lock(\(Schema.progressLock))")
    private static let beginningAlone = ([Statement.begin, keepOut] + takeOrder).map { Request($0) }

    /// Ends a transaction that has failed, or the session.
    func rollBack() {
        // After the end of a transaction this does nothing but a warning.
        if (try? run(Request(.rollback))) == nil { session = nil }
    }

    /// A publishing transaction may have rows and wait for the lock of the order, which this one has. So this one waits for a row for a
    /// moment only: all publications wait for it, and the server finds such a deadlock after a second (`deadlock_timeout`).
    /// - Parameter alone: transactions that record progress are kept out first, and a row is waited for as long as any lock.
    @discardableResult
    func decide(
        alone: Bool, _ body: (any StoreTransaction) throws(StoreError) -> Void
    ) throws(StoreError) -> Commit {
        do throws(StoreError) {
            let begun = try run(alone ? Self.beginningAlone : Self.beginning)
            let ends = try StoreEnds(begun[alone ? 3 : 2].first)
            hasOrder = true
            let transaction = Transaction(self, .deciding, ends, known: LogReads(base: ends.event))
            try body(transaction)
            let requests = try transaction.requests(transaction.known) + [Request(.commit)]
            let rows = try send(requests, of: transaction)
            // A transaction that has failed before is rolled back by COMMIT, without an error.
            guard rows.last?.command == "COMMIT" else { throw StoreError.failed(reason: "the server has rolled back") }
            committed(transaction, transaction.ends)
            return Commit(head: transaction.ends.event)
        } catch {
            rollBack()
            throw error
        }
    }

    /// Runs the body on what is known, and again when something that it asks for is not what was assumed: absent.
    private func publish(_ body: (any StoreTransaction) throws(StoreError) -> Void) throws(StoreError) -> Commit {
        var known = LogReads(base: durable.position)
        while true {
            let transaction = Transaction(self, .publishing, known: known)
            try body(transaction)
            let isAsAssumed = try known.read(transaction.missing, with: self)
            if isAsAssumed { return try commit(transaction, known) }
        }
    }

    /// Sends what a transaction without a lock has recorded.
    /// - Parameter known: what it has read.
    private func commit(_ transaction: Transaction, _ known: LogReads) throws(StoreError) -> Commit {
        let requests = try transaction.requests(known)
        if requests.isEmpty {
            // Events that were read, but could still be lost, are not delivered.
            if !known.isEmpty { try commit([], through: -1) }
            return Commit(head: durable.position)
        }
        let rows = try send(requests, of: transaction, flushes: !transaction.log.isEmpty, others: .outdated)
        let head = transaction.log.isEmpty ? durable.position : try rows[transaction.recorded.count].natural("position")
        committed(transaction, StoreEnds(event: head, change: 0))
        return Commit(head: head)
    }

    private func send(
        _ requests: [Request], of transaction: Transaction, flushes: Bool = true, others: StoreError? = nil
    ) throws(StoreError) -> [Rows] {
        do throws(StoreError) {
            return try commit(requests, through: 0, flushes: flushes, others: others)
        } catch {
            if case .unknown = error { transaction.leaveNotes() }
            throw error
        }
    }

    /// Applies a committed transaction to the state in memory, and notifies other processes.
    /// - Parameter ends: what is flushed now.
    private func committed(_ transaction: Transaction, _ ends: StoreEnds) {
        heads.take(transaction.changedHeads)
        for (parent, first) in transaction.begins { partitions.begin(parent, at: first) }
        if let last = transaction.lastAttempt {
            lastAttempt = last
            durable.raise(toAttempt: lastAttempt)
            rounds.recorded(through: lastAttempt)
        }
        durable.raise(to: ends)
        if transaction.isNews { listener.announce() }
    }

    /// Runs requests in one transaction, and flushes: a commit that waits until all before it are on disk, and on the
    /// synchronous standbys.
    /// - Parameters:
    ///   - decisive: the number of the unit that decides whether anything is written; -1 if nothing is.
    ///   - flushes: the requests commit without a flush of their own.
    ///   - others: the error if another process was faster: it has written a row with the same key.
    @discardableResult
    func commit(
        _ requests: [Request], through decisive: Int, flushes: Bool = true, others: StoreError? = nil
    ) throws(StoreError) -> [Rows] {
        guard let session else { throw .unavailable(reason: "there is no session") }
        var units = requests.isEmpty ? [] : [requests]
        if flushes { units.append([PostgresSession.flush]) }
        let rows: [Rows]
        do {
            rows = try session.run(units, seconds: Database.writeSeconds)
        } catch {
            record(error)
            if error.isConflict(through: decisive) { throw .outdated }
            switch error {
            case .refused(_, "23505", _):
                if let others { throw others }
            case _ where error.isOfPartition:
                throw others ?? .unavailable(reason: "the partitions of the log are being extended")
            default: break
            }
            throw error.ofCommit(database.label, through: decisive)
        }
        if let warning = session.warning { throw .unknown(reason: warning) }
        return Array(rows.prefix(requests.count))
    }
}
