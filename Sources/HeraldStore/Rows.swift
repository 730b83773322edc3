package import HeraldModel
import HeraldRuntime

// The conversion of the rows of frequent tables into values. Each list of columns is next to the function that reads
// it, in the same order. Other tables declare each column (`RowTable`).

extension LoggedEvent {
    package static let columns = "sequence, app, id, type, subject, time, data, attributes, audience, checksum"
    package static let columnCount = 10

    /// For `EventReading` only, which verifies the row's checksum first.
    package init(_ row: some ResultRow) throws(StoreError) {
        let attributes = row.isNull(7) ? [] : try row.pairs(7)
        let (app, time, audience) = (try row.app(1), try row.time(5), try row.optionalNatural(8, "audience"))
        let event = row.withBytes(6) { data in
            Event(
                app: app, id: row.text(2), type: row.text(3), subject: row.optionalText(4), time: time,
                attributes: attributes, audience: audience, data: data)
        }
        self.init(sequence: try row.natural(0, "position"), event: event)
    }
}

extension StoredAttempt: RowConvertible {
    package static let columns = """
        id, delegate, event, number, started_at, duration, status, failure, detail, excerpt, is_replay, lookup, connect, \
        tls, first_byte, is_reused, peer, bytes_sent, bytes_received
        """

    /// The columns, in a join.
    static let columnsOfTable = qualified(columns, by: "attempts")

    package init(_ row: some ResultRow) throws(StoreError) {
        do throws(StoreError) {
            let failure = try row.optionalText(7).map { text throws(StoreError) in
                try known(CallbackFailure(rawValue: text), "failure", text)
            }
            var record = AttemptRecord(
                delegate: try row.natural(1, "delegate"), event: try row.natural(2, "position"),
                number: Int(row.figure(3)), startedAt: try row.time(4), duration: row.figure(5),
                status: row.isNull(6) ? nil : Int(row.figure(6)),
                failure: failure, detail: row.text(8), excerpt: row.bytes(9))
            record.isReplay = row.integer(10) != 0
            record.transport = TransportRecord(row)
            self.init(id: try row.natural(0, "attempt"), record: record)
        } catch {
            throw error.found(in: "attempts", row: String(row.integer(0)))
        }
    }
}

extension AttemptEnd {
    /// - Parameter index: the column `status`, which `failure` and `started_at` follow; all are NULL without an attempt.
    init?(_ row: some ResultRow, _ index: Int32) throws(StoreError) {
        if row.isNull(index + 2) { return nil }
        let failure = try row.optionalText(index + 1).map { text throws(StoreError) in
            try known(CallbackFailure(rawValue: text), "failure", text)
        }
        self.init(
            status: row.isNull(index) ? nil : Int(row.figure(index)), failure: failure,
            startedAt: try row.time(index + 2))
    }
}

extension TransportRecord {
    /// For the columns of an attempt. NULL is read as 0.
    fileprivate init(_ row: some ResultRow) {
        self.init()
        lookup = row.figure(11)
        connect = row.figure(12)
        tls = row.figure(13)
        firstByte = row.figure(14)
        isReused = row.integer(15) != 0
        peer = row.text(16)
        bytesSent = row.figure(17)
        bytesReceived = row.figure(18)
    }
}

extension WaitingDelivery: RowConvertible {
    /// As stored.
    package static let columns = "delegate, event, attempts, due_at, state, is_replay, uncounted"
    /// The columns of the rows that a search has found, in a join.
    static let columnsOfFound = qualified(columns, by: "found")
    package static let columnsWithSubject = columns + ", (SELECT subject FROM events WHERE sequence = waiting.event)"

    /// The rows in state `retrying` of delegates that have at most $1, and how many each of the others has.
    package static let recovered = """
        SELECT \(columnsWithSubject) FROM waiting
        WHERE state = 1 AND delegate NOT IN (SELECT delegate FROM (\(crowded)) AS crowded)
        """
    package static let crowded = """
        SELECT delegate, count(*) FROM waiting WHERE state = 1 GROUP BY delegate HAVING count(*) > $1
        """

