import HeraldCore

/// What a reader tells of the log's age and size.
struct RetentionQueries {
    let first, last, lastBefore, since, about, size: Statement

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        first = try prepare("SELECT ifnull(min(sequence), 1) FROM events")
        last = try prepare("SELECT ifnull(max(sequence), 0) FROM events")
        lastBefore = try prepare("SELECT sequence FROM marks WHERE time < ?1 ORDER BY time DESC LIMIT 1")
        since = try prepare(RetentionQueries.since)
        about = try prepare(RetentionQueries.about)
        size = try prepare(
            """
            SELECT (page_count - freelist_count) * page_size
            FROM pragma_page_count, pragma_freelist_count, pragma_page_size
            """)
    }

    /// Of time ?1: what arrived before the mark before it is out of the question, and so is what arrived after the next
    /// mark: between them, the events' own times decide.
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

    /// There is no index by subject, which would cost each append: a part of the log, ?3 to ?4, is read through. (The plus
    /// keeps SQLite from going through all ids of the app.)
    static let about = """
        SELECT sequence FROM events WHERE sequence BETWEEN ?3 AND ?4 AND subject = ?1 AND +app = ?2
        ORDER BY sequence LIMIT ?5
        """
    /// Events of such a part: some ten milliseconds.
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

    /// One statement for each part of the log, with its own time limit: none holds a snapshot for long.
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

    /// What SQLite's pages take, the free ones excepted: they are used again, and not given back to the file system.
    /// Its log (at most some 64 MiB) comes on top.
    func size() throws(StoreError) -> Int64 {
        connection.startClock()
        return try retention.size.row { $0.integer(0) } ?? 0
    }

    func logSize() -> Int64 { Int64(StoreFolder.size(connection.path + "-wal") ?? 0) }
}
