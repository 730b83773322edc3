import HeraldModel
import HeraldStore

/// The events and bytes of each app in each block of the log: the table `app_blocks`.
struct BlockTable {
    private let count, remove, removeOld, set: Statement

    /// Counts positions ?1 to ?2. SQLite reads only the length of long data. Without the inner table it would sort the rows
    /// with their data, all of which would be in memory.
    static let count = """
        WITH sizes AS MATERIALIZED (
            SELECT \(AppBlock.owner) AS app, \(bytes) AS bytes FROM events WHERE sequence BETWEEN ?1 AND ?2)
        SELECT app, count(*), sum(bytes) FROM sizes GROUP BY app
        """
    /// `Event.storedBytes` of a row.
    static let bytes = """
        length(data) + length(CAST(id AS BLOB)) + length(CAST(type AS BLOB))
            + ifnull(length(CAST(subject AS BLOB)), 0) + ifnull(length(CAST(attributes AS BLOB)), 0)
        """
    /// Deletes blocks that are no longer in the log.
    static let removeOld = "DELETE FROM app_blocks WHERE block < (SELECT min(sequence) FROM events) >> 10"

    init(_ connection: Connection) throws(StoreError) {
        count = try Statement(connection, BlockTable.count)
        remove = try Statement(connection, "DELETE FROM app_blocks WHERE block = ?1")
        removeOld = try Statement(connection, BlockTable.removeOld)
        set = try Statement(
            connection, "INSERT INTO app_blocks (\(AppBlock.columns)) VALUES (?1, ?2, ?3, ?4)")
    }

    /// Counts a block, and stores the result if the log, which ends at `head`, has filled it.
    func recount(_ block: Int64, head: LogPosition) throws(StoreError) -> [AppBlock] {
        try removeOld.run()
        let found = try found(in: block)
        if block < AppBlock.number(of: head + 1) { try keep(block, found) }
        return found
    }

    func keep(_ block: Int64, _ parts: [AppBlock]) throws(StoreError) {
        try remove.bound(block).run()
        for part in parts { try set.bound(part.block, part.app, part.events, part.bytes).run() }
    }

    func found(in block: Int64) throws(StoreError) -> [AppBlock] {
        let places = AppBlock.places(block)
        return try count.bound(places.lowerBound, places.upperBound).rows { row throws(StoreError) in
            AppBlock(
                app: try row.app(0), block: block, events: row.integer(1),
                bytes: try row.natural(2, "count of bytes"))
        }
    }

    /// The blocks of the whole log, from its first event to the last one. Counts and stores full blocks that are
    /// missing. A connection that only reads stores none.
    static func all(
        _ connection: Connection, first: LogPosition, head: LogPosition, _ damaged: DamagedRows
    ) throws(StoreError) -> [AppBlock] {
        let table = try BlockTable(connection)
        let rows = try Statement(connection, "SELECT \(AppBlock.columns) FROM app_blocks ORDER BY block").rows {
            row throws(StoreError) in try RecoveredBlocks.row(row, damaged)
        }
        let stored = RecoveredBlocks(rows, first: first, head: head, damaged)
        if stored.areDamaged, connection.access == .readWrite { try connection.execute("DELETE FROM app_blocks") }
        var blocks = stored.counted
        for block in stored.missing {
            let found = try table.found(in: block)
            if connection.access == .readWrite { try table.keep(block, found) }
            blocks += found
        }
        return try blocks + table.found(in: AppBlock.number(of: head + 1))
    }
}
