import HeraldModel
import HeraldStore

extension Statement: ResultRow {
    /// The rows that can be read. The others are recorded.
    /// - Parameter key: the columns that name a row.
    func readableRows<Row>(
        in table: String, key: ClosedRange<Int32> = 0...0, _ damaged: DamagedRows,
        _ make: (Statement) throws(StoreError) -> Row
    ) throws(StoreError) -> [Row] {
        try rows { row throws(StoreError) in
            try row.unlessUnreadable(in: table, key: key, damaged, make)
        }.compactMap { $0 }
    }
}

extension EventReading {
    /// Returns the events of a statement (`batch`).
    func batch(_ statement: Statement, else first: LogPosition, maxBytes: Int) throws(StoreError) -> EventBatch {
        defer { statement.reset() }
        return try batch(else: first, maxBytes: maxBytes) { () throws(StoreError) in
            try statement.step() ? statement : nil
        }
    }
}
