import HeraldCore
import HeraldStore

extension Statement: ResultRow {}

extension RowTable {
    /// Binds a row to the parameters from 1 on.
    func bind(_ row: Row, to statement: Statement, _ sealer: ColumnSealer = .none) throws(StoreError) {
        var index: Int32 = 1
        for value in try values(of: row, sealer) {
            statement.bind(index, value)
            index += 1
        }
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
