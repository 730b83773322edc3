import Glibc
import HeraldCore
import HeraldTables

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
            if !folder.isInUse {
                try folder.checkHeader()
                if let problem = try LogScan(path: folder.log).problem(with: LogExtent.bound(path: folder.extent)) {
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
            let version = Int(try connection.integer("PRAGMA user_version"))
            guard version <= Schema.migrations.count else {
                throw .newer(path: database, found: version, supported: Schema.migrations.count)
            }
            try structure(connection, version, &report)
            guard version == Schema.migrations.count else {
                return report.good(
                    "events: not checked, since an older version wrote the database (schema version \(version))")
            }
            let head = try events(connection, &report)
            try invariants(connection, head, &report)
        } catch {
            guard case .corrupt(_, let reason) = error else { throw error }
            report.bad("structure: \(reason)")
        }
    }

    private static func structure(
        _ connection: Connection, _ version: Int, _ report: inout Report
    ) throws(StoreError) {
        var problems = try Statement(connection, "PRAGMA integrity_check(20)").rows { $0.text(0) }
        let found = try definitions(connection)
        let model = try Connection(path: ":memory:", .readWrite)
        try Schema.migrate(model, Array(Schema.migrations.prefix(version)))
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

    /// - Returns: the position of the last event.
    private static func events(_ connection: Connection, _ report: inout Report) throws(StoreError) -> LogPosition {
        let reading = try EventReading(connection, DamagedEvents())
        let statement = try Statement(connection, "SELECT \(LoggedEvent.columns) FROM events ORDER BY sequence")
        defer { statement.reset() }
        var gaps = try GapTable.all(connection)
        var (count, unchecked, head) = (0, 0, 0 as LogPosition)
        var damaged: [LogPosition] = []
        var lost: [LogPosition] = []
        while try statement.step() {
            let sequence = statement.integer(0)
            if head > 0, sequence != head + 1, gaps.removeValue(forKey: head + 1) != sequence - 1 {
                report.bad("events: position \(sequence) follows \(head)")
            }
            head = sequence
            count += 1
            if !reading.isIntact(statement) {
                damaged.append(sequence)
            } else {
                if statement.isNull(9) { unchecked += 1 }
                if try LoggedEvent(statement).event.isDamaged { lost.append(sequence) }
            }
        }
        for (first, last) in gaps.sorted(by: { $0.key < $1.key }) {
            report.bad("events: positions \(first) to \(last) are said to be removed")
        }
        if damaged.isEmpty {
            report.good(
                "events: \(count), each as it was stored" + (unchecked > 0 ? " (\(unchecked) without a checksum)" : ""))
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
        ("common positions missing", "SELECT count(*) <> 1 AND ?1 >= 0 FROM progress"),
    ]

    private static func invariants(
        _ connection: Connection, _ head: LogPosition, _ report: inout Report
    ) throws(StoreError) {
        var problems: [String] = []
        for (what, sql) in forbidden {
            let statement = try Statement(connection, sql)
            statement.bind(1, head)
            let count = try statement.row { $0.integer(0) } ?? 0
            if count > 0 { problems.append("\(count) \(what)") }
        }
        let orphans = try Statement(connection, "PRAGMA foreign_key_check").rows { $0.text(0) }
        if !orphans.isEmpty { problems.append("\(orphans.count) rows of a delegate that does not exist") }
        if problems.isEmpty { return report.good("lanes and deliveries: consistent") }
        for problem in problems { report.bad("lanes and deliveries: \(problem)") }
    }
}
