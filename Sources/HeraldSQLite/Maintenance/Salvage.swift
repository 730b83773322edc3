import Glibc
import HeraldModel
import HeraldStore

/// Copies everything intact of a damaged database into a new one.
package enum Salvage {
    /// - Parameters:
    ///   - from: a data folder that no server uses. It is not changed.
    ///   - folder: created if it is missing; must be empty.
    /// - Returns: what was copied and what was lost.
    package static func run(from: String, to folder: String) throws -> DatabaseCheck.Report {
        guard StoreFolder.holdsDatabase(from) else {
            throw MaintenanceError(kind: .input, description: "There is no Herald database in \(from).")
        }
        guard PlainFile.isFree(folder) else {
            throw MaintenanceError(
                kind: .output,
                description: "\(folder) is not empty. Choose a folder that does not exist yet, or an empty one.")
        }
        let source = try StoreFolder(from)
        let lock = try LockFile(source)
        defer { withExtendedLifetime(lock) {} }
        let target = try StoreFolder(folder)
        let copy = target.path + "/damaged.db"
        func removeCopy() { for suffix in ["", "-wal", "-shm", "-journal"] { unlink(copy + suffix) } }
        defer { removeCopy() }
        do {
            var report = DatabaseCheck.Report()
            try copyFiles(source, to: copy, wasInUse: lock.logWasInUse, &report)
            try SQLiteStore.prepare(target)
            try copyRows(copy, to: target.newDatabase, &report)
            // Only now: after a crash, a server and `herald check` would take an empty database for what was salvaged.
            try target.publishNewDatabase()
            return report
        } catch {
            for suffix in ["", "-wal", "-shm"] { unlink(target.newDatabase + suffix) }
            if case StoreError.corrupt(_, let reason) = error {
                throw MaintenanceError(
                    kind: .damage,
                    description: "\(from) can't be salvaged: \(reason). Restore a backup with `herald restore`.")
            }
            throw error
        }
    }

    private static func copyFiles(
        _ source: StoreFolder, to copy: String, wasInUse: Bool, _ report: inout DatabaseCheck.Report
    ) throws {
        let database = try PlainFile(reading: source.database)
        try database.copy(database.size, to: copy)
        try fill(copy, &report)
        let bound = LogExtent.bound(path: source.extent)
        let problem = try LogScan.problem(in: source, bound, wasInUse: wasInUse)
        let intact = try LogScan(path: source.log).committed
        if let problem {
            report.bad("write-ahead log: \(problem); after its first \(intact) pages, everything is missing")
        }
        // SQLite reads it as far as it is intact.
        guard let size = source.size(source.log), size > 0 else { return }
        try PlainFile(reading: source.log).copy(size, to: copy + "-wal")
    }

    /// Adds zeros in the place of missing pages at the end: without them, SQLite reads nothing of the file.
    private static func fill(_ copy: String, _ report: inout DatabaseCheck.Report) throws {
        let file = try PlainFile(changing: copy)
        guard file.size > 0 else { return report.bad("herald.db: it is empty") }
        let header = try file.read(32, at: 0)
        guard header.count == 32 else { return report.bad("herald.db: it has \(file.size) bytes") }
        let pages = Int(LogFrame.number(header, 28))
        let size = pages * LogFrame.pageSize
        guard file.size < size else { return }
        report.bad("herald.db: \(pages - file.size / LogFrame.pageSize) of \(pages) pages are missing")
        try file.extend(to: size)
    }

    private static func copyRows(_ damaged: String, to database: String, _ report: inout DatabaseCheck.Report) throws {
        let from = try Connection(path: damaged, .readWrite)
        try Pragmas.set(Pragmas.writer, cache: SQLiteStore.Caches().writer, on: from)
        // Read rows as far as possible: damage in a page is detected there.
        try from.execute("PRAGMA cell_size_check = 0; PRAGMA foreign_keys = 0")
        guard try Schema.version(from) > 0 else {
            throw StoreError.corrupt(path: damaged, reason: "it holds no tables of Herald")
        }
        try Schema.migrate(from)
        let to = try Connection(path: database, .readWrite)
        try Pragmas.set(Pragmas.writer, cache: SQLiteStore.Caches().writer, on: to)
        try to.execute("PRAGMA foreign_keys = 0; BEGIN IMMEDIATE")
        let tables = try Statement(
            to, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        .rows { $0.text(0) }
        for table in tables.sorted() where table != "events" { try TableCopy(table, from, to).run(&report) }
        for (table, isWrong) in try DatabaseCheck.impossibleRows(to) {
            try to.execute("DELETE FROM \(table) WHERE \(isWrong)")
            if to.changes > 0 { report.bad("\(table): \(to.changes) rows with impossible numbers were left out") }
        }
        let isSealed = try to.integer("SELECT count(*) FROM sealing") > 0
        // A scheduled event that is damaged is put aside by the server, with its data.
        for rows in UnreadableRows.all(isSealed: isSealed) where rows.table != "pending" {
            let found = try rows.find(to).rows
            try rows.remove(found, to)
            if !found.isEmpty { report.bad("\(rows.table): \(found.count) rows that can't be read were left out") }
        }
        try TableCopy("events", from, to).runEvents(&report)
        // Remove the rows of lost delegates. A lost lane starts at the common position.
        for table in ["lanes", "waiting", "replays", "statistics", "unannounced", "leases"] {
            try to.execute("DELETE FROM \(table) WHERE delegate NOT IN (SELECT key FROM delegates)")
        }
        // A lost event has an entry that is marked as damaged.
        try GapTable.derive(to)
        try to.execute(
            "INSERT INTO progress SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM progress);"
                + "DELETE FROM waiting WHERE event > (SELECT ifnull(max(sequence), 0) FROM events)"
                + " OR state NOT BETWEEN 1 AND 5;"
                // The next events get the positions of lost ones, and would count as delivered. The rows are links of lists.
                + "UPDATE attempts SET delegate = 0, event = 0"
                + " WHERE event > (SELECT ifnull(max(sequence), 0) FROM events);"
                // The log may end before the last block that was full.
                + "DELETE FROM app_blocks WHERE block >= (SELECT ifnull(max(sequence), 0) + 1 FROM events) >> 10;"
                + "DELETE FROM pending_counts; INSERT INTO pending_counts"
                + " SELECT app, count(*), sum(bytes) FROM pending GROUP BY app;"
                + "UPDATE lanes SET cursor = min(cursor, (SELECT ifnull(max(sequence), 0) FROM events)),"
                + " position = min(position, (SELECT ifnull(max(sequence), 0) FROM events));"
                + "UPDATE progress SET settled = min(settled, (SELECT ifnull(max(sequence), 0) FROM events));"
                + "UPDATE replays SET cursor = min(cursor, (SELECT ifnull(max(sequence), 0) FROM events)),"
                + " until = min(until, (SELECT ifnull(max(sequence), 0) FROM events)); COMMIT")
        // Everything is in the one file that will be renamed.
        guard try to.checkpoint(.truncate) else { throw StoreError.failed(reason: "the new database is in use") }
        try to.checkpointOnClose()
    }
}

/// Copies the readable rows of a table.
struct TableCopy {
    private let table: String
    private let from, to: Connection
    private let columns: [String]

    init(_ table: String, _ from: Connection, _ to: Connection) throws(StoreError) {
        self.table = table
        self.from = from
        self.to = to
        columns = try Statement(to, "SELECT name FROM pragma_table_info('\(table)') ORDER BY cid").rows { $0.text(0) }
    }

    private func insertion() throws(StoreError) -> Statement {
        let parameters = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        return try Statement(
            to, "INSERT OR IGNORE INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(parameters))")
    }

    /// - Parameter failure: an error of the target itself, such as a full disk, which ends the copy.
    /// - Returns: whether the row could be added.
    private func add(_ row: Statement, _ insertion: Statement, _ failure: inout StoreError?) -> Bool {
        for index in columns.indices { insertion.bind(Int32(index) + 1, row.value(Int32(index))) }
        do throws(StoreError) {
            try insertion.run()
            return to.changes > 0
        } catch {
            // The target refuses a row that is impossible in the table.
            if case .failed = error { return false }
            failure = error
            return false
        }
    }

    /// Reads from the first row until one can't be read, then from the last row backwards.
    func run(_ report: inout DatabaseCheck.Report) throws(StoreError) {
        try to.execute("DELETE FROM \(table)")
        let insertion = try insertion()
        var copied = 0
        var problem: StoreError?
        var failure: StoreError?
        for order in try ["", order()] {
            problem = nil
            do throws(StoreError) {
                let rows = try Statement(
                    from, "SELECT \(columns.joined(separator: ", ")) FROM \(table) NOT INDEXED \(order)")
                defer { rows.reset() }
                while failure == nil, try rows.step() { if add(rows, insertion, &failure) { copied += 1 } }
            } catch {
                problem = error
            }
            if let failure { throw failure }
            if problem == nil { break }
        }
        if problem == nil { return report.good("\(table): \(copied) rows") }
        report.bad("\(table): \(copied) rows; others could not be read")
    }

    /// The order for reading from the last row backwards.
    private func order() throws(StoreError) -> String {
        let isByKey = try from.integer("SELECT wr FROM pragma_table_list WHERE name = '\(table)'") == 1
        let key = try Statement(to, "SELECT name FROM pragma_table_info('\(table)') WHERE pk > 0 ORDER BY pk").rows {
            $0.text(0)
        }
        return "ORDER BY " + (isByKey ? key.map { "\($0) DESC" }.joined(separator: ", ") : "rowid DESC")
    }

    /// Copies events by position. Damaged and unreadable events are replaced by a row marked as damaged, since the log
    /// has no gaps.
    func runEvents(_ report: inout DatabaseCheck.Report) throws(StoreError) {
        let reading = EventReading(.hashed, DamagedEvents())
        let insertion = try insertion()
        let appending = try EventTable(to, reading)
        let rows = try Statement(
            from,
            "SELECT \(columns.joined(separator: ", ")) FROM events NOT INDEXED WHERE sequence >= ?1 ORDER BY sequence")
        let checked = try Statement(from, "SELECT \(LoggedEvent.columns) FROM events NOT INDEXED WHERE sequence = ?1")
        let head = try lastPlausible()
        // The other tables are copied already.
        let gaps = try GapTable.all(to)
        var next: LogPosition?
        var copied = 0
        var lost: [LogPosition] = []
        // Whether the rows ended with an error.
        var isCut = false
        var failure: StoreError?
        func lose(_ position: LogPosition) throws(StoreError) {
            lost.append(position)
            try appending.append([.damaged(id: "damaged_\(position)")], from: position)
        }
        func copy() throws(StoreError) {
            rows.bind(1, next ?? .min)
            defer { rows.reset() }
            while try rows.step() {
                let sequence = rows.integer(0)
                let expected = next ?? sequence
                // A row out of order has a damaged key. Its position is then among the missing ones.
                guard sequence > 0, sequence >= expected, sequence <= max(head, expected) else { continue }
                var position = expected
                while position < sequence {
                    if let last = gaps[position] {
                        position = last + 1
                    } else {
                        try lose(position)
                        position += 1
                    }
                }
                checked.bind(1, sequence)
                // A program that changes an event can store a checksum that fits.
                let isReadable = try? checked.row { (row) throws(StoreError) -> Bool in
                    _ = try LoggedEvent(row)
                    return reading.isIntact(row)
                }
                if isReadable == true, add(rows, insertion, &failure) {
                    copied += 1
                } else {
                    if let failure { throw failure }
                    try lose(sequence)
                }
                next = sequence + 1
            }
        }
        while true {
            do throws(StoreError) {
                try copy()
                break
            } catch {
                // Damage may also be reported as a value that is too large.
                switch error {
                case .corrupt, .failed: break
                default: throw error
                }
                // Skip the unreadable part, one position at a time.
                guard let position = next ?? known("min"), position <= head else {
                    isCut = true
                    break
                }
                if let last = gaps[position] {
                    next = last + 1
                } else {
                    try lose(position)
                    next = position + 1
                }
            }
        }
        if lost.isEmpty, !isCut { return report.good("events: \(copied) rows") }
        let missing =
            lost.isEmpty ? "others could not be read" : "\(lost.count) were damaged, at \(DatabaseCheck.list(lost))"
        report.bad("events: \(copied) rows; \(missing)")
    }

    /// The first or last position; of the index, if the row can't be read.
    /// - Parameter function: `min` or `max`.
    private func known(_ function: String) -> LogPosition? {
        (try? from.integer("SELECT \(function)(sequence) FROM events WHERE sequence > 0"))
            ?? (try? from.integer(
                "SELECT \(function)(sequence) FROM events INDEXED BY events_by_id WHERE app >= 0 AND sequence > 0"))
    }

    /// An upper bound of the positions: a page has at most `rowsOfPage` rows, and what retention has removed is known. A row
    /// beyond it has a damaged key.
    private func lastPlausible() throws(StoreError) -> LogPosition {
        let last = known("max") ?? 0
        let removed = try to.integer("SELECT ifnull(max(last - first), 0) * count(*) FROM gaps")
        let rows = try from.integer("PRAGMA page_count") * Self.rowsOfPage
        return min(last, StoredNumber.figure(known("min") ?? 0) + rows + StoredNumber.figure(removed))
    }

    private static let rowsOfPage: Int64 = 256
}
