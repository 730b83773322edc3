import HeraldModel
import HeraldStore

/// Events that programs publish with `herald.publish`, until a node moves them into the log.
enum SubmissionQueries {
    /// The oldest of each app, then the second ones, and so on: at most $1, and no more once their data has $2 bytes. The apps
    /// are those after the app $3, and behind them the first ones: at most $1.
    ///
    /// With `app = owners.app`, PostgreSQL may read the primary key and skip the rows of other apps. `BETWEEN` makes it use
    /// the index `submissions_of_apps`.
    static let list = Statement(
        """
        WITH RECURSIVE visits AS (
            SELECT lap, high, 1::bigint AS number,
                (SELECT min(s.app) FROM submissions s WHERE s.app > low AND s.app <= high) AS app
            FROM (VALUES (1, $3::bigint, 9223372036854775807), (2, 0::bigint, $3::bigint)) AS laps (lap, low, high)
            UNION ALL
            SELECT lap, high, number + 1,
                (SELECT min(s.app) FROM submissions s WHERE s.app > visits.app AND s.app <= visits.high)
            FROM visits WHERE visits.app IS NOT NULL AND number < $1::bigint
        ), owners AS (
            SELECT app, row_number() OVER (ORDER BY lap, app) AS nth FROM visits WHERE app IS NOT NULL
            ORDER BY nth LIMIT $1
        ), turns AS (
            SELECT found.key, found.turn, owners.nth FROM owners CROSS JOIN LATERAL (
                SELECT oldest.key, row_number() OVER (ORDER BY oldest.key) AS turn FROM (
                    SELECT s.key FROM submissions s WHERE s.app BETWEEN owners.app AND owners.app
                    ORDER BY s.app, s.key LIMIT $1) AS oldest
            ) AS found
            ORDER BY found.turn, owners.nth LIMIT $1
        )
        SELECT \(Submission.columns) FROM (
            SELECT s.*, turns.turn, turns.nth,
                sum(octet_length(s.data)) OVER (ORDER BY turns.turn, turns.nth ROWS UNBOUNDED PRECEDING)
                - octet_length(s.data) AS bytes_before FROM turns JOIN submissions s ON s.key = turns.key) AS sized
        WHERE bytes_before < $2::bigint ORDER BY turn, nth
        """)
    static let remove = Statement(
        """
        DELETE FROM submissions WHERE key = ANY($1::bigint[]) RETURNING key,
            EXISTS (SELECT 1 FROM events WHERE events.app = submissions.app AND events.id = submissions.id)
        """)
    static let removeAbout = Statement(
        """
        DELETE FROM submissions WHERE key IN
            (SELECT key FROM submissions WHERE app = $1 AND ($2::text IS NULL OR subject = $2::text) LIMIT $3)
        """)
    static let count = Statement("SELECT count(*) FROM submissions")
}

extension Transaction {
    func removeSubmissions(_ keys: [Int64]) throws(StoreError) -> [Int64: Bool] {
        let rows = try run(Request(SubmissionQueries.remove, numbers: keys))
        let found = try rows.map { row throws(StoreError) in (try row.natural(0, "event from SQL"), row.flag(1)) }
        return Dictionary(found) { $1 }
    }

    func removeSubmissions(about subject: String?, app: AppKey, limit: Int) throws(StoreError) -> Int {
        try run(SubmissionQueries.removeAbout) { $0.add(app.rawValue, subject, limit) }.changed
    }
}
