import HeraldModel
import HeraldStore

/// The ranges of the log that retention has removed behind its first event, for the writer: the table `gaps`. Ranges that
/// touch are one row, so there are never more of them than events that were kept in between.
struct GapTable {
    private let span, remove, add: Statement
    /// Removes the ranges before the first event of the log, ?1.
    let removeOld: Statement

    init(_ connection: Connection) throws(StoreError) {
        span = try Statement(connection, GapTable.span)
        remove = try Statement(connection, "DELETE FROM gaps WHERE first BETWEEN ?1 AND ?2")
        add = try Statement(connection, "INSERT INTO gaps (first, last) VALUES (?1, ?2)")
        removeOld = try Statement(connection, "DELETE FROM gaps WHERE first < ?1")
    }

    /// The ranges that touch or overlap ?1 to ?2, taken together with it.
    static let span = """
        SELECT min(?1, ifnull(min(first), ?1)), max(?2, ifnull(max(last), ?2)) FROM gaps
        WHERE first BETWEEN ifnull((SELECT max(first) FROM gaps WHERE first < ?1), ?1) AND ?2 + 1 AND last >= ?1 - 1
        """

    func insert(_ range: ClosedRange<LogPosition>) throws(StoreError) {
        let touching = try span.bound(range.lowerBound, range.upperBound).row { row throws(StoreError) in
            (try row.natural(0, "position"), try row.natural(1, "position"))
        }
        guard let (first, last) = touching else { return }
        for statement in [remove, add] { try statement.bound(first, last).run() }
    }

    /// Fills the table from the events: what is missing between them was removed by retention.
    static func derive(_ connection: Connection) throws(StoreError) {
        try connection.execute("DELETE FROM gaps")
        if try connection.integer("SELECT max(sequence) - min(sequence) + 1 - count(*) FROM events") == 0 { return }
        try connection.execute(
            """
            INSERT INTO gaps SELECT before + 1, sequence - 1
            FROM (SELECT sequence, lag(sequence) OVER (ORDER BY sequence) AS before FROM events)
            WHERE sequence > before + 1
            """)
    }

    /// The ends of all ranges, by their beginnings.
    static func all(_ connection: Connection) throws(StoreError) -> [LogPosition: LogPosition] {
        let rows = try Statement(connection, "SELECT first, last FROM gaps").rows { row throws(StoreError) in
            (try row.natural(0, "position"), try row.natural(1, "position"))
        }
        return Dictionary(rows) { $1 }
    }
}
