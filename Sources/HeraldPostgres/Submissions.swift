import HeraldCore
import HeraldStore

/// Events that programs publish with `herald.publish`, until a node moves them into the log.
enum SubmissionQueries {
    static let columns = "key, app, id, type, subject, time, data, deliver_at"

    /// The oldest of each app, then the second ones, and so on: at most $1, and no more once their data has $2 bytes.
    ///
    /// With `app = owners.app`, PostgreSQL may read the primary key and skip the rows of other apps. `BETWEEN` makes it use
    /// the index `submissions_of_apps`.
    static let list = Statement(
        """
        WITH RECURSIVE owners AS (
            SELECT min(app) AS app FROM submissions
            UNION ALL
            SELECT (SELECT min(s.app) FROM submissions s WHERE s.app > owners.app) FROM owners
            WHERE owners.app IS NOT NULL
        ), turns AS (
            SELECT found.key, found.turn FROM owners CROSS JOIN LATERAL (
                SELECT oldest.key, row_number() OVER (ORDER BY oldest.key) AS turn FROM (
                    SELECT s.key FROM submissions s WHERE s.app BETWEEN owners.app AND owners.app
                    ORDER BY s.app, s.key LIMIT $1) AS oldest
            ) AS found
            ORDER BY found.turn, found.key LIMIT $1
        )
        SELECT \(columns) FROM (
            SELECT s.*, turns.turn, sum(octet_length(s.data)) OVER (ORDER BY turns.turn, s.key ROWS UNBOUNDED PRECEDING)
                - octet_length(s.data) AS bytes_before FROM turns JOIN submissions s ON s.key = turns.key) AS sized
        WHERE bytes_before < $2::bigint ORDER BY turn, key
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
        let rows = try run(SubmissionQueries.remove) { parameters in parameters.add(keys) { $0 } }
        let found = try rows.map { row throws(StoreError) in (try row.natural(0, "event from SQL"), row.flag(1)) }
        return Dictionary(found) { $1 }
    }

    func removeSubmissions(about subject: String?, app: AppKey, limit: Int) throws(StoreError) -> Int {
        try run(SubmissionQueries.removeAbout) { parameters in
            parameters.add(app.rawValue)
            parameters.add(subject)
            parameters.add(limit)
        }.changed
    }
}
