package import HeraldModel

// Rows of one tenant that can't be read do not stop the others: they are left out or replaced, and recorded.

extension ResultRow {
    /// Reads a row of one tenant.
    /// - Parameters:
    ///   - key: the columns that name the row.
    ///   - damaged: records the row if it can't be read.
    /// - Returns: `nil` if it can't be read.
    package func unlessUnreadable<Value>(
        in table: String, key: ClosedRange<Int32> = 0...0, _ damaged: DamagedRows,
        _ read: (Self) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        do throws(StoreError) {
            return try read(self)
        } catch {
            guard case .unreadable(let reason) = error else { throw error }
            damaged.record(name(key), in: table, reason)
            return nil
        }
    }

    /// The values of the key, for reports. Of bytes it has the first eight, in hexadecimal digits.
    package func name(_ key: ClosedRange<Int32>) -> String {
        key.map { column -> String in
            let found = value(column)
            guard let bytes = found.blob else { return found.shown }
            return bytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }.joined(separator: ", ")
    }
}

extension WaitingDelivery {
    /// A delivery at the start, or of another process. A time that can't be read is recorded.
    /// - Parameter row: a row of `columnsWithSubject`.
    package static func recovered(
        _ row: some ResultRow, _ damaged: DamagedRows
    ) throws(StoreError) -> WaitingDelivery {
        let delivery = try WaitingDelivery(row)
        _ = try row.unlessUnreadable(in: "waiting", key: 0...1, damaged) { row throws(StoreError) in try row.time(3) }
        return delivery
    }
}
