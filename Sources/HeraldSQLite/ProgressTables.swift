import HeraldCore
import HeraldStore

/// The progress of deliveries, for the writer: the tables `lanes`, `progress`, `replays` and `statistics`.
struct ProgressTables {
    private let connection: Connection
    /// Including the open transaction. The table has the earliest one: a shard costs no row of its own, since one process
    /// has them all.
    private var settled: SettledPositions
    private var committedSettled: SettledPositions
    private let setLane, removeLane, setSettled: Statement
    private let addReplay, moveReplay, endReplay, removeReplay, countReplays: Statement
    private let findStatistics, setStatistics, removeStatistics: Statement

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        self.connection = connection
        settled = SettledPositions(try connection.natural("SELECT settled FROM progress", "position"))
        committedSettled = settled
        setLane = try prepare(
            "INSERT OR REPLACE INTO lanes (\(LanePosition.columns)) SELECT ?1, ?2, ?3 WHERE \(delegateLives)")
        removeLane = try prepare("DELETE FROM lanes WHERE delegate = ?1")
        setSettled = try prepare("UPDATE progress SET settled = ?1")
        addReplay = try prepare(
            """
            INSERT INTO replays (delegate, start, cursor, until, created_at)
            SELECT ?1, ?2, ?2, ?3, ?4 WHERE \(delegateLives)
            """)
        moveReplay = try prepare("UPDATE replays SET cursor = ?2 WHERE id = ?1")
        endReplay = try prepare("DELETE FROM replays WHERE id = ?1")
        removeReplay = try prepare("DELETE FROM replays WHERE id = ?1 AND delegate = ?2")
        countReplays = try prepare("SELECT count(*) FROM replays WHERE delegate = ?1")
        findStatistics = try prepare(
            "SELECT \(DeliveryStatistics.columns) FROM statistics WHERE delegate = ?1 AND start = ?2")
        setStatistics = try prepare(
            """
            INSERT OR REPLACE INTO statistics (\(DeliveryStatistics.columns))
            SELECT ?1, ?2, ?3, ?4, ?5 WHERE \(delegateLives)
            """)
        removeStatistics = try prepare(
            """
            DELETE FROM statistics WHERE (delegate, start) IN
            (SELECT delegate, start FROM statistics WHERE start < ?1 LIMIT ?2)
            """)
    }

    func set(_ lane: LanePosition) throws(StoreError) {
        setLane.bind(1, lane.delegate)
        setLane.bind(2, lane.cursor)
        setLane.bind(3, lane.position)
        try setLane.run()
    }

    func removeLane(_ delegate: DelegateKey) throws(StoreError) {
        removeLane.bind(1, delegate)
        try removeLane.run()
    }

    mutating func settle(_ shards: Shards, at position: LogPosition) throws(StoreError) {
        let before = settled.earliest()
        settled.set(shards, to: position)
        let earliest = settled.earliest()
        if earliest == before { return }
        setSettled.bind(1, earliest)
        try setSettled.run()
    }

    /// Called when the open transaction has ended.
    mutating func ended(committed: Bool) {
        if committed { committedSettled = settled } else { settled = committedSettled }
    }

    // MARK: Replays

    func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) throws(StoreError) -> Replay {
        addReplay.bind(1, delegate)
        addReplay.bind(2, cursor)
        addReplay.bind(3, until)
        addReplay.bind(4, time)
        try addReplay.run()
        if connection.changes == 0 { throw .failed(reason: "delegate \(delegate) was deleted") }
        return Replay(id: connection.lastRow, delegate: delegate, cursor: cursor, until: until, createdAt: time)
    }

    func moveReplay(_ id: Int64, to cursor: LogPosition) throws(StoreError) {
        moveReplay.bind(1, id)
        moveReplay.bind(2, cursor)
        try moveReplay.run()
    }

    func endReplay(_ id: Int64) throws(StoreError) {
        endReplay.bind(1, id)
        try endReplay.run()
    }

    /// - Returns: whether the replay existed.
    func removeReplay(_ id: Int64, of delegate: DelegateKey) throws(StoreError) -> Bool {
        removeReplay.bind(1, id)
        removeReplay.bind(2, delegate)
        try removeReplay.run()
        return connection.changes > 0
    }

    func countReplays(_ delegate: DelegateKey) throws(StoreError) -> Int {
        countReplays.bind(1, delegate)
        return Int(try countReplays.row { $0.integer(0) } ?? 0)
    }

    // MARK: Statistics

    func add(_ slot: DeliveryStatistics) throws(StoreError) {
        findStatistics.bind(1, slot.delegate)
        findStatistics.bind(2, slot.start)
        var sum = slot
        if let earlier = try findStatistics.row({ row throws(StoreError) in try DeliveryStatistics(row) }) {
            sum.add(earlier)
        }
        setStatistics.bind(1, sum.delegate)
        setStatistics.bind(2, sum.start)
        setStatistics.bind(3, Int64(sum.delivered))
        setStatistics.bind(4, Int64(sum.failed))
        setStatistics.bind(5, sum.latencies.text)
        try setStatistics.run()
    }

    /// - Returns: the number of rows removed.
    func removeStatistics(before time: Int64, limit: Int) throws(StoreError) -> Int {
        removeStatistics.bind(1, time)
        removeStatistics.bind(2, Int64(limit))
        try removeStatistics.run()
        return connection.changes
    }
}