    /// A delivery whose time can't be read is due.
    /// - Parameter row: a row of `columnsWithSubject`.
    package init(_ row: some ResultRow) throws(StoreError) {
        let state = Int(row.figure(4))
        let form = row.integer(5)
        self.init(
            delegate: try row.natural(0, "delegate"), event: try row.natural(1, "position"),
            attempts: Int(row.figure(2)), dueAt: (try? row.time(3)) ?? 0,
            state: try known(State(rawValue: state), "state", String(state)), isReplay: form & 3 != 0,
            isNamed: form & 3 == 2, uncounted: Int(row.figure(6)), subject: row.optionalText(7))
        isAlone = form & 4 != 0
        isFirst = form & 8 != 0
    }

    /// The value of `is_replay`: 1 for a replay, 2 for one by name; and 4 for a delivery that is handed out alone, 8 for one that was
    /// not delivered before it was requested again.
    package var form: Int64 { (isNamed ? 2 : isReplay ? 1 : 0) + (isAlone ? 4 : 0) + (isFirst ? 8 : 0) }
}

extension Replay: RowConvertible {
    package static let columns = "id, delegate, cursor, until, created_at, start"

    package init(_ row: some ResultRow) throws(StoreError) {
        self.init(
            id: try row.natural(0, "replay"), delegate: try row.natural(1, "delegate"),
            start: try row.natural(5, "position"), cursor: try row.natural(2, "position"),
            until: try row.natural(3, "position"), createdAt: try row.time(4))
    }

    /// A replay while the process runs, for retention. Another node may be running one whose row can't be read: its events are
    /// kept from its cursor on, or from its start.
    /// - Parameter damaged: records a row that can't be read.
    /// - Returns: `nil` if the row doesn't say which events it needs.
    package static func followed(_ row: some ResultRow, _ damaged: DamagedRows) throws(StoreError) -> Replay? {
        let replay = try row.unlessUnreadable(in: "replays", damaged) { row throws(StoreError) in try Replay(row) }
        if let replay { return replay }
        guard let delegate = try? row.natural(1, "delegate"), let until = try? row.natural(3, "position"),
            let cursor = (try? row.natural(2, "position")) ?? (try? row.natural(5, "position"))
        else { return nil }
        return Replay(id: row.integer(0), delegate: delegate, cursor: cursor, until: until, createdAt: 0)
    }
}

extension DeliveryStatistics: RowConvertible {
    package static let columns = "delegate, start, delivered, failed, latencies"

    package init(_ row: some ResultRow) throws(StoreError) {
        do throws(StoreError) {
            self.init(
                delegate: try row.natural(0, "delegate"), start: try row.time(1),
                delivered: min(Int(row.figure(2)), DeliveryStatistics.maxCount),
                failed: min(Int(row.figure(3)), DeliveryStatistics.maxCount),
                latencies: try known(LatencyHistogram(text: row.text(4)), "histogram", row.text(4)))
        } catch {
            throw error.found(in: "statistics", row: "\(row.integer(0)), \(row.integer(1))")
        }
    }
}

extension Volume: RowConvertible {
    static let columns = "app, type, start, events, delivered, failed"
    static let sums = ["events", "delivered", "failed"].map { "CAST(sum(\($0)) AS bigint)" }.joined(separator: ", ")

    /// The parameters of `DeliveryStatement.addVolume`.
    var values: [any ColumnConvertible] { [app, type, start, events, delivered, failed] }

    package init(_ row: some ResultRow) throws(StoreError) {
        func count(_ column: Int32) -> Int { min(Int(row.figure(column)), DeliveryStatistics.maxCount) }
        do throws(StoreError) {
            self.init(
                app: try row.app(0), type: row.text(1), start: try row.time(2), events: count(3), delivered: count(4),
                failed: count(5))
        } catch {
            throw error.found(in: "volumes", row: "\(row.integer(0)), \(row.text(1)), \(row.integer(2))")
        }
    }
}

