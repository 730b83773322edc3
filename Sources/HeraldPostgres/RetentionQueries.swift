import HeraldModel
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
        SELECT $1::bigint >> 10, \(AppBlock.owner), count(*), sum(\(bytes))::bigint FROM events
        WHERE sequence BETWEEN $1 AND $2 GROUP BY 2 ORDER BY 2
        """)
    /// Counts whole blocks.
    static let blocksOf = Statement(
        """
        SELECT block, \(AppBlock.owner), count(*), sum(\(bytes))::bigint FROM unnest($1::bigint[]) AS block
        JOIN events ON sequence BETWEEN block << 10 AND ((block + 1) << 10) - 1 GROUP BY block, 2 ORDER BY block, 2
        """)

    /// Counts the positions of a block.
    static func blocks(in places: ClosedRange<LogPosition>) -> Request {
        Request(count) { $0.add(places.lowerBound, places.upperBound) }
    }

    /// The size of the events, by their content: the files of the server do not shrink when rows are removed, and say nothing
    /// of how much is in them. An event takes about 200 bytes more than it contains, in its row and in two indexes.
    static let eventBytes = Statement(
        """
        SELECT coalesce((SELECT sum(bytes + 200 * events) FROM app_blocks), 0)::bigint + coalesce((SELECT sum(\(bytes) + 200)
            FROM events WHERE sequence >= coalesce((SELECT (max(block) + 1) << 10 FROM app_blocks), 0)), 0)::bigint
        """)

    /// The first and the last attempt, and what all take: their number, by rounds, and the mean of some rows, with about 100 bytes
    /// for the header of each and its entries in the indexes.
    ///
    /// The ids of a round are used from its beginning on, and most of a round may be unused (`AttemptRounds`): so the last id of a
    /// round is its number of attempts. Of more than 1,024 rounds, as many that are spread evenly stand for the others.
    static let attempts = Statement(
        """
        WITH span (first, last) AS (SELECT coalesce((SELECT id FROM attempts ORDER BY id LIMIT 1), 0),
            coalesce((SELECT id FROM attempts ORDER BY id DESC LIMIT 1), 0)),
        rounds (first, last, share) AS (SELECT greatest(span.first, \(AttemptRounds.first("round"))), (SELECT id FROM attempts
                WHERE id >= \(AttemptRounds.first("round")) AND id < \(AttemptRounds.first("round + 1")) ORDER BY id DESC LIMIT 1),
                share FROM span,
            LATERAL (SELECT (\(AttemptRounds.round("span.last")) - \(AttemptRounds.round("span.first"))) / 1024 + 1 AS share) AS shares,
            LATERAL generate_series(\(AttemptRounds.round("span.first")), \(AttemptRounds.round("span.last")), share) AS round),
        used AS (SELECT first, last, share, row_number() OVER (ORDER BY first) AS nth, count(*) OVER () AS total
            FROM rounds WHERE last >= first),
        samples (bytes) AS (SELECT pg_column_size(a) + 100 FROM used
            CROSS JOIN LATERAL (SELECT greatest(1, 64 / total) AS several) AS each
            CROSS JOIN LATERAL generate_series(0, several - 1) AS n
            JOIN attempts a ON id = used.first + (used.last - used.first) * (2 * n + 1) / (2 * several)
            WHERE nth % (total / 64 + 1) = 0)
        SELECT first, last, coalesce((SELECT sum((last - first + 1) * share) FROM used) * (SELECT avg(bytes) FROM samples), 0)::bigint
        FROM span
        """)
}
