import HeraldModel
import HeraldStore

/// A transaction, of one of three kinds (`TransactionKind`).
///
/// - A deciding one holds the lock that gives events their order, from its beginning to its commit; it reads and writes on the
///   server. If another one has a row that it needs, it runs again, and keeps those out that record progress (`Writer.decide`).
/// - A publishing one records what it writes, and sends it in one message, which the server checks and commits under the lock.
///   What it reads was read before, in few queries: a value that is not known yet is taken to be absent and noted, and the body
///   runs again if that was wrong (`Writer.publish`).
/// - A recording one sends what it has recorded, without the lock.
final class Transaction: StoreTransaction, SharedTransaction {
    let writer: Writer
    let kind: TransactionKind
    /// The recorded writes to the log, until they are sent.
    private(set) var log = LogWrites()
    /// The other recorded requests, in order. They are sent before the log.
    private(set) var recorded: [Request] = []
    /// The reads that a publishing transaction has, and those that it still needs.
    let known: LogReads
    private(set) var missing: LogReads
    /// The ends of the log and of the list of changes, for a deciding transaction.
    private(set) var ends: StoreEnds
    /// Other processes are to be notified of it.
    private(set) var isNews = false
    /// The last attempts that this transaction has changed; 0 for a deleted delegate.
    private(set) var changedHeads: [DelegateKey: Int64] = [:]
    /// The first rows that its removals leave.
    var begins: [Partitions.Parent: Int64] = [:]
    /// The last one that this transaction has recorded; `nil` for none.
    private(set) var lastAttempt: Int64?
    /// The checkpoints in it, and the first attempt of each.
    private var checkpoints: [(note: Checkpoint.Note, attempt: Int64)] = []
    /// The statistics that this transaction has changed.
    private var statistics: [StatisticsSlot: DeliveryStatistics] = [:]

    /// - Parameter ends: of a deciding transaction.
    init(_ writer: Writer, _ kind: TransactionKind, _ ends: StoreEnds = StoreEnds(event: 0, change: 0), known: LogReads)
    {
        self.writer = writer
        self.kind = kind
        self.ends = ends
        self.known = known
        missing = LogReads(base: known.base)
    }

    /// Returns the requests of the commit: the log last, because its lock is acquired then.
    /// - Parameter seen: what it has read, to be checked.
    func requests(_ seen: LogReads) throws(StoreError) -> [Request] {
        log.isEmpty ? recorded : recorded + (try log.requests(seen, writer.sealer))
    }

    /// How many requests a deciding transaction records before it sends them: the server ends a transaction in which it hears
    /// nothing for long.
    private static let maxRecorded = 512

    func record(_ requests: [Request]) throws(StoreError) {
        if kind != .deciding, recorded.isEmpty, !requests.isEmpty { recorded.append(Writer.shareProgress) }
        recorded += requests
        if kind == .deciding, recorded.count >= Self.maxRecorded { _ = try run([]) }
    }

    /// Runs a request after everything that was recorded before it. Deciding transactions only.
    @discardableResult
    func run(_ request: Request) throws(StoreError) -> Rows { try run([request]).first ?? Rows(nil) }

    /// Runs several requests.
    func run(_ requests: [Request]) throws(StoreError) -> [Rows] {
        guard kind == .deciding else { throw .failed(reason: "only a deciding transaction may do this") }
        let earlier = try self.requests(known)
        recorded = []
        log = LogWrites()
        return Array(try writer.run(earlier + requests).dropFirst(earlier.count))
    }

    @discardableResult
    func run(_ statement: Statement, _ fill: (inout Parameters) -> Void) throws(StoreError) -> Rows {
        try run(Request(statement, fill))
    }
}

extension Transaction {
    func record(_ changes: [Change], name: Int64) throws(StoreError) {
        guard kind == .deciding else { throw .failed(reason: "only a deciding transaction may do this") }
        ends.change += 1
        if !changes.isEmpty { isNews = true }
        try record(ChangeList.requests(adding: changes, number: ends.change, name: name))
    }
}