extension LanePosition: RowConvertible {
    package static let columns = "delegate, cursor, position"

    package init(_ row: some ResultRow) throws(StoreError) {
        self.init(
            delegate: try row.natural(0, "delegate"), cursor: try row.natural(1, "position"),
            position: try row.natural(2, "position"))
    }

    /// A lane at the start. One whose row can't be read begins again at its cursor, or at the beginning of the log: it sends events
    /// twice, and loses none.
    /// - Parameter damaged: records a row that can't be read.
    /// - Returns: `nil` for an impossible delegate.
    package static func recovered(_ row: some ResultRow, head: LogPosition, _ damaged: DamagedRows) -> LanePosition? {
        guard let delegate = try? row.natural(0, "delegate") else {
            damaged.record(row.name(0...0), in: "lanes", "it holds an impossible delegate, \(row.integer(0))")
            return nil
        }
        let (cursor, position) = (row.integer(1), row.integer(2))
        let log = 0...head
        let start = log.contains(cursor) ? cursor : 0
        let isReadable = log.contains(cursor) && log.contains(position)
        if !isReadable {
            let found = log.contains(cursor) ? position : cursor
            damaged.record(row.name(0...0), in: "lanes", "it holds an impossible position, \(found)")
        }
        return LanePosition(delegate: delegate, cursor: start, position: isReadable ? position : start)
    }
}

extension LanePosition {
    /// A lane while the process runs, for retention and reports. A position may be ahead of what this process has read of the log.
    /// One that can't be read is where it begins again at the next start: so its events are kept, and other lanes are read.
    package static func followed(_ row: some ResultRow, _ damaged: DamagedRows) -> LanePosition? {
        recovered(row, head: StoredNumber.limit, damaged)
    }
}

extension DeliveryKey: RowConvertible {
    package static let columns = "delegate, event"

    package init(_ row: some ResultRow) throws(StoreError) {
        self.init(delegate: try row.natural(0, "delegate"), event: try row.natural(1, "position"))
    }
}

extension AuthStatus: RowConvertible {
    /// `user` is a word of SQL.
    package static let columns = "app, user_id, logged_in, \"user\", since, event_id"

    package init(_ row: some ResultRow) throws(StoreError) {
        do throws(StoreError) {
            self.init(
                app: try row.app(0), userID: row.text(1), isLoggedIn: row.integer(2) != 0, user: row.bytes(3),
                since: try row.time(4), eventID: row.text(5))
        } catch {
            throw error.found(in: "auth_status", row: "\(row.integer(0)), \(row.text(1))")
        }
    }
}

extension AppState: RowConvertible {
    package static let columns = "app, state, since, event_id"

    package init(_ row: some ResultRow) throws(StoreError) {
        do throws(StoreError) {
            self.init(app: try row.app(0), state: row.bytes(1), since: try row.time(2), eventID: row.text(3))
        } catch {
            throw error.found(in: "app_states", row: String(row.integer(0)))
        }
    }
}

extension AppStateVersion: RowConvertible {
    package static let columns = "app, event_id"

    package init(_ row: some ResultRow) {
        self.init(app: AppKey(rawValue: row.integer(0)), eventID: row.text(1))
    }
}

extension StoredAnswer {
    package static let columns = "fingerprint, status, headers, body"

    package init(_ row: some ResultRow, app: AppKey, key: String, _ columnSealer: ColumnSealer) throws(StoreError) {
        do throws(StoreError) {
            let status = Int(row.figure(1))
            guard (200...599).contains(status) else {
                throw StoreError.unreadable("status of a response", String(status))
            }
            self.init(
                fingerprint: row.bytes(0), status: status, headers: try row.pairs(2),
                body: try columnSealer.open(row.bytes(3), .answer(app, key: key)))
        } catch {
            throw error.found(in: "answers", row: "\(app.rawValue), \(key)")
        }
    }
}

extension LogMark: RowConvertible {
    package static let columns = "sequence, time"

