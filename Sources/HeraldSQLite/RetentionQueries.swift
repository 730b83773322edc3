import HeraldCore

/// The queries of a reader about the age and size of the log.
struct RetentionQueries {
    let first, last, lastBefore, since, about, size, removals: Statement

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        first = try prepare("SELECT ifnull(min(sequence), 1) FROM events")
        last = try prepare("SELECT ifnull(max(sequence), 0) FROM events")
        lastBefore = try prepare("SELECT sequence FROM marks WHERE time < ?1 ORDER BY time DESC LIMIT 1")
        since = try prepare(RetentionQueries.since)
        about = try prepare(RetentionQueries.about)
        removals = try prepare("SELECT \(Removal.columns) FROM removals")
        size = try prepare(
            """
            SELECT (page_count - freelist_count) * page_size
            FROM pragma_page_count, pragma_freelist_count, pragma_page_size
            """)
    }

    /// The first event since time ?1. Marks bound the search: earlier events arrived up to the mark before ?1, later
    /// ones after the mark that follows ?1. Between these marks, the times of the events decide.
    static let since = """
        WITH span (after, until) AS (SELECT
            max((SELECT ifnull(min(sequence), 1) - 1 FROM events),
                ifnull((SELECT sequence FROM marks WHERE time < ?1 ORDER BY time DESC LIMIT 1), 0)),
            min((SELECT ifnull(max(sequence), 0) FROM events),
                ifnull((SELECT sequence FROM marks WHERE time >= ?1 ORDER BY time LIMIT 1), 9223372036854775807)))
        SELECT ifnull(
            (SELECT sequence FROM events
                WHERE sequence > (SELECT after FROM span) AND sequence <= (SELECT until FROM span) AND time >= ?1
                ORDER BY sequence LIMIT 1),
            (SELECT max(after, until) + 1 FROM span))
        """

    /// Scans a part of the log, ?3 to ?4: an index by subject would make each append more expensive. (The unary plus
    /// keeps SQLite from scanning all ids of the app.)
    static let about = """
        SELECT sequence FROM events WHERE sequence BETWEEN ?3 AND ?4 AND subject = ?1 AND +app = ?2
        ORDER BY sequence LIMIT ?5
        """
    /// The number of events in such a part, which takes about ten milliseconds.
    static let partLength: LogPosition = 50_000
}

extension Reader {
    func firstEvent() throws(StoreError) -> LogPosition {
        connection.startClock()
        return try retention.first.row { $0.integer(0) } ?? 1
    }

    func lastEvent() throws(StoreError) -> LogPosition {
        connection.startClock()
        return try retention.last.row { $0.integer(0) } ?? 0
    }

    func lastEvent(before time: Int64) throws(StoreError) -> LogPosition {
        connection.startClock()
        retention.lastBefore.bind(1, time)
        return try retention.lastBefore.row { $0.integer(0) } ?? 0
    }

    func sequence(since time: Int64) throws(StoreError) -> LogPosition {
        connection.startClock()
        retention.since.bind(1, time)
        return try retention.since.row { $0.integer(0) } ?? 1
    }

    /// Runs one statement for each part of the log, each with its own time limit, so that none holds a snapshot for
    /// long.
    func sequences(
        about subject: String, app: AppKey, after sequence: LogPosition, limit: Int
    ) throws(StoreError) -> [LogPosition] {
        let head = try lastEvent()
        var found: [LogPosition] = []
        var start = max(try firstEvent(), sequence + 1)
        while start <= head, found.count < limit {
            let end = min(head, start + RetentionQueries.partLength - 1)
            connection.startClock()
            retention.about.bind(1, subject)
            retention.about.bind(2, app.rawValue)
            retention.about.bind(3, start)
            retention.about.bind(4, end)
            retention.about.bind(5, Int64(limit - found.count))
            found += try retention.about.rows { $0.integer(0) }
            start = end + 1
        }
        return found
    }

    /// The size of SQLite's pages in bytes, without free pages: these are reused, but not returned to the file system.
    /// The write-ahead log, at most about 64 MiB, is not included.
    func size() throws(StoreError) -> Int64 {
        connection.startClock()
        return try retention.size.row { $0.integer(0) } ?? 0
    }

    func removals() throws(StoreError) -> [Removal] {
        connection.startClock()
        return try retention.removals.rows { Removal($0) }.compactMap { $0 }
    }

    func logSize() -> Int64 { Int64(StoreFolder.size(connection.path + "-wal") ?? 0) }
}