/// Changes of the log.
extension Transaction {
    var head: LogPosition {
        get throws(StoreError) {
            guard kind == .deciding else { throw .headIsUnknown }
            return ends.event
        }
    }

    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent? {
        let name = NameInApp(app: app, name: id)
        if kind == .deciding {
            let rows = try run(LogQueries.request(LogQueries.events, [name]))
            return try LogQueries.events(rows, of: [name], writer.reading)[name] ?? nil
        }
        if let event = log.eventsByID[name] { return LoggedEvent(sequence: 0, event: event) }
        if let found = known.events[name] { return found }
        missing.events.updateValue(nil, forKey: name)
        return nil
    }

    func append(_ events: [Event]) throws(StoreError) {
        if kind == .publishing {
            for event in events {
                guard case .some(.some) = known.events[NameInApp(app: event.app, name: event.id)] else { continue }
                throw .failed(reason: "there is an event \(event.id) already")
            }
        }
        try log.append(events)
        ends.event += LogPosition(events.count)
        if !events.isEmpty { isNews = true }
    }

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus? {
        let name = NameInApp(app: app, name: userID)
        if kind == .deciding {
            let rows = try run(LogQueries.request(LogQueries.statuses, [name]))
            return try LogQueries.statuses(rows, of: [name])[name] ?? nil
        }
        if let status = log.statuses[name] { return status }
        if let found = known.statuses[name] { return found }
        missing.statuses.updateValue(nil, forKey: name)
        return nil
    }

    func setAuthStatus(_ status: AuthStatus) { log.set(status) }

    func appState(_ app: AppKey) throws(StoreError) -> AppState? {
        if kind == .deciding {
            return try LogQueries.states(try run(LogQueries.statesRequest([app])), of: [app])[app] ?? nil
        }
        if let state = log.states[app] { return state }
        if let found = known.states[app] { return found }
        missing.states.updateValue(nil, forKey: app)
        return nil
    }

    func setAppState(_ state: AppState) { log.set(state) }

    func answer(app: AppKey, key: String, now: Int64) throws(StoreError) -> StoredAnswer? {
        let name = NameInApp(app: app, name: key)
        func unexpired(_ found: LogQueries.FoundAnswer?) -> StoredAnswer? {
            found.flatMap { $0.expiresAt > now ? $0.answer : nil }
        }
        if kind == .deciding {
            let rows = try run(LogQueries.request(LogQueries.answers, [name]))
            return unexpired(try LogQueries.answers(rows, of: [name], writer.sealer)[name] ?? nil)
        }
        missing.now = max(missing.now, now)
        if let found = log.answers[name] { return unexpired(found) }
        if let found = known.answers[name] { return unexpired(found) }
        missing.answers.updateValue(nil, forKey: name)
        return nil
    }

    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) {
        log.set(answer, app: app, key: key, expiresAt: expiresAt)
    }

    /// The server uses the space of removed rows again by itself, and drops empty partitions (`Partitions`).
    func giveBack(bytes: Int64) -> Int64 { 0 }
}

/// Changes of deliveries.
extension Transaction {
    private static let isThere = Statement("SELECT EXISTS (SELECT 1 FROM attempts WHERE id = $1)")

