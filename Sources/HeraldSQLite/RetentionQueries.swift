import HeraldCore
import HeraldRuntime
import HeraldStore

/// The queries of a reader about the age and size of the log.
struct RetentionQueries {
    let first, last, lastBefore, markBefore, markSince, acceptedSince, known, about, pages, attempts, eventSizes,
        removals: Statement

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        first = try prepare("SELECT ifnull(min(sequence), 1) FROM events")
        last = try prepare("SELECT ifnull(max(sequence), 0) FROM events")
        lastBefore = try prepare("SELECT sequence FROM marks WHERE time < ?1 ORDER BY time DESC LIMIT 1")
        markBefore = try prepare("SELECT \(LogMark.columns) FROM marks WHERE time < ?1 ORDER BY time DESC LIMIT 1")
        markSince = try prepare("SELECT \(LogMark.columns) FROM marks WHERE time >= ?1 ORDER BY time LIMIT 1")
        acceptedSince = try prepare(RetentionQueries.acceptedSince)
        known = try prepare(RetentionQueries.known)
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
        // Ids that another program has stored may be far apart.
        return Int64(min(Double(StoredNumber.limit), Double(count) * (rows + Double(attemptEntry))))
    }

    /// The first event after ?1, up to ?2, that is known to be accepted since time ?3. The window's bounds of times are ?4 and ?5,
    /// those of ids ?6 and ?7; ?8 is the first id of time ?3.
    static let acceptedSince = """
        SELECT sequence FROM events WHERE sequence > ?1 AND sequence <= ?2
            AND CASE WHEN id BETWEEN ?6 AND ?7 THEN id >= ?8 ELSE time BETWEEN ?4 AND ?5 AND time >= ?3 END
        ORDER BY sequence LIMIT 1
        """
    /// The last event after ?1, before ?2, whose acceptance time is known.
    static let known = """
        SELECT sequence FROM events WHERE sequence > ?1 AND sequence < ?2
            AND (id BETWEEN ?6 AND ?7 OR time BETWEEN ?4 AND ?5)
        ORDER BY sequence DESC LIMIT 1
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
    /// The position in the first row, if there is one.
    private func position(_ statement: Statement) throws(StoreError) -> LogPosition? {
        try statement.row { row throws(StoreError) in try row.natural(0, "position") }
    }

    func firstEvent() throws(StoreError) -> LogPosition {
        connection.startClock()
        return try position(retention.first) ?? 1
    }

    func lastEvent() throws(StoreError) -> LogPosition {
        connection.startClock()
        return try position(retention.last) ?? 0
    }

    func lastEvent(before time: Int64) throws(StoreError) -> LogPosition {
        connection.startClock()
        retention.lastBefore.bind(1, time)
        return try position(retention.lastBefore) ?? 0
    }

    func sequence(since time: Int64) throws(StoreError) -> LogPosition { try places(at: time).early }

    func lastEvent(through time: Int64) throws(StoreError) -> LogPosition { try places(at: time + 1).late - 1 }

    /// The first event that may have been accepted at this time or later, and the first that is known to have been.
    private func places(at time: Int64) throws(StoreError) -> (early: LogPosition, late: LogPosition) {
        func mark(_ statement: Statement) throws(StoreError) -> LogMark? {
            connection.startClock()
            statement.bind(1, time)
            return try statement.row { row throws(StoreError) in try LogMark(row) }
        }
        let window = AcceptanceWindow(
            before: try mark(retention.markBefore), later: try mark(retention.markSince), first: try firstEvent(),
            head: try lastEvent(), now: Clock.system.wall())
        if window.isEmpty { return (window.after + 1, window.end) }
        func find(_ statement: Statement, until end: LogPosition) throws(StoreError) -> LogPosition? {
            connection.startClock()
            for (index, number) in [window.after, end, time, window.low, window.high].enumerated() {
                statement.bind(Int32(index) + 1, number)
            }
            statement.bind(6, window.ids.lowerBound)
            statement.bind(7, window.ids.upperBound)
            return try position(statement)
        }
        retention.acceptedSince.bind(8, AcceptanceWindow.ids(at: time).first)
        let late = try find(retention.acceptedSince, until: window.until) ?? window.end
        return (try find(retention.known, until: late).map { $0 + 1 } ?? window.after + 1, late)
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
        let probes = try retention.attempts.rows { row throws(StoreError) in
            (try row.natural(0, "attempt"), try row.natural(1, "attempt"), row.integer(2))
        }
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
        return try retention.eventSizes.rows { row throws(StoreError) in
            EventSize(try row.natural(0, "position"), bytes: Int(row.integer(1)))
        }
    }

    func removals() throws(StoreError) -> [Removal] {
        connection.startClock()
        return try retention.removals.rows { Removal($0) }.compactMap { $0 }
    }
}
