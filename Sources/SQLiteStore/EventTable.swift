import Herald

/// The log, as the writer has it: `events` and `marks`.
struct EventTable {
    private let find, findBySequence, append, first, removeThrough, overwrite: Statement
    private let addMark, removeMarks: Statement

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        find = try prepare("SELECT \(LoggedEvent.columns) FROM events WHERE app = ?1 AND id = ?2")
        findBySequence = try prepare("SELECT \(LoggedEvent.columns) FROM events WHERE sequence = ?1")
        append = try prepare(
            "INSERT INTO events (\(LoggedEvent.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
        first = try prepare("SELECT ifnull(min(sequence), 1) FROM events")
        removeThrough = try prepare("DELETE FROM events WHERE sequence <= ?1")
        overwrite = try prepare("UPDATE events SET subject = ?2, data = ?3, attributes = ?4 WHERE sequence = ?1")
        addMark = try prepare("INSERT OR REPLACE INTO marks (\(LogMark.columns)) VALUES (?1, ?2)")
        removeMarks = try prepare(EventTable.removeMarks)
    }

    /// Of the marks below the first event, ?1, the last one still says something: when what follows arrived.
    static let removeMarks =
        "DELETE FROM marks WHERE sequence < (SELECT max(sequence) FROM marks WHERE sequence < ?1)"

    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent? {
        find.bind(1, app.rawValue)
        find.bind(2, id)
        return try find.row { row throws(StoreError) in try LoggedEvent(row) }
    }

    func append(_ event: Event, _ sequence: Sequence) throws(StoreError) {
        append.bind(1, sequence)
        append.bind(2, event.app.rawValue)
        append.bind(3, event.id)
        append.bind(4, event.type)
        append.bind(5, event.subject)
        append.bind(6, event.time)
        // Not bound is NULL.
        if !event.attributes.isEmpty { append.bind(8, TextList.encode(event.attributes)) }
        if let audience = event.audience { append.bind(9, audience) }
        try append.run(7, lent: event.data)
    }

    func firstSequence() throws(StoreError) -> Sequence {
        try first.row { $0.integer(0) } ?? 1
    }

    func remove(through sequence: Sequence) throws(StoreError) {
        removeThrough.bind(1, sequence)
        try removeThrough.run()
        removeMarks.bind(1, sequence + 1)
        try removeMarks.run()
    }

    /// - Returns: whether there was something to erase.
    func erase(_ sequence: Sequence) throws(StoreError) -> Bool {
        findBySequence.bind(1, sequence)
        let found = try findBySequence.row { row throws(StoreError) in try LoggedEvent(row).event }
        guard let found, !found.isErased else { return false }
        let erased = found.erased()
        overwrite.bind(1, sequence)
        overwrite.bind(2, erased.subject)
        overwrite.bind(4, TextList.encode(erased.attributes))
        try overwrite.run(3, lent: erased.data)
        return true
    }

    func add(_ mark: LogMark) throws(StoreError) {
        addMark.bind(1, mark.sequence)
        addMark.bind(2, mark.time)
        try addMark.run()
    }
}