    package init(_ row: some ResultRow) throws(StoreError) {
        self.init(sequence: try row.natural(0, "position"), time: try row.time(1))
    }
}

extension AppBlock: RowConvertible {
    package static let columns = "block, app, events, bytes"

    /// The app of an event, in SQL. A damaged one counts for no app: it must not hold up the start, or retention.
    package static let owner = "CASE WHEN app BETWEEN 0 AND \(StoredNumber.limit) THEN app ELSE 0 END"

    /// - Parameter row: a row of `columns`.
    package init(_ row: some ResultRow) throws(StoreError) {
        self.init(
            app: try row.app(1), block: try row.natural(0, "block"), events: try row.natural(2, "count of events"),
            bytes: try row.natural(3, "count of bytes"))
        guard block <= AppBlock.number(of: StoredNumber.limit) else { throw .unreadable("block", String(block)) }
    }
}

/// The full blocks of the log at the start: their counts, and the blocks to count again.
package struct RecoveredBlocks {
    package let counted: [AppBlock]
    /// They have a row that can't be read, or no rows: the process may have ended before it stored them.
    package let missing: [Int64]
    /// A row is of a block that the log does not have, so that another block lacks it: all rows are to be removed, and all
    /// blocks are counted again.
    package let areDamaged: Bool

    /// - Parameters:
    ///   - rows: rows of `AppBlock.columns`, in the order of the blocks.
    ///   - first: the first event of the log.
    ///   - head: the last event of the log.
    ///   - damaged: records rows of blocks that the log does not have.
    package init(
        _ rows: [(block: Int64, part: AppBlock?)], first: LogPosition, head: LogPosition, _ damaged: DamagedRows
    ) {
        let log = AppBlock.number(of: first)..<max(AppBlock.number(of: first), AppBlock.number(of: head + 1))
        let foreign = rows.filter { $0.block < 0 || $0.block > log.upperBound }
        areDamaged = !foreign.isEmpty
        if areDamaged {
            for row in foreign.compactMap(\.part) {
                damaged.record(
                    "\(row.block), \(row.app.rawValue)", in: "app_blocks", "the log does not have its block")
            }
            (counted, missing) = ([], Array(log))
            return
        }
        let lost = Set(rows.filter { $0.part == nil }.map(\.block))
        counted = rows.compactMap(\.part).filter { $0.block < log.upperBound && !lost.contains($0.block) }
        let next = min(counted.last.map { $0.block + 1 } ?? log.lowerBound, log.upperBound)
        missing =
            lost.filter { log.contains($0) && $0 < next }.sorted()
            + Array(max(next, log.lowerBound)..<log.upperBound)
    }

    /// A row of `AppBlock.columns` for `init`.
    /// - Parameter damaged: records a row that can't be read.
    package static func row(
        _ row: some ResultRow, _ damaged: DamagedRows
    ) throws(StoreError) -> (block: Int64, part: AppBlock?) {
        let part = try row.unlessUnreadable(in: "app_blocks", key: 0...1, damaged) { row throws(StoreError) in
            try AppBlock(row)
        }
        return (row.integer(0), part)
    }
}

extension Removal {
    package static let columns = "part, cause, count"

    /// `nil` for a part or a cause that only another version knows.
    package init?(_ row: some ResultRow) {
        guard let part = Part(rawValue: row.text(0)), let cause = Cause(rawValue: row.text(1)) else { return nil }
        self.init(part, cause, count: Int(row.figure(2)))
    }
}

/// A list of columns with the name of their table.
package func qualified(_ columns: String, by table: String) -> String {
    columns.pieces(around: ", ").map { "\(table).\($0)" }.joined(separator: ", ")
}

/// Returns the value, or throws if it is `nil`: another program must have written the column.
package func known<Value>(
    _ value: Value?, _ what: String, _ found: @autoclosure () -> String
) throws(StoreError) -> Value {
    guard let value else { throw .unreadable(reason: "it holds an unknown \(what), \(found())") }
    return value
}
