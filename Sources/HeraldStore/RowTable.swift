package import HeraldModel

/// A table with its columns, each declared once: the SQL that writes and reads rows, and the values of rows, follow from the declarations.
///
/// For tables that change rarely. The tables that change with each event (log, attempts, waiting deliveries, positions,
/// values) bind by hand: here each value is bound through an existential, and copied.
package struct RowTable<Row>: Sendable {
    package let name: String
    /// If columns are sealed, the first column is the key.
    package let columns: [any TableColumn<Row>]
    private let keyColumns: ClosedRange<Int32>

    /// - Parameter key: the indexes of the columns that name a row in errors.
    package init(_ name: String, key: ClosedRange<Int32> = 0...0, _ columns: [any TableColumn<Row>]) {
        self.name = name
        keyColumns = key
        self.columns = columns
        for (index, column) in columns.enumerated() { column.place.index = Int32(index) }
    }

    // MARK: SQL

    /// The column names, in the order of the indexes of `values` and `StoredRow`.
    package var list: String { columns.map(\.name).joined(separator: ", ") }

    /// Adds a row, with parameters from 1 on.
    package var insert: String {
        let values = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        return "INSERT INTO \(name) (\(list)) VALUES (\(values))"
    }

    /// Adds a row or updates the one with the same key, except for fixed columns.
    package func upsert(on key: String) -> String {
        let changes = columns.filter { !$0.isFixed }.map { "\($0.name) = excluded.\($0.name)" }
        return "\(insert) ON CONFLICT (\(key)) DO UPDATE SET \(changes.joined(separator: ", "))"
    }

    /// The assignments that wipe a row. Parameter 3 is an empty blob, if there is one among them.
    package var wiping: String {
        columns.compactMap { column in column.wiped.map { "\(column.name) = \($0.literal)" } }.joined(separator: ", ")
    }

    package var sealed: [any TableColumn<Row>] { columns.filter { $0.isSealed } }

    // MARK: Rows

    /// The values of a row, as stored.
    package func values(of row: Row, _ sealer: ColumnSealer = .none) throws(StoreError) -> [ColumnValue] {
        var values: [ColumnValue] = []
        for column in columns {
            var value = column.value(of: row)
            let key = (values.first ?? value).integer ?? 0
            if column.isSealed { value = try sealer.seal(value, .column(column.name, of: name, row: key)) }
            values.append(value)
        }
        return values
    }

    /// A row of the columns of `list`.
    package func row(_ row: some ResultRow, _ sealer: ColumnSealer = .none) -> StoredRow<Row> {
        StoredRow(row: row, sealer: sealer, table: name, keyColumns: keyColumns)
    }
}

/// A row that a store has returned.
package struct StoredRow<Row> {
    fileprivate let row: any ResultRow
    fileprivate let sealer: ColumnSealer
    fileprivate let table: String
    fileprivate let keyColumns: ClosedRange<Int32>

    package func callAsFunction<Value>(_ column: Column<Row, Value>) throws(StoreError) -> Value {
        let index = try position(of: column)
        var value = row.value(index)
        if column.isSealed {
            value = try sealer.open(value, .column(column.name, of: table, row: row.integer(0)))
        }
        do throws(StoreError) {
            return try column.read(value)
        } catch {
            throw found(error)
        }
    }

    /// The value of a column by which clients or statements find the row.
    package func key(_ column: Column<Row, String>) throws(StoreError) -> String {
        let index = try position(of: column)
        do throws(StoreError) {
            return try row.key(index, column.name)
        } catch {
            throw found(error)
        }
    }

    private func position<Value>(of column: Column<Row, Value>) throws(StoreError) -> Int32 {
        let index = column.place.index
        guard index >= 0 else {
            throw .failed(reason: "the column \(column.name) is in no list of its table")
        }
        return index
    }

    private func found(_ error: StoreError) -> StoreError {
        error.found(in: table, row: keyColumns.map { row.value($0).shown }.joined(separator: ", "))
    }
}

extension ColumnValue {
    /// The SQL literal of a wiped value: only constants without quotes, and no bytes.
    fileprivate var literal: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): String(value)
        case .real(let value): String(value)
        case .text(let text): "'\(text)'"
        case .blob: "?3"
        }
    }
}
