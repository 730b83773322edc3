import HeraldCore
import HeraldStore

/// Queries about the size of the log.
enum RetentionQueries {
    /// `Event.storedBytes` of a row. The server reads only the length of long data.
    private static let bytes = """
        (octet_length(data) + octet_length(id) + octet_length(type) + coalesce(octet_length(subject), 0)
            + coalesce(octet_length(attributes), 0))::bigint
        """

    static let eventSizes = Statement(
        "SELECT sequence, \(bytes) FROM events WHERE sequence > $1 AND sequence <= $2 ORDER BY sequence LIMIT $3")

    private static let count = Statement(
        """
        SELECT $1::bigint >> 10, app, count(*), sum(\(bytes))::bigint FROM events WHERE sequence BETWEEN $1 AND $2
        GROUP BY app ORDER BY app
        """)
    /// Counts whole blocks.
    static let blocksOf = Statement(
        """
        SELECT block, app, count(*), sum(\(bytes))::bigint FROM unnest($1::bigint[]) AS block
        JOIN events ON sequence BETWEEN block << 10 AND ((block + 1) << 10) - 1 GROUP BY block, app ORDER BY block, app
        """)

    /// Counts the positions of a block.
    static func blocks(
        in places: ClosedRange<LogPosition>, _ run: (Request) throws(StoreError) -> Rows
    ) throws(StoreError) -> [AppBlock] {
        try run(
            Request(count) { parameters in
                parameters.add(places.lowerBound)
                parameters.add(places.upperBound)
            }
        ).map { row throws(StoreError) in try AppBlock(row) }
    }

    /// The size of the events, by their content: the files of the server do not shrink when rows are removed, and say nothing
    /// of how much is in them. An event takes about 200 bytes more than it contains, in its row and in two indexes.
    static let eventBytes = Statement(
        """
        SELECT coalesce((SELECT sum(bytes + 200 * events) FROM app_blocks), 0)::bigint + coalesce((SELECT sum(\(bytes) + 200)
            FROM events WHERE sequence >= coalesce((SELECT (max(block) + 1) << 10 FROM app_blocks), 0)), 0)::bigint
        """)

    /// The first and the last attempt, and what all take, by the mean of 64 ids that are spread evenly between them: their row, and
    /// about 100 bytes in its header and in the indexes. Not every id has an attempt.
    static let attempts = Statement(
        """
        WITH span (first, last) AS (SELECT coalesce((SELECT id FROM attempts ORDER BY id LIMIT 1), 0),
            coalesce((SELECT id FROM attempts ORDER BY id DESC LIMIT 1), 0))
        SELECT first, last, coalesce(((last - first + 1) * (SELECT sum(pg_column_size(a) + 100) / 64
            FROM generate_series(0, 63) AS n JOIN attempts a ON id = first + (last - first + 1) * (2 * n + 1) / 128)), 0)::bigint
        FROM span
        """)
}
