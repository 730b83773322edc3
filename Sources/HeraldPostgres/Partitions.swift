import HeraldModel
import HeraldStore

/// The partitions of the log and of the attempts: made ahead of what is written, dropped when they are empty. The writer's thread.
///
/// Removing rows leaves space that the server uses again; a partition without rows is dropped, and leaves nothing.
struct Partitions {
    enum Parent: String, CaseIterable {
        case events, attempts

        /// The column of its primary key.
        var key: String {
            switch self {
            case .events: "sequence"
            case .attempts: "id"
            }
        }
    }

    private struct Bounds {
        /// The partitions, ascending: where each begins.
        var starts: [Int64] = []
        /// Where the last one ends.
        var end: Int64 = 1
        /// The first row that is left, if it is known.
        var first: Int64 = 0
        /// When a partition that could not be made ahead is tried again, in monotonic nanoseconds.
        var nextAdd: Int64 = .min
    }

    private var bounds: [Parent: Bounds] = [:]
    /// When a drop that has failed is tried again, in monotonic nanoseconds.
    private var nextDrop: Int64 = .min
    /// How many times in a row a drop has failed.
    private var failedDrops = 0
    /// The number of rows of a new partition.
    private let size: Int64

    static let size: Int64 = 1 << 21
    /// Nanoseconds from a drop that has failed to the next one. While a drop waits for a lock, all sessions wait behind it, and a
    /// program such as `pg_dump` may keep it from the lock for hours.
    static let dropPause: Int64 = 60_000_000_000

    /// Nanoseconds from a partition that could not be made ahead to the next try. `ANALYZE` may keep it from the lock for minutes.
    static let addPause: Int64 = 1_000_000_000

    init(size: Int64 = Partitions.size) { self.size = size }

    private static let all = Statement("SELECT parent, first, next FROM partitions ORDER BY first")
    private static let add = Statement("SELECT add_partition($1::text, $2::bigint, $3::bigint)")
    private static let forget = Statement("DELETE FROM partitions WHERE parent = $1 AND first = $2")
    /// Others may read from the table: better later than to let everyone wait behind them.
    private static let wait = Statement("SELECT set_config('lock_timeout', '100ms', true)")

    /// The search may pass over all rows that were removed, while the writer sends nothing else.
    private static let limits = Statement(
        "SELECT set_config('lock_timeout', '100ms', true), set_config('statement_timeout', '2s', true)")

    /// Another node may have recorded attempts there since: those of a round that it has begun long ago. During the search only who
    /// writes to the partition waits.
    private static func drop(_ partition: String, of parent: Parent) -> Statement {
        Statement(
            """
            DO $d$ BEGIN
                LOCK TABLE \(partition) IN SHARE ROW EXCLUSIVE MODE;
                PERFORM 1 FROM \(partition) ORDER BY \(parent.key) LIMIT 1;
                IF FOUND THEN RAISE EXCEPTION 'the partition has rows' USING ERRCODE = '55000'; END IF;
                DROP TABLE \(partition);
            END $d$
            """)
    }

    mutating func read(_ run: ([Request]) throws(StoreError) -> [Rows]) throws(StoreError) {
        let rows = try run([Request(Self.all)])[0].map { row throws(StoreError) in
            (row.text(0), try row.natural(1, "partition"), try row.natural(2, "partition"))
        }
        for parent in Parent.allCases { bounds[parent, default: Bounds()].starts = [] }
        for row in rows {
            guard let parent = Parent(rawValue: row.0) else { continue }
            bounds[parent, default: Bounds()].starts.append(row.1)
            bounds[parent]?.end = row.2
        }
    }

    /// Makes a partition if less than half of one is left for rows after `last`.
    /// - Parameter now: monotonic nanoseconds, if commits must not wait for it; `nil` if it is needed.
    mutating func prepare(
        _ parent: Parent, after last: Int64, at now: Int64? = nil, _ run: ([Request]) throws(StoreError) -> [Rows]
    ) throws(StoreError) {
        guard bounds[parent, default: Bounds()].end - last <= size / 2 else { return }
        let add = Request(Self.add) { $0.add(parent.rawValue, last, size) }
        if let now {
            guard now >= bounds[parent, default: Bounds()].nextAdd else { return }
            bounds[parent, default: Bounds()].nextAdd = now + Self.addPause
            _ = try run([Request(Self.wait), add])
            bounds[parent]?.nextAdd = .min
        } else {
            _ = try run([add])
        }
        try read(run)
    }

    /// The first row that is left.
    mutating func begin(_ parent: Parent, at first: Int64) { bounds[parent]?.first = first }

    /// Drops a partition that has no rows any more, if there is one.
    /// - Parameter now: monotonic nanoseconds.
    /// - Returns: why one could not be dropped, and how many times in a row that has failed; `nil` if none failed.
    @discardableResult
    mutating func drop(
        at now: Int64, _ run: ([Request]) throws(StoreError) -> [Rows]
    ) -> (error: StoreError, tries: Int)? {
        guard now >= nextDrop else { return nil }
        var failure: StoreError?
        for parent in Parent.allCases {
            guard let found = bounds[parent], found.starts.count > 1, found.first >= found.starts[1] else { continue }
            let start = found.starts[0]
            let requests = [
                Request(Self.limits), Request(Self.drop("\(parent.rawValue)_\(start)", of: parent)),
                Request(Self.forget) { $0.add(parent.rawValue, start) },
            ]
            do throws(StoreError) {
                _ = try run(requests)
                bounds[parent]?.starts.removeFirst()
            } catch {
                // It is tried again later, unless another process has dropped it.
                failure = error
                nextDrop = now + Self.dropPause
                try? read(run)
            }
        }
        failedDrops = failure == nil ? 0 : failedDrops + 1
        return failure.map { (error: $0, tries: failedDrops) }
    }
}
