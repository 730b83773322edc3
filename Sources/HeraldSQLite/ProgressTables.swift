import HeraldModel
import HeraldStore

/// The progress of deliveries, for the writer: the tables `lanes`, `progress`, `replays`, `statistics`
/// and `unannounced`.
struct ProgressTables {
    /// Including the open transaction. The table has the earliest one: a shard costs no row of its own, since one process
    /// has them all.
    private var settled: SettledPositions
    private var committedSettled: SettledPositions
    let setLane, removeLane, moveReplay, endReplay: Statement
    private let setSettled: Statement
    private let findStatistics, setStatistics: Statement
    private let setUnannounced, removeUnannounced: Statement

    init(_ connection: Connection) throws(StoreError) {
        settled = SettledPositions(try connection.natural("SELECT settled FROM progress", "position"))
        committedSettled = settled
        setLane = try connection.prepare(
            "INSERT OR REPLACE INTO lanes (\(LanePosition.columns)) SELECT ?1, ?2, ?3 WHERE \(delegateLives)")
        removeLane = try connection.prepare("DELETE FROM lanes WHERE delegate = ?1")
        setSettled = try connection.prepare("UPDATE progress SET settled = ?1")
        moveReplay = try connection.prepare("UPDATE replays SET cursor = ?2 WHERE id = ?1")
        endReplay = try connection.prepare("DELETE FROM replays WHERE id = ?1")
        findStatistics = try connection.prepare(
            "SELECT \(DeliveryStatistics.columns) FROM statistics WHERE delegate = ?1 AND start = ?2")
        setStatistics = try connection.prepare(
            """
            INSERT OR REPLACE INTO statistics (\(DeliveryStatistics.columns))
            SELECT ?1, ?2, ?3, ?4, ?5 WHERE \(delegateLives)
            """)
        setUnannounced = try connection.prepare(
            "INSERT OR REPLACE INTO unannounced (delegate, count) SELECT ?1, ?2 WHERE \(delegateLives)")
        removeUnannounced = try connection.prepare("DELETE FROM unannounced WHERE delegate = ?1")
    }

    mutating func settle(_ shards: Shards, at position: LogPosition) throws(StoreError) {
        let before = settled.earliest()
        settled.set(shards, to: position)
        let earliest = settled.earliest()
        if earliest == before { return }
        try setSettled.bound(earliest).run()
    }

    /// Called when the open transaction has ended.
    mutating func ended(committed: Bool) {
        if committed { committedSettled = settled } else { settled = committedSettled }
    }

    /// Sets the number of events that a delegate has missed and is not notified of yet.
    func setUnannounced(_ count: Int, of delegate: DelegateKey) throws(StoreError) {
        try (count > 0 ? setUnannounced.bound(delegate, count) : removeUnannounced.bound(delegate)).run()
    }

    func add(_ slot: DeliveryStatistics) throws(StoreError) {
        var sum = slot
        let find = findStatistics.bound(slot.delegate, slot.start)
        // A slot that can't be read is replaced: it must not hold up the checkpoint.
        if case let earlier?? = try find.row({ try? DeliveryStatistics($0) }) { sum.add(earlier) }
        try setStatistics.bound(sum.delegate, sum.start, sum.delivered, sum.failed, sum.latencies.text).run()
    }
}
