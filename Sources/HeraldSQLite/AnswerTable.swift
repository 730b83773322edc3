import HeraldModel
import HeraldStore

/// The remembered responses of idempotency keys, for the writer: the table `answers`. Bodies are sealed, since they may
/// contain a secret.
struct AnswerTable {
    private let columnSealer: ColumnSealer
    private let find, set, page, pageOfApp, remove: Statement

    /// The maximum number of rows in memory while all are visited.
    private static let pageSize = 256

    init(_ connection: Connection, _ columnSealer: ColumnSealer) throws(StoreError) {
        self.columnSealer = columnSealer
        find = try connection.prepare(
            "SELECT \(StoredAnswer.columns) FROM answers WHERE app = ?1 AND key = ?2 AND expires_at > ?3")
        set = try connection.prepare(
            """
            INSERT OR REPLACE INTO answers (\(StoredAnswer.columns), app, key, expires_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """)
        page = try connection.prepare(
            "SELECT rowid, app, key, body FROM answers WHERE rowid > ?1 ORDER BY rowid LIMIT ?2")
        pageOfApp = try connection.prepare(
            "SELECT rowid, key, body FROM answers WHERE app = ?1 AND key > ?2 ORDER BY key LIMIT ?3")
        remove = try connection.prepare("DELETE FROM answers WHERE rowid = ?1")
    }

    func answer(app: AppKey, key: String, now: Int64) throws(StoreError) -> StoredAnswer? {
        find.bind(1, app.rawValue)
        find.bind(2, key)
        find.bind(3, now)
        return try find.row { row throws(StoreError) in try StoredAnswer(row, app: app, key: key, columnSealer) }
    }

    func set(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) throws(StoreError) {
        set.bind(1, copying: answer.fingerprint)
        set.bind(2, Int64(answer.status))
        set.bind(3, TextList.encode(answer.headers))
        set.bind(5, app.rawValue)
        set.bind(6, key)
        set.bind(7, expiresAt)
        try set.run(4, lent: try columnSealer.seal(answer.body, .answer(app, key: key)))
    }

    /// The maximum number of bytes of responses that are searched at once; the last one may exceed it.
    private static let pageBytes = 256 << 10

    /// Searches at most `limit` responses behind a key, and removes those that name the subject or that no request can get.
    /// - Returns: the number of rows removed, and the key behind which the search continues; `nil` if it is complete.
    func removeThose(
        of app: AppKey, naming subject: ErasedSubject, after key: String, limit: Int
    ) throws(StoreError) -> (removed: Int, next: String?) {
        var (removed, last, left) = (0, key, limit)
        while left > 0 {
            let page = pageOfApp.bound(app, last, min(left, Self.pageSize))
            var bytes = 0
            let hasRoom = { bytes < Self.pageBytes }
            let rows = try page.rows(while: hasRoom) { row in
                let body = row.bytes(2)
                bytes += body.count
                return (id: row.integer(0), key: try? row.key(1, "key of a response"), body: body)
            }
            if rows.isEmpty { return (removed, nil) }
            for row in rows {
                // No request has a key that is not UTF-8.
                if let key = row.key, !subject.mayBeNamed(in: row.body, .answer(app, key: key), columnSealer) {
                    continue
                }
                try remove.bound(row.id).run()
                removed += 1
            }
            last = rows.compactMap { $0.key }.last ?? last
            // Many bytes cost as much as many responses.
            left -= bytes < Self.pageBytes ? rows.count : left
        }
        return (removed, last)
    }

    /// The body of a response, as stored.
    typealias StoredBody = (row: Int64, app: AppKey, key: String, body: [UInt8])

    /// Calls the closure with each row; the closure may change the row.
    func visit(_ body: (StoredBody) throws(StoreError) -> Void) throws(StoreError) {
        var last: Int64 = .min
        while true {
            let rows: [StoredBody] = try page.bound(last, Self.pageSize).rows {
                (row: $0.integer(0), app: AppKey(rawValue: $0.integer(1)), key: $0.text(2), body: $0.bytes(3))
            }
            for row in rows { try body(row) }
            guard rows.count == Self.pageSize, let end = rows.last else { return }
            last = end.row
        }
    }
}
