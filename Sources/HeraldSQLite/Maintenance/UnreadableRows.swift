import HeraldModel
import HeraldStore

/// Finds the rows that the server could not read. Each is read with the decoder of the server, and its JSON is checked.
struct UnreadableRows {
    let table: String
    /// The columns of the primary key.
    private let key: [String]
    /// As `read` expects them.
    private let columns: String
    /// Columns with JSON, or NULL.
    private let json: [String]
    /// Excludes tombstones, which the server does not read.
    private let condition: String
    private let read: (Statement) throws(StoreError) -> Void

    /// A row that could not be read.
    struct Row {
        let key: [ColumnValue]
        /// The key with bytes for its texts, if one of them is not UTF-8; `nil` otherwise.
        let bytes: [ColumnValue]?
        let reason: String

        /// The values of its key, for reports.
        var name: String { key.map(\.shown).joined(separator: ", ") }
    }

    private init(
        _ table: String, key: [String], _ columns: String, json: [String] = [], where condition: String = "TRUE",
        _ read: @escaping (Statement) throws(StoreError) -> Void
    ) {
        self.table = table
        self.key = key
        self.columns = columns
        self.json = json
        self.condition = condition
        self.read = read
    }

    private init<Value: RowConvertible>(
        _ table: String, key: [String], _ columns: String, json: [String] = [], where condition: String = "TRUE",
        of type: Value.Type
    ) {
        self.init(table, key: key, columns, json: json, where: condition) { row throws(StoreError) in
            _ = try Value(row)
        }
    }

    /// The tables with values that can be unreadable. `DatabaseCheck` checks the numbers of all tables by itself.
    /// - Parameter isSealed: the sealed columns are not read, since there is no key for them.
    static func all(isSealed: Bool) -> [UnreadableRows] {
        let exists = "deleted_at IS NULL"
        return [
            UnreadableRows("delegates", key: ["key"], WebhookDelegate.columns, where: exists) {
                row throws(StoreError) in
                if isSealed {
                    try WebhookDelegate.checkUnsealed(row)
                } else {
                    _ = try WebhookDelegate(row, ColumnSealer.none)
                }
            },
            UnreadableRows("apps", key: ["key"], App.columns, where: exists, of: App.self),
            UnreadableRows("keys", key: ["id"], APIKey.columns, of: APIKey.self),
            UnreadableRows("passes", key: ["digest"], Session.columns, of: Session.self),
            UnreadableRows(
                "event_types", key: ["app", "type"], EventTypeRecord.columns, json: ["example", "schema"],
                of: EventTypeRecord.self),
            UnreadableRows(
                "auth_status", key: ["app", "user_id"], AuthStatus.columns, json: ["\"user\""], of: AuthStatus.self),
            UnreadableRows("app_states", key: ["app"], AppState.columns, json: ["state"], of: AppState.self),
            // The body may be sealed, and any bytes are one.
            UnreadableRows("answers", key: ["app", "key"], StoredAnswer.columns + ", app, key") {
                row throws(StoreError) in
                _ = try StoredAnswer(row, app: AppKey(rawValue: row.integer(4)), key: row.text(5), ColumnSealer.none)
            },
            UnreadableRows("leases", key: ["delegate", "id"], PullLease.columns, of: PullLease.self),
            UnreadableRows("audit", key: ["id"], StoredAuditEntry.columns, of: StoredAuditEntry.self),
            UnreadableRows("attempts", key: ["id"], StoredAttempt.columns, of: StoredAttempt.self),
            UnreadableRows(
                "statistics", key: ["delegate", "start"], DeliveryStatistics.columns, of: DeliveryStatistics.self),
            UnreadableRows("pending", key: ["key"], PendingEvent.columns, json: ["data"]) { row throws(StoreError) in
                // The server puts such an event aside when it is due.
                if PendingEvent(row).event.isDamaged {
                    throw StoreError.unreadable(reason: "the event is damaged")
                }
            },
        ]
    }

    /// Reads all rows.
    /// - Parameter limit: the maximum number of rows to return.
    func find(_ connection: Connection, limit: Int = .max) throws(StoreError) -> (rows: [Row], count: Int) {
        let checks = json.map { ", \($0) IS NULL OR json_valid(CAST(\($0) AS TEXT))" }.joined()
        let statement = try Statement(
            connection,
            "SELECT \(columns)\(checks), \(key.joined(separator: ", ")) FROM \(table) WHERE \(condition)")
        defer { statement.reset() }
        let first = Int32(columns.split(separator: ",").count)
        let keys = first + Int32(json.count)
        var found: [Row] = []
        var count = 0
        while try statement.step() {
            guard let reason = try reason(statement, first) else { continue }
            count += 1
            if found.count < limit {
                let values = key.indices.map { statement.value(keys + Int32($0)) }
                let bytes = key.indices.map { index -> ColumnValue in
                    values[index].text == nil ? values[index] : .blob(statement.bytes(keys + Int32(index)))
                }
                let isUTF8 = zip(values, bytes).allSatisfy { value, bytes in
                    value.text.map { Array($0.utf8) == bytes.blob } ?? true
                }
                found.append(Row(key: values, bytes: isUTF8 ? nil : bytes, reason: reason))
            }
        }
        return (found, count)
    }

    /// - Parameter first: the first column with the check of a JSON column.
    /// - Returns: why the current row can't be read; `nil` if it can.
    private func reason(_ row: Statement, _ first: Int32) throws(StoreError) -> String? {
        do throws(StoreError) {
            try read(row)
        } catch {
            guard case .unreadable(let reason) = error else { throw error }
            return reason
        }
        let wrong = json.indices.first { row.integer(first + Int32($0)) == 0 }
        return wrong.map { "\(json[$0]) is not JSON" }
    }

    /// Removes rows that `find` has returned.
    func remove(_ rows: [Row], _ connection: Connection) throws(StoreError) {
        if rows.isEmpty { return }
        let isMeant = key.enumerated().map { "\($1) IS ?\($0 + 1)" }.joined(separator: " AND ")
        let removal = try Statement(connection, "DELETE FROM \(table) WHERE \(isMeant)")
        let isExact = key.enumerated().map { "CAST(\($1) AS BLOB) IS CAST(?\($0 + 1) AS BLOB)" }
            .joined(separator: " AND ")
        let exactRemoval = try Statement(connection, "DELETE FROM \(table) WHERE \(isExact)")
        for row in rows {
            let statement = row.bytes == nil ? removal : exactRemoval
            for (index, value) in (row.bytes ?? row.key).enumerated() { statement.bind(Int32(index) + 1, value) }
            try statement.run()
        }
    }
}
