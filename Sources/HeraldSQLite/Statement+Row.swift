import HeraldCore
import HeraldStore

extension Statement: ResultRow {}

extension EventReading {
    /// Returns the events of a statement (`batch`).
    func batch(_ statement: Statement, else first: LogPosition, maxBytes: Int) throws(StoreError) -> EventBatch {
        defer { statement.reset() }
        return try batch(else: first, maxBytes: maxBytes) { () throws(StoreError) in
            try statement.step() ? statement : nil
        }
    }
}
