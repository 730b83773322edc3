import HeraldCore

/// A table with its columns, each declared once: the SQL that writes and reads rows, what is bound and what is read follow.
///
/// For tables that change now and then. Those that see each event (log, attempts, waiting deliveries, positions, values) bind
/// by hand: a row here is bound value by value through existentials, copies its blobs, and binds each NULL.
struct RowTable<Row>: Sendable {
    let name: String
    /// The first one is the key where columns are sealed.
    let columns: [any TableColumn<Row>]
    private let indexes: [String: Int32]

    init(_ name: String, _ columns: [any TableColumn<Row>]) {
        self.name = name
        self.columns = columns
        indexes = Dictionary(uniqueKeysWithValues: zip(columns.map(\.name), Int32(0)...))
    }

    // MARK: SQL

    /// The names, in the order in which `bind` and `StoredRow` count them.
    var list: String { columns.map(\.name).joined(separator: ", ") }

    /// What follows `INSERT` to add a row, parameters from 1 on.
    var insert: String {
        "INTO \(name) (\(list)) VALUES (\(columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))"
    }

    /// Adds a row or takes the place of the one with its key.
    var replace: String { "INSERT OR REPLACE \(insert)" }

    /// Adds a row or changes the one with its key, but for what is fixed.
    func upsert(on key: String) -> String {
        let changes = columns.filter { !$0.isFixed }.map { "\($0.name) = excluded.\($0.name)" }
        return "INSERT \(insert) ON CONFLICT (\(key)) DO UPDATE SET \(changes.joined(separator: ", "))"
    }

    /// What sets the columns that are wiped.
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

    /// The statement's row, whose columns are those of `list`.
    func row(_ statement: Statement, _ sealer: ColumnSealer = .none) -> StoredRow<Row> {
        StoredRow(statement: statement, sealer: sealer, indexes: indexes)
    }
}

/// A row that a statement has found.
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
    /// In SQL, of what we leave in a wiped column: constants without quotes, and no bytes.
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
