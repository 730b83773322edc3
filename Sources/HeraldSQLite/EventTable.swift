import HeraldModel
import HeraldStore

/// The log, for the writer: the table `events`.
struct EventTable {
    private let find, findBySequence, overwrite: Statement
    /// By the number of rows that each statement adds, descending to 1.
    private let append: [(rows: Int, statement: Statement)]
    private let reading: EventReading

    init(_ connection: Connection, _ reading: EventReading) throws(StoreError) {
        self.reading = reading
        find = try connection.prepare("SELECT \(LoggedEvent.columns) FROM events WHERE app = ?1 AND id = ?2")
        findBySequence = try connection.prepare("SELECT \(LoggedEvent.columns) FROM events WHERE sequence = ?1")
        append = try EventTable.rows.map { rows throws(StoreError) in
            (rows, try connection.prepare(EventTable.append(rows)))
        }
        overwrite = try connection.prepare(
            "UPDATE events SET subject = ?2, data = ?3, attributes = ?4, checksum = ?5 WHERE sequence = ?1")
    }

    /// A statement that adds 16 rows opens the table and its indexes once, and continues at its last position in them:
    /// a row takes two thirds of the time of a statement of its own.
    private static let rows = [16, 4, 1]

    private static func append(_ rows: Int) -> String {
        let row = "(" + Array(repeating: "?", count: LoggedEvent.columnCount).joined(separator: ", ") + ")"
        return "INSERT INTO events (\(LoggedEvent.columns)) VALUES "
            + Array(repeating: row, count: rows).joined(separator: ", ")
    }

    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent? {
        find.bind(1, app.rawValue)
        find.bind(2, id)
        return try find.row { row throws(StoreError) in try reading.event(row, app: app, id: id) }
    }

    /// - Parameter first: the position of the first event.
    func append(_ events: [Event], from first: LogPosition) throws(StoreError) {
        var start = 0
        for (rows, statement) in append {
            while events.count - start >= rows {
                try add(events[start..<start + rows], from: first + LogPosition(start), statement, parameter: 1)
                start += rows
            }
        }
    }

    /// Binds the events recursively, so that the bytes of each stay valid until the statement has run.
    /// - Parameter parameter: of the first column of the next row.
    private func add(
        _ events: ArraySlice<Event>, from sequence: LogPosition, _ statement: Statement, parameter: Int32
    ) throws(StoreError) {
        guard let event = events.first else { return try statement.run() }
        statement.bind(parameter, sequence)
        statement.bind(parameter + 1, event.app.rawValue)
        statement.bind(parameter + 2, event.id)
        statement.bind(parameter + 3, event.type)
        // Unbound parameters are NULL.
        if let subject = event.subject { statement.bind(parameter + 4, subject) }
        statement.bind(parameter + 5, event.time)
        let attributes = event.attributes.isEmpty ? nil : TextList.encode(event.attributes)
        if let attributes { statement.bind(parameter + 7, attributes) }
        if let audience = event.audience { statement.bind(parameter + 8, audience) }
        statement.bind(parameter + 9, EventChecksum.of(event, at: sequence, attributes: attributes))
        try statement.lend(parameter + 6, event.data) { () throws(StoreError) in
            try add(
                events.dropFirst(), from: sequence + 1, statement, parameter: parameter + Int32(LoggedEvent.columnCount)
            )
        }
    }

    /// The position of the last event; 0 if there is none.
    /// - Throws: if the event before it is missing: the number of the last row was changed then. Retention never leaves a gap
    ///   there that it does not record.
    static func last(_ connection: Connection) throws(StoreError) -> LogPosition {
        let last = try connection.natural("SELECT max(sequence) FROM events", "position")
        let before = try connection.natural("SELECT max(sequence) FROM events WHERE sequence < \(last)", "position")
        guard before > 0, before != last - 1 else { return last }
        let gap = try connection.integer("SELECT max(last) FROM gaps WHERE first <= \(before + 1)")
        guard gap == last - 1 else { throw .unreadable("position", "\(last): the event before it has \(before)") }
        return last
    }

    /// - Returns: the bytes that become free, and whether it had its content; `nil` if there was nothing to erase.
    func erase(
        _ sequence: LogPosition, keepingSubject: Bool
    ) throws(StoreError) -> (bytes: Int64, hadContent: Bool)? {
        findBySequence.bind(1, sequence)
        let found = try findBySequence.row { row throws(StoreError) in try reading.listed(row)?.event }
        // The subject of a damaged event is unknown; it is never served or sent.
        guard case let event?? = found else { return nil }
        let erased = event.erased(keepingSubject: keepingSubject)
        if event.isErased, event.subject == erased.subject { return nil }
        let attributes = TextList.encode(erased.attributes)
        overwrite.bind(1, sequence)
        overwrite.bind(2, erased.subject)
        overwrite.bind(4, attributes)
        overwrite.bind(5, EventChecksum.of(erased, at: sequence, attributes: attributes))
        try overwrite.run(3, lent: erased.data)
        return (Int64(event.storedBytes - erased.storedBytes), !event.isErased)
    }
}
