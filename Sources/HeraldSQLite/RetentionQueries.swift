import HeraldModel
import HeraldRuntime
import HeraldStore

/// The queries of a reader about the age and size of the log.
struct RetentionQueries {
    let last, pages, attempts, eventSizes: Statement

    init(_ connection: Connection) throws(StoreError) {
        last = try connection.prepare("SELECT ifnull(max(sequence), 0) FROM events")
        eventSizes = try connection.prepare(RetentionQueries.eventSizes)
        attempts = try connection.prepare(RetentionQueries.attempts)
        pages = try connection.prepare(
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
}

extension Reader {
    func lastEvent() throws(StoreError) -> LogPosition {
        connection.startClock()
        return try retention.last.row { row throws(StoreError) in try row.natural(0, "position") } ?? 0
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
        return try retention.eventSizes.bound(sequence, end, limit).rows { row throws(StoreError) in
            EventSize(try row.natural(0, "position"), bytes: Int(row.integer(1)))
        }
    }
}
