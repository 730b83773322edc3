package import HeraldModel

/// The current row of a result. Columns count from 0.
package protocol ResultRow {
    func isNull(_ column: Int32) -> Bool
    /// 0 for NULL.
    func integer(_ column: Int32) -> Int64
    /// Empty for NULL.
    func text(_ column: Int32) -> String
    func value(_ column: Int32) -> ColumnValue
    /// The bytes of a text or a blob, without copying them if that is possible. Empty for NULL.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result
}

/// A value that a row of its list of columns holds.
package protocol RowConvertible {
    init(_ row: some ResultRow) throws(StoreError)
}

extension ResultRow {
    /// The result of a condition: an integer in SQLite, a byte in PostgreSQL.
    package func flag(_ column: Int32) -> Bool { integer(column) != 0 }

    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    /// A text by which statements find the row again.
    /// - Throws: if it is not a text in UTF-8, which equals no parameter of a statement.
    package func key(_ column: Int32, _ what: String) throws(StoreError) -> String {
        guard case .text(let text) = value(column), withBytes(column, { text.utf8.elementsEqual($0) }) else {
            throw .unreadable(reason: "it holds an impossible \(what), which is no text in UTF-8")
        }
        return text
    }

    /// Empty for NULL.
    package func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { Array($0) } }

    package func pairs(_ column: Int32) throws(StoreError) -> [KeyValue] {
        try withBytes(column) { bytes in Result { () throws(StoreError) in try TextList.pairs(bytes) } }.get()
    }
}
