import HeraldCore
import HeraldTables

/// The queries of a reader about the age and size of the log.
struct RetentionQueries {
    let first, last, lastBefore, since, about, pages, attempts, eventSizes, removals: Statement

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        first = try prepare("SELECT ifnull(min(sequence), 1) FROM events")
        last = try prepare("SELECT ifnull(max(sequence), 0) FROM events")
        lastBefore = try prepare("SELECT sequence FROM marks WHERE time < ?1 ORDER BY time DESC LIMIT 1")
        since = try prepare(RetentionQueries.since)
        about = try prepare(RetentionQueries.about)
        removals = try prepare("SELECT \(Removal.columns) FROM removals")
        eventSizes = try prepare(RetentionQueries.eventSizes)
        attempts = try prepare(RetentionQueries.attempts)
        pages = try prepare(
            """
            SELECT page_count, freelist_count, page_size
            FROM pragma_page_count, pragma_freelist_count, pragma_page_size
            """)
    }

    /// The events after ?1, up to ?2, and their bytes. SQLite reads only the length of long data.
    static let eventSizes = """
        SELECT sequence, \(BlockTable.bytes) FROM events WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence LIMIT ?3
        """

    /// The first and the last attempt, and the rows of 64 that are spread evenly over the table, in bytes, as SQLite
    /// stores them. None if there is no attempt.
    static let attempts = """
        WITH RECURSIVE span (first, last) AS (SELECT
            ifnull((SELECT min(id) FROM attempts), 0), ifnull((SELECT max(id) FROM attempts), 0)),
            probe (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM probe WHERE n < 63)
        SELECT first, last, \(attemptRow) FROM span CROSS JOIN probe CROSS JOIN attempts
            ON id = first + (last - first) * n / 63 ORDER BY n
        """

    private static let attemptRow = """
        36 + 3 * ((lookup IS NOT NULL) + (connect IS NOT NULL) + (tls IS NOT NULL) + (first_byte IS NOT NULL)
            + (bytes_sent IS NOT NULL) + (bytes_received IS NOT NULL))
        + ifnull(length(failure), 0) + ifnull(length(detail), 0) + ifnull(length(excerpt), 0) + ifnull(length(peer), 0)
        """

    /// The entry of an attempt in the index by event.
    private static let attemptEntry = 17

    /// - Parameters:
    ///   - count: the number of all attempts.
    ///   - sample: the sizes of some rows, in their order. A row is not divided between pages: of 1,100 bytes, a page has three.
    static func bytes(ofAttempts count: Int64, sample: [Int64], page: Int64) -> Int64 {
        if sample.isEmpty { return 0 }
        var (pages, filled): (Int64, Int64) = (0, 0)
        for row in sample {
            if filled + row > page {
                pages += 1
                filled = 0
            }
            filled += row
        }
        let rows = Double(pages * page + filled) / Double(sample.count)
        return Int64(Double(count) * (rows + Double(attemptEntry)))
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

    func sizes() throws(StoreError) -> StorageSizes {
        connection.startClock()
        var sizes = StorageSizes()
        let (pages, free, page) =
            try retention.pages.row { ($0.integer(0), $0.integer(1), $0.integer(2)) } ?? (0, 0, 0)
        (sizes.used, sizes.free) = ((pages - free) * page, free * page)
        sizes.log = Int64(StoreFolder.size(connection.path + "-wal") ?? 0)
        let probes = try retention.attempts.rows { ($0.integer(0), $0.integer(1), $0.integer(2)) }
        (sizes.firstAttempt, sizes.lastAttempt) = probes.first.map { ($0.0, $0.1) } ?? (0, 0)
        let all = RetentionQueries.bytes(
            ofAttempts: sizes.lastAttempt - sizes.firstAttempt + 1, sample: probes.map(\.2), page: page)
        sizes.attempts = min(sizes.used, all)
        return sizes
    }

    func eventSizes(
        after sequence: LogPosition, through end: LogPosition, limit: Int
    ) throws(StoreError) -> [EventSize] {
        connection.startClock()
        retention.eventSizes.bind(1, sequence)
        retention.eventSizes.bind(2, end)
        retention.eventSizes.bind(3, Int64(limit))
        return try retention.eventSizes.rows { EventSize($0.integer(0), bytes: Int($0.integer(1))) }
    }

    func removals() throws(StoreError) -> [Removal] {
        connection.startClock()
        return try retention.removals.rows { Removal($0) }.compactMap { $0 }
    }
}
