import HeraldModel
import HeraldStore

/// The record of attempts, for the writer: the table `attempts`.
struct AttemptTable {
    private let connection: Connection
    private let heads: AttemptHeads
    /// The last attempts that the open transaction has changed; 0 for a deleted delegate.
    private var changed: [DelegateKey: Int64] = [:]
    private let add, keepHead, wipeThoseOfEvent: Statement

    init(_ connection: Connection, _ heads: AttemptHeads) throws(StoreError) {
        self.connection = connection
        self.heads = heads
        add = try connection.prepare(
            """
            INSERT INTO attempts (\(StoredAttempt.columns), previous) VALUES
            (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
            """)
        keepHead = try connection.prepare("INSERT OR REPLACE INTO attempt_heads SELECT ?1, ?2 WHERE \(delegateLives)")
        wipeThoseOfEvent = try connection.prepare(
            """
            UPDATE attempts SET delegate = 0, event = 0, detail = NULL, excerpt = NULL, peer = NULL, bytes_sent = NULL,
            bytes_received = NULL WHERE id IN (SELECT id FROM attempts WHERE event = ?1 LIMIT ?2)
            """)
    }

    mutating func add(_ records: [AttemptRecord]) throws(StoreError) {
        guard !records.isEmpty else { return }
        var first: Int64?
        for record in records {
            try add(record)
            first = first ?? connection.lastRow
        }
        let round = AttemptHeads.start(of: (first ?? 1) - 1)
        if round != AttemptHeads.start(of: connection.lastRow) { try keepHeads(since: round) }
    }

    /// Binds only non-NULL values, since most columns of most rows are NULL.
    private mutating func add(_ record: AttemptRecord) throws(StoreError) {
        add.bind(1, record.delegate)
        add.bind(2, record.event)
        add.bind(3, Int64(record.number))
        add.bind(4, record.startedAt)
        add.bind(5, record.duration)
        if let status = record.status { add.bind(6, Int64(status)) }
        if let failure = record.failure { add.bind(7, failure.rawValue) }
        if !record.detail.isEmpty { add.bind(8, record.detail) }
        if record.isReplay { add.bind(10, 1) }
        bind(record.transport)
        add.bind(19, changed[record.delegate] ?? heads.last(of: record.delegate))
        if record.excerpt.isEmpty { try add.run() } else { try add.run(9, lent: record.excerpt) }
        changed[record.delegate] = connection.lastRow
    }

    /// Stores the last attempts from this id on; the table already has older ones. Those of a delegate that was deleted during
    /// its attempt are forgotten.
    private mutating func keepHeads(since attempt: Int64) throws(StoreError) {
        for (delegate, last) in heads.since(attempt).merging(changed, uniquingKeysWith: { $1 }) where last > 0 {
            try keepHead.bound(delegate, last).run()
            if connection.changes == 0 { forget(delegate) }
        }
    }

    /// Removes the last attempt of a deleted delegate, whose attempts are no longer listed.
    mutating func forget(_ delegate: DelegateKey) { changed[delegate] = 0 }

    /// Called before the open transaction is committed.
    func willCommit() {
        if !changed.isEmpty { heads.announce(changed) }
    }

    /// Called when the open transaction has ended.
    mutating func ended(committed: Bool) {
        if changed.isEmpty { return }
        if committed { heads.take(changed) } else { heads.discard() }
        changed.removeAll(keepingCapacity: true)
    }

    private func bind(_ transport: TransportRecord) {
        func bind(_ index: Int32, _ value: Int64) {
            if value != 0 { add.bind(index, value) }
        }
        bind(11, transport.lookup)
        bind(12, transport.connect)
        bind(13, transport.tls)
        bind(14, transport.firstByte)
        bind(15, transport.isReused ? 1 : 0)
        if !transport.peer.isEmpty { add.bind(16, transport.peer) }
        bind(17, transport.bytesSent)
        bind(18, transport.bytesReceived)
    }

    /// Erases at most `limit` attempts of an event, except when they were made and how they ended. The rows remain, without a
    /// delegate: the lists of delegates are linked through them, and statistics still count them.
    /// - Returns: the number of rows erased.
    func wipeThose(of event: LogPosition, limit: Int) throws(StoreError) -> Int {
        try wipeThoseOfEvent.bound(event, limit).run()
        return connection.changes
    }
}

extension AttemptHeads {
    /// Reads the last attempts from the database. This scans at most one round of attempts.
    convenience init(_ connection: Connection) throws(StoreError) {
        var heads: [DelegateKey: Int64] = [:]
        let kept = try Statement(connection, "SELECT delegate, attempt FROM attempt_heads")
        while try kept.step() {
            heads[try kept.natural(0, "delegate")] = try kept.natural(1, "attempt")
        }
        let later = try Statement(connection, AttemptHeads.later)
        later.bind(1, AttemptHeads.start(of: try connection.natural("SELECT max(id) FROM attempts", "attempt")))
        while try later.step() {
            heads[try later.natural(0, "delegate")] = try later.natural(1, "attempt")
        }
        self.init(heads)
    }

    /// The attempts from ?1 on. Erased attempts belong to no delegate; those with a negative `previous`, which come from
    /// a store that several processes shared, are in no list of one.
    static let later = """
        SELECT delegate, id FROM attempts WHERE id >= ?1 AND delegate <> 0 AND previous >= 0 ORDER BY id
        """
}