    func write(_ checkpoint: Checkpoint) throws(StoreError) {
        // Its transaction may have been committed, although the response was lost: nothing is counted twice. Whether it was flushed
        // is not known.
        let first = checkpoint.note.value
        if first != 0, try writer.run(Request(Self.isThere) { $0.add(first) }).first?.flag(0) == true {
            return try record([PostgresSession.flush])
        }
        var attempts: [(id: Int64, previous: Int64)] = []
        attempts.reserveCapacity(checkpoint.attempts.count)
        for record in checkpoint.attempts {
            let id = try writer.attempt(after: lastAttempt)
            lastAttempt = id
            if checkpoint.isOfPull || writer.lost.contains(record.delegate) {
                attempts.append((id, AttemptRounds.unlinked))
                continue
            }
            attempts.append((id, changedHeads[record.delegate] ?? writer.heads.last(of: record.delegate)))
            changedHeads[record.delegate] = id
        }
        if let first = attempts.first { checkpoints.append((checkpoint.note, first.id)) }
        try record(
            CheckpointWrites.requests(
                checkpoint, attempts: attempts, statistics: try add(checkpoint.statistics)))
    }

    /// The outcome is not known.
    func leaveNotes() {
        for (note, attempt) in checkpoints { note.value = attempt }
    }

    private static let findStatistics = Statement(
        """
        SELECT \(DeliveryStatistics.columns) FROM unnest($1::bigint[], $2::bigint[]) AS asked(d, s)
        JOIN statistics ON delegate = d AND start = s
        """)

    /// Adds slots to what is stored. Each has one writer: the process that makes the deliveries.
    /// - Returns: the sums.
    private func add(_ slots: [DeliveryStatistics]) throws(StoreError) -> [DeliveryStatistics] {
        if slots.isEmpty { return [] }
        let names = Set(slots.map(StatisticsSlot.init))
        let unknown = Array(names.filter { statistics[$0] == nil })
        let request = Request(Self.findStatistics) { parameters in
            parameters.add(unknown) { $0.delegate }
            parameters.add(unknown) { $0.start }
        }
        // A slot that can't be read is replaced: it must not hold up the checkpoint.
        for case let found? in try writer.run([request])[0].map({ try? DeliveryStatistics($0) }) {
            statistics[StatisticsSlot(found)] = found
        }
        for slot in slots {
            let none = DeliveryStatistics(delegate: slot.delegate, start: slot.start)
            statistics[StatisticsSlot(slot), default: none].add(slot)
        }
        return names.sorted { ($0.delegate, $0.start) < ($1.delegate, $1.start) }.compactMap { statistics[$0] }
    }

    func redeliver(_ deliveries: [WaitingDelivery]) throws(StoreError) {
        try run(CheckpointWrites.request(redelivering: deliveries, change: nextChange))
    }

    /// The one that this transaction will note.
    private var nextChange: Int64 { ends.change + 1 }

    private static let drop = Statement(
        """
        UPDATE waiting w SET state = $3, due_at = $4, request = $5 FROM unnest($1::bigint[], $2::bigint[]) AS u(delegate, event)
        WHERE w.delegate = u.delegate AND w.event = u.event
        """)

    func drop(_ all: [DeliveryKey], at time: Int64) throws(StoreError) {
        // In the order of checkpoints.
        let deliveries = all.sorted()
        try run(Self.drop) { parameters in
            parameters.add(deliveries) { $0.delegate }
            parameters.add(deliveries) { $0.event }
            parameters.add(WaitingDelivery.State.dropped.rawValue, time, nextChange)
        }
    }
}

private struct StatisticsSlot: Hashable {
    let delegate: DelegateKey
    let start: Int64

    init(_ slot: DeliveryStatistics) { (delegate, start) = (slot.delegate, slot.start) }
}

/// Runs shared statements.
extension Transaction {
    var sealer: ColumnSealer { writer.sealer }

    func rows<Value>(
        _ statement: SharedStatement, _ values: [any ColumnConvertible], _ make: (Row) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] { try run(Request(statement, values)).map(make) }

    func change(_ statement: SharedStatement, _ values: [any ColumnConvertible]) throws(StoreError) -> Int {
        try run(Request(statement, values)).changed
    }

    func record(_ statement: SharedStatement, _ values: [any ColumnConvertible]) throws(StoreError) {
        try record([Request(statement, values)])
    }

    func forgetAttempts(of delegate: DelegateKey) { changedHeads[delegate] = 0 }
}
