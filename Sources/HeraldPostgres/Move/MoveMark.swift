import HeraldModel
import HeraldStore

/// The table `move`, which is there only while the database takes part in a move to or from another store, and after it was moved away.
enum MoveMark {
    private static let isThere = Migration.hasTable("move")
    private static let found = Statement("SELECT role, other FROM move")
    private static let make = Statement(
        """
        CREATE TABLE IF NOT EXISTS move (role text COLLATE "C" NOT NULL, other text COLLATE "C" NOT NULL)
        """)
    private static let clear = Statement("DELETE FROM move")
    private static let add = Statement("INSERT INTO move VALUES ($1, $2)")
    private static let remove = Statement("DROP TABLE IF EXISTS move")

    static func read(_ writer: Writer) throws(StoreError) -> MoveState? {
        guard try writer.run(Request(isThere)).first?.flag(0) == true else { return nil }
        return try writer.run(Request(found)).first.map { MoveState(role: $0.text(0), other: $0.text(1)) }
    }

    /// Flushed on return, with all before it.
    /// - Parameter others: are carried out in the same transaction.
    static func write(_ state: MoveState?, _ writer: Writer, with others: [Request]) throws(StoreError) {
        guard let state else {
            try writer.commit([Request(remove)] + others, through: 0)
            return
        }
        // One after the other: a statement is prepared for a table that is there.
        _ = try writer.run(Request(make))
        try writer.commit(
            [Request(clear), Request(add) { $0.add(state.words.role, state.words.other) }] + others, through: 0)
    }
}
