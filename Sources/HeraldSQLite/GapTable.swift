import HeraldCore
import HeraldStore

/// The ranges of the log that retention has removed behind its first event, for the writer: the table `gaps`. Ranges that
/// touch are one row, so there are never more of them than events that were kept in between.
struct GapTable {
    private let span, remove, add, removeOld: Statement

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
        span.bind(1, range.lowerBound)
        span.bind(2, range.upperBound)
        guard
            let (first, last) = try span.row({ row throws(StoreError) in
                (try row.natural(0, "position"), try row.natural(1, "position"))
            })
        else { return }
        for statement in [remove, add] {
            statement.bind(1, first)
            statement.bind(2, last)
            try statement.run()
        }
    }

    /// Removes the ranges before the first event of the log.
    func remove(before first: LogPosition) throws(StoreError) {
        removeOld.bind(1, first)
        try removeOld.run()
    }

    /// The ends of all ranges, by their beginnings.
    static func all(_ connection: Connection) throws(StoreError) -> [LogPosition: LogPosition] {
        let rows = try Statement(connection, "SELECT first, last FROM gaps").rows { row throws(StoreError) in
            (try row.natural(0, "position"), try row.natural(1, "position"))
        }
        return Dictionary(rows) { $1 }
    }
}
