import Glibc
import HeraldModel
import HeraldStore

/// Checks a database: its structure, the checksums of its events, and the consistency of its tables. Changes nothing.
package enum DatabaseCheck {
    package struct Report: Sendable {
        package struct Line: Sendable {
            package let isGood: Bool
            package let text: String
        }

        package private(set) var lines: [Line] = []
        package var isGood: Bool { lines.allSatisfy(\.isGood) }

        mutating func good(_ text: String) { lines.append(Line(isGood: true, text: text)) }
        mutating func bad(_ text: String) { lines.append(Line(isGood: false, text: text)) }
    }

    /// The maximum number of positions of damaged events in a report.
    private static let named = 20

    /// - Parameter path: a data folder, whether a server is running or not, or a backup.
    package static func run(_ path: String) throws -> Report {
        var report = Report()
        if PlainFile.isFolder(path) {
            guard StoreFolder.holdsDatabase(path) else {
                throw MaintenanceError(kind: .input, description: "There is no Herald database in \(path).")
            }
            let folder = try StoreFolder(path)
            if let state = try MoveMark.read(folder) { report.bad("migration: \(state.error(path))") }
            if !folder.isInUse {
                try folder.checkHeader()
                let bound = LogExtent.bound(path: folder.extent)
                if let problem = try LogScan.problem(in: folder, bound, wasInUse: LockFile.logWasInUse(folder)) {
                    report.bad("write-ahead log: \(problem)")
                } else {
                    report.good("write-ahead log: complete")
                }
            }
            // Opening a cleanly closed database this way creates no files beside it.
            try check(folder.database, (folder.size(folder.log) ?? 0) > 0 ? .readOnly : .immutable, &report)
        } else {
            let backup = try Backup.verified(path)
            report.good("backup: \(backup.size) bytes, as they were written")
            guard let real = realpath(path, nil) else {
                throw MaintenanceError(kind: .input, description: "\(path) can't be read.")
            }
            defer { free(real) }
            try check(String(cString: real), .immutable, &report)
        }
        return report
    }

    private static func check(_ database: String, _ access: Connection.Access, _ report: inout Report) throws {
        let connection = try Connection(path: database, access)
        do throws(StoreError) {
            // One snapshot, also while a server writes.
            try connection.execute("BEGIN")
            let version = try Schema.version(connection)
            guard version > 0 else {
                throw .corrupt(path: database, reason: "it holds no tables of Herald")
            }
            try structure(connection, version, &report)
            guard version == Schema.version() else {
                return report.good(
                    "events: not checked, since an older version wrote the database (schema version \(version))")
            }
            try numbers(connection, &report)
            try rows(connection, &report)
            let head = try events(connection, &report)
            try invariants(connection, head, &report)
        } catch {
            switch error {
            case .corrupt(_, let reason): report.bad("structure: \(reason)")
            case .unreadable(let reason): report.bad("rows: \(reason)")
            default: throw error
            }
        }
    }

    private static func structure(
        _ connection: Connection, _ version: Int, _ report: inout Report
    ) throws(StoreError) {
        var problems = try Statement(connection, "PRAGMA integrity_check(20)").rows { $0.text(0) }
        let found = try definitions(connection)
        let model = try Connection(path: ":memory:", .readWrite)
        try Schema.migrate(model, Array(Schema.migrations.prefix(version - Schema.first + 1)))
        for (name, sql) in try definitions(model).sorted(by: { $0.key < $1.key }) where found[name] != sql {
            if problems == ["ok"] { problems = [] }
            problems.append("the definition of \(name) is not that of this version")
        }
        if problems == ["ok"] { return report.good("structure: intact") }
        for problem in problems { report.bad("structure: \(problem)") }
    }

    /// The text that defines each table and index.
    private static func definitions(_ connection: Connection) throws(StoreError) -> [String: String] {
        let rows = try Statement(connection, "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").rows {
            ($0.text(0), $0.text(1))
        }
        return Dictionary(rows) { $1 }
    }

    /// The columns whose numbers may be negative: times, and the attempt before the first one.
    private static let signed: Set = [
        "time", "started_at", "due_at", "since", "created_at", "updated_at", "deleted_at", "expires_at",
        "failing_since",
        "last_used_at", "previous", "checksum",
    ]

    /// For each table, the condition of rows with numbers that Herald can't have written (`StoredNumber`).
    static func impossibleRows(_ connection: Connection) throws(StoreError) -> [(table: String, isWrong: String)] {
        let columns = try Statement(
            connection,
            """
            SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
            WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type = 'INTEGER' ORDER BY t.name, c.cid
            """
        ).rows { ($0.text(0), $0.text(1)) }
        let limit = StoredNumber.limit
        return Dictionary(grouping: columns, by: \.0).sorted { $0.key < $1.key }.map { table, names in
            let wrong = names.map { "\($0.1) NOT BETWEEN \(signed.contains($0.1) ? -limit : 0) AND \(limit)" }
            return (table, wrong.joined(separator: " OR "))
        }
    }

    private static func numbers(_ connection: Connection, _ report: inout Report) throws(StoreError) {
        for (table, isWrong) in try impossibleRows(connection) {
            let count = try connection.integer("SELECT count(*) FROM \(table) WHERE \(isWrong)")
            if count > 0 { report.bad("\(table): \(count) rows with impossible numbers") }
        }
    }

    /// Reports the rows with which the server would refuse to start, or refuse requests.
    private static func rows(_ connection: Connection, _ report: inout Report) throws(StoreError) {
        let isSealed = try connection.integer("SELECT count(*) FROM sealing") > 0
        for table in UnreadableRows.all(isSealed: isSealed) {
            let (found, count) = try table.find(connection, limit: named)
            for row in found { report.bad(plain("\(table.table): row \(row.name) can't be read: \(row.reason)")) }
            if count > found.count { report.bad("\(table.table): \(count - found.count) more rows can't be read") }
        }
    }

    /// Any value may be in a damaged row: no control characters reach the terminal.
    private static func plain(_ text: String) -> String {
        let question: Unicode.Scalar = "?"
        var plain = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(300) {
            plain.append(scalar.properties.generalCategory == .control ? question : scalar)
        }
        return String(plain)
    }

    /// - Returns: the position of the last event.
    private static func events(_ connection: Connection, _ report: inout Report) throws(StoreError) -> LogPosition {
        let reading = EventReading(.hashed, DamagedEvents())
        let statement = try Statement(connection, "SELECT \(LoggedEvent.columns) FROM events ORDER BY sequence")
        defer { statement.reset() }
        var gaps = try GapTable.all(connection)
        var (count, head) = (0, 0 as LogPosition)
        var damaged: [LogPosition] = []
        var lost: [LogPosition] = []
        while try statement.step() {
            let sequence = statement.integer(0)
            // `numbers` reports it.
            guard (0...StoredNumber.limit).contains(sequence) else { continue }
            if head > 0, sequence != head + 1, gaps.removeValue(forKey: head + 1) != sequence - 1 {
                report.bad("events: position \(sequence) follows \(head)")
            }
            head = sequence
            count += 1
            if !reading.isIntact(statement) {
                damaged.append(sequence)
            } else if try LoggedEvent(statement).event.isDamaged {
                lost.append(sequence)
            }
        }
        for (first, last) in gaps.sorted(by: { $0.key < $1.key }) {
            report.bad("events: positions \(first) to \(last) are said to be removed")
        }
        if damaged.isEmpty {
            report.good("events: \(count), each as it was stored")
        } else {
            report.bad("events: \(damaged.count) of \(count) are damaged, at \(list(damaged))")
        }
        if !lost.isEmpty { report.good("events: \(lost.count) were lost in an earlier salvage, at \(list(lost))") }
        return head
    }

    static func list(_ positions: [LogPosition]) -> String {
        positions.prefix(named).map(String.init).joined(separator: ", ") + (positions.count > named ? ", …" : "")
    }

    /// Rows that must not exist. ?1 is the position of the last event.
    private static let forbidden: [(what: String, sql: String)] = [
        ("deliveries that wait for an event beyond the log", "SELECT count(*) FROM waiting WHERE event > ?1"),
        ("deliveries in an unknown state", "SELECT count(*) FROM waiting WHERE state NOT BETWEEN 1 AND 5 AND ?1 >= 0"),
        ("lanes beyond the log", "SELECT count(*) FROM lanes WHERE cursor > ?1 OR position > ?1"),
        ("common positions beyond the log", "SELECT count(*) FROM progress WHERE settled > ?1"),
        ("replays beyond the log", "SELECT count(*) FROM replays WHERE cursor > ?1 OR until > ?1"),
        (
            "counts of scheduled events that are wrong",
            """
            SELECT count(*) FROM (SELECT app, sum(events) AS events, sum(bytes) AS bytes FROM (
                SELECT app, events, bytes FROM pending_counts
                UNION ALL SELECT app, -count(*), -sum(bytes) FROM pending GROUP BY app)
            GROUP BY app) WHERE (events <> 0 OR bytes <> 0) AND ?1 >= 0
            """
        ),
        ("common positions missing", "SELECT count(*) <> 1 AND ?1 >= 0 FROM progress"),
    ]

    private static func invariants(
        _ connection: Connection, _ head: LogPosition, _ report: inout Report
    ) throws(StoreError) {
        var problems: [String] = []
        for (what, sql) in forbidden {
            let count = try Statement(connection, sql).bound(head).row { $0.integer(0) } ?? 0
            if count > 0 { problems.append("\(count) \(what)") }
        }
        let orphans = try Statement(connection, "PRAGMA foreign_key_check").rows { $0.text(0) }
        if !orphans.isEmpty { problems.append("\(orphans.count) rows of a delegate that does not exist") }
        if problems.isEmpty { return report.good("lanes and deliveries: consistent") }
        for problem in problems { report.bad("lanes and deliveries: \(problem)") }
    }
}
