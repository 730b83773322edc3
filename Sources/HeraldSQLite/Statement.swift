import CHeraldSQLite
import HeraldModel
import HeraldStore

/// A prepared statement: the only type that uses SQLite's statement handle. It lives as long as its connection.
///
/// Parameters count from 1, columns from 0, as in SQL and in SQLite. A bind that fails is reported by the next `step`.
/// SQLite converts a column that is read as another type than was stored; the tables are STRICT.
final class Statement {
    private let connection: Connection
    private let handle: OpaquePointer
    private var bindResult = SQLITE_OK

    /// Holds bound texts until `reset`, so that SQLite need not allocate and copy each. SQLite copies what doesn't fit.
    private let scratch: UnsafeMutableRawBufferPointer
    private var scratchUsed = 0
    private static let scratchSize = 2048

    init(_ connection: Connection, _ sql: String) throws(StoreError) {
        var prepared: OpaquePointer?
        let result = sqlite3_prepare_v3(
            connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        // All statements are written for the schema of this version.
        if result == SQLITE_ERROR {
            let message = String(cString: sqlite3_errmsg(connection.handle))
            throw .corrupt(path: connection.path, reason: "its schema is not that of Herald: \(message)")
        }
        try connection.check(result)
        guard let prepared else { throw .failed(reason: "an empty statement") }
        self.connection = connection
        handle = prepared
        scratch = .allocate(byteCount: Statement.scratchSize, alignment: 1)
    }

    deinit {
        sqlite3_finalize(handle)
        scratch.deallocate()
    }

    // MARK: Parameters

    func bind(_ index: Int32, _ value: Int64) {
        record(sqlite3_bind_int64(handle, index, value))
    }

    func bind(_ index: Int32, _ value: Int64?) {
        if let value { bind(index, value) } else { record(sqlite3_bind_null(handle, index)) }
    }

    func bind(_ index: Int32, _ text: String) {
        // Convert a text that is not a native Swift string.
        if text.utf8.withContiguousStorageIfAvailable({ bind(index, utf8: $0) }) == nil {
            bind(index, String(decoding: Array(text.utf8), as: UTF8.self))
        }
    }

    private func bind(_ index: Int32, utf8: UnsafeBufferPointer<UInt8>) {
        if utf8.count <= scratch.count - scratchUsed {
            let place = UnsafeMutableRawBufferPointer(rebasing: scratch[scratchUsed..<scratchUsed + utf8.count])
            place.copyMemory(from: UnsafeRawBufferPointer(utf8))
            scratchUsed += utf8.count
            // The scratch lives as long as the statement. `nil` is SQLITE_STATIC.
            record(
                sqlite3_bind_text(
                    handle, index, place.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(utf8.count), nil))
        } else {
            utf8.withMemoryRebound(to: CChar.self) {
                record(herald_sqlite_bind_text_copy(handle, index, $0.baseAddress, Int32(clamping: $0.count)))
            }
        }
    }

    func bind(_ index: Int32, _ text: String?) {
        if let text { bind(index, text) } else { record(sqlite3_bind_null(handle, index)) }
    }

    func bind(_ index: Int32, copying bytes: [UInt8]) {
        if bytes.isEmpty { return record(sqlite3_bind_zeroblob(handle, index, 0)) }
        record(herald_sqlite_bind_blob_copy(handle, index, bytes, Int32(clamping: bytes.count)))
    }

    func bind(_ index: Int32, _ value: ColumnValue) {
        switch value {
        case .null: record(sqlite3_bind_null(handle, index))
        case .integer(let value): bind(index, value)
        case .real(let value): record(sqlite3_bind_double(handle, index, value))
        case .text(let text): bind(index, text)
        case .blob(let bytes): bind(index, copying: bytes)
        }
    }

    /// The statement with values of its parameters, from the first one on.
    func bound(_ values: any ColumnConvertible...) -> Statement {
        for (index, value) in zip(Int32(1)..., values) { bind(index, value.column) }
        return self
    }

    private func record(_ code: Int32) {
        if code != SQLITE_OK { bindResult = code }
    }

    // MARK: Running

    /// Moves to the next row; `false` at the end. Call `reset` after the last row that is needed.
    func step() throws(StoreError) -> Bool {
        if bindResult != SQLITE_OK { throw connection.error(bindResult) }
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        throw connection.error(code)
    }

    /// Releases the rows, their snapshot, and the bound values.
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
        scratchUsed = 0
        bindResult = SQLITE_OK
    }

    /// For statements whose rows, if any, are not needed.
    func run() throws(StoreError) {
        defer { reset() }
        _ = try step()
    }

    /// Runs to the end with the bytes as one more parameter. They are not copied.
    func run(_ index: Int32, lent bytes: [UInt8]) throws(StoreError) { try run(index, lent: bytes[...]) }

    func run(_ index: Int32, lent bytes: ArraySlice<UInt8>) throws(StoreError) {
        try lend(index, bytes) { () throws(StoreError) in try run() }
    }

    /// Binds bytes without copying them. The statement refers to them while `body` runs, so `body` has to run the
    /// statement, which releases them.
    func lend(_ index: Int32, _ bytes: ArraySlice<UInt8>, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        try bytes.withUnsafeBufferPointer { buffer throws(StoreError) in
            if let start = buffer.baseAddress, !buffer.isEmpty {
                record(sqlite3_bind_blob64(handle, index, start, UInt64(buffer.count), nil))
            } else {
                record(sqlite3_bind_zeroblob(handle, index, 0))
            }
            try body()
        }
    }

    /// All rows.
    /// - Parameter mayGoOn: asked before each row.
    func rows<Row>(
        while mayGoOn: () -> Bool = { true }, _ make: (Statement) throws(StoreError) -> Row
    ) throws(StoreError) -> [Row] {
        defer { reset() }
        var rows: [Row] = []
        while mayGoOn(), try step() { rows.append(try make(self)) }
        return rows
    }

    /// The first row, if any.
    func row<Row>(_ make: (Statement) throws(StoreError) -> Row) throws(StoreError) -> Row? {
        defer { reset() }
        return try step() ? try make(self) : nil
    }

    func rows<Row: RowConvertible>() throws(StoreError) -> [Row] {
        try rows { row throws(StoreError) in try Row(row) }
    }

    func row<Row: RowConvertible>() throws(StoreError) -> Row? {
        try row { row throws(StoreError) in try Row(row) }
    }

    // MARK: Columns

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// Empty for NULL.
    func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func value(_ column: Int32) -> ColumnValue {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_FLOAT: .real(sqlite3_column_double(handle, column))
        case SQLITE_TEXT: .text(text(column))
        case SQLITE_BLOB: .blob(bytes(column))
        default: .null
        }
    }

    /// Provides a blob or a text without copying it.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = sqlite3_column_blob(handle, column)
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
