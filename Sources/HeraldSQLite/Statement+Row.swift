import HeraldCore
import HeraldStore

extension Statement: ResultRow {
    /// The rows that can be read.
    func readableRows<Row>(_ make: (Statement) throws(StoreError) -> Row) throws(StoreError) -> [Row] {
        try rows { row throws(StoreError) in
            try unlessUnreadable { () throws(StoreError) in try make(row) }
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
