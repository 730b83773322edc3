import CHeraldPostgres
import HeraldModel
import HeraldStore

/// The result of a statement, in binary format: the only type that uses libpq's result. One thread at a time.
final class Rows {
    private let handle: OpaquePointer?

    /// - Parameter handle: freed with this object; `nil` for no rows.
    init(_ handle: OpaquePointer?) { self.handle = handle }

    deinit { PQclear(handle) }

    var count: Int32 { PQntuples(handle) }

    /// The number of rows that an `INSERT`, `UPDATE` or `DELETE` has changed.
    var changed: Int {
        guard let text = PQcmdTuples(handle) else { return 0 }
        return Int(String(cString: text)) ?? 0
    }

    /// The command that was carried out, such as `COMMIT`.
    var command: String { PQcmdStatus(handle).map { String(cString: $0) } ?? "" }

    func map<Value>(_ make: (Row) throws(StoreError) -> Value) throws(StoreError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(Int(count))
        for index in 0..<count { values.append(try make(Row(rows: self, index: index))) }
        return values
    }

    /// The rows that can be read. The others are recorded.
    /// - Parameter key: the columns that name a row.
    func readable<Value>(
        in table: String, key: ClosedRange<Int32> = 0...0, _ damaged: DamagedRows,
        _ make: (Row) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        try map { row throws(StoreError) in
            try row.unlessUnreadable(in: table, key: key, damaged, make)
        }.compactMap { $0 }
    }

    func values<Value: RowConvertible>() throws(StoreError) -> [Value] {
        try map { row throws(StoreError) in try Value(row) }
    }

    subscript(index: Int32) -> Row? { index < count ? Row(rows: self, index: index) : nil }

    var all: [Row] { (0..<count).map { Row(rows: self, index: $0) } }

    /// The first row.
    var first: Row? { self[0] }

    /// The first column of the first row; 0 without a row.
    var integer: Int64 { first?.integer(0) ?? 0 }

    /// Returns the first value as a position, a key or an id.
    func natural(_ what: String) throws(StoreError) -> Int64 { try first?.natural(0, what) ?? 0 }

    fileprivate func isNull(_ row: Int32, _ column: Int32) -> Bool { PQgetisnull(handle, row, column) != 0 }

    fileprivate func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(handle, row, column), count: Int(max(0, PQgetlength(handle, row, column))))
    }

    fileprivate func type(_ column: Int32) -> UInt32 { PQftype(handle, column) }
}

/// One row. A column that has another type than expected reads as 0 or as empty: nothing that a server sends ends the process.
struct Row: ResultRow {
    fileprivate let rows: Rows
    fileprivate let index: Int32

    func isNull(_ column: Int32) -> Bool { rows.isNull(index, column) }

    func integer(_ column: Int32) -> Int64 {
        let bytes = rows.bytes(index, column)
        switch bytes.count {
        case 1: return Int64(bytes[0])
        case 2: return Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
        case 4: return Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
        case 8: return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        default: return 0
        }
    }

    func text(_ column: Int32) -> String { withBytes(column) { String(decoding: $0, as: UTF8.self) } }

    func value(_ column: Int32) -> ColumnValue {
        if isNull(column) { return .null }
        switch rows.type(column) {
        case 17: return .blob(bytes(column))
        case 20, 21, 23: return .integer(integer(column))
        case 701: return .real(Double(bitPattern: UInt64(bitPattern: integer(column))))
        default: return .text(text(column))
        }
    }

    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let bytes = rows.bytes(index, column)
        guard rows.type(column) == 25, StoredText.isEscaped(bytes) else { return body(bytes) }
        return StoredText.read(bytes).withUnsafeBytes(body)
    }
}
