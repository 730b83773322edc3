import HeraldCore
import HeraldSealing

/// A table with its columns, each declared once: the SQL that writes and reads rows, and the binding and reading of
/// values, follow from the declarations.
///
/// For tables that change rarely. The tables that change with each event (log, attempts, waiting deliveries, positions,
/// values) bind by hand: here each value is bound through an existential, blobs are copied, and each NULL is bound.
struct RowTable<Row>: Sendable {
    let name: String
    /// If columns are sealed, the first column is the key.
    let columns: [any TableColumn<Row>]
    private let indexes: [String: Int32]

    init(_ name: String, _ columns: [any TableColumn<Row>]) {
        self.name = name
        self.columns = columns
        indexes = Dictionary(uniqueKeysWithValues: zip(columns.map(\.name), Int32(0)...))
    }

    // MARK: SQL

    /// The column names, in the order of the indexes of `bind` and `StoredRow`.
    var list: String { columns.map(\.name).joined(separator: ", ") }

    /// The text after `INSERT` that adds a row, with parameters from 1 on.
    var insert: String {
        "INTO \(name) (\(list)) VALUES (\(columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))"
    }

    /// Adds a row or replaces the one with the same key.
    var replace: String { "INSERT OR REPLACE \(insert)" }

    /// Adds a row or updates the one with the same key, except for fixed columns.
    func upsert(on key: String) -> String {
        let changes = columns.filter { !$0.isFixed }.map { "\($0.name) = excluded.\($0.name)" }
        return "INSERT \(insert) ON CONFLICT (\(key)) DO UPDATE SET \(changes.joined(separator: ", "))"
    }

    /// The assignments that wipe a row.
    var wiping: String {
        columns.compactMap { column in column.wiped.map { "\(column.name) = \($0.literal)" } }.joined(separator: ", ")
    }

    var sealed: [any TableColumn<Row>] { columns.filter { $0.seal != nil } }

    // MARK: Rows

    /// Binds a row to the parameters from 1 on.
    func bind(_ row: Row, to statement: Statement, _ sealer: ColumnSealer = .none) throws(StoreError) {
        var key: Int64 = 0
        var index: Int32 = 1
        for column in columns {
            var value = column.value(of: row)
            if index == 1 { key = value.integer ?? 0 }
            if let seal = column.seal { value = try sealer.seal(value, seal(key)) }
            statement.bind(index, value)
            index += 1
        }
    }

    /// The current row of a statement that selects the columns of `list`.
    func row(_ statement: Statement, _ sealer: ColumnSealer = .none) -> StoredRow<Row> {
        StoredRow(statement: statement, sealer: sealer, indexes: indexes)
    }
}

/// A row that a statement has returned.
struct StoredRow<Row> {
    fileprivate let statement: Statement
    fileprivate let sealer: ColumnSealer
    fileprivate let indexes: [String: Int32]

    func callAsFunction<Value>(_ column: Column<Row, Value>) throws(StoreError) -> Value {
        guard let index = indexes[column.name] else {
            throw .failed(reason: "the column \(column.name) is in no list of its table")
        }
        var value = statement.value(index)
        if let seal = column.seal { value = try sealer.open(value, seal(statement.integer(0))) }
        return try column.read(value)
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
        case .blob: "x''"
        }
    }
}
