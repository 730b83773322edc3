package import HeraldModel

/// Shared statements of refused events.
package enum RefusalStatement: Int, CaseIterable, Sendable {
    case add, count, trim, list, removeAbout, removeOfApp

    func text(_ dialect: SQLDialect) -> String {
        switch self {
        case .add:
            """
            INSERT INTO pending_refused (\(RefusedEvent.columns))
            VALUES ((SELECT coalesce(max(key), 0) + 1 FROM pending_refused), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """
        case .count: "SELECT app, count(*) FROM pending_refused GROUP BY app"
        case .trim:
            "DELETE FROM pending_refused WHERE key IN (SELECT key FROM pending_refused ORDER BY key LIMIT ?1)"
        case .list:
            """
            SELECT \(RefusedEvent.columns) FROM pending_refused WHERE app = ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3
            """
        case .removeAbout:
            """
            DELETE FROM pending_refused WHERE key IN
                (SELECT key FROM pending_refused WHERE app = ?1 AND subject = ?2 LIMIT ?3)
            """
        case .removeOfApp:
            """
            DELETE FROM pending_refused WHERE key IN
                (SELECT key FROM pending_refused WHERE app = ?1 ORDER BY key LIMIT ?2)
            """
        }
    }
}

extension Submission {
    package static let columns = "key, app, id, type, subject, time, data, deliver_at"

    /// - Parameter what: names the row in an error.
    package init(_ row: some ResultRow, _ what: String) throws(StoreError) {
        self.init(
            key: try row.natural(0, what), app: try row.app(1), id: row.text(2), type: row.text(3),
            subject: row.optionalText(4), time: try row.time(5), data: row.bytes(6),
            deliverAt: row.isNull(7) ? nil : try row.time(7))
    }
}

extension RefusedEvent: RowConvertible {
    package static let columns = "\(Submission.columns), reason, refused_at"

    package init(_ row: some ResultRow) throws(StoreError) {
        self.init(try Submission(row, "refused event"), reason: row.text(8), refusedAt: try row.time(9))
    }
}

/// Keeps refused events.
extension SharedTransaction {
    package func addRefused(_ event: RefusedEvent) throws(StoreError) {
        let submission = event.submission
        try record(
            .refusal(.add),
            [
                submission.app, submission.id, submission.type, submission.subject, submission.time, submission.data,
                submission.deliverAt, event.reason, event.refusedAt,
            ])
    }

    package func trimRefused() throws(StoreError) {
        try trim(
            to: RefusedEvent.limit, .refusal(.count), ofApp: .refusal(.removeOfApp), oldest: .refusal(.trim))
    }

    package func removeRefused(about subject: String?, app: AppKey, limit: Int) throws(StoreError) -> Int {
        guard let subject else { return try change(.refusal(.removeOfApp), [app, limit]) }
        return try change(.refusal(.removeAbout), [app, subject, limit])
    }
}

/// Reads refused events.
extension SharedReader {
    package func refused(_ app: AppKey, before key: Int64, limit: Int) throws(StoreError) -> [RefusedEvent] {
        try rows(.refusal(.list), [app, key, limit])
    }
}
