package import HeraldModel

/// The statements that both databases run. The differences between them are the prefix of a parameter and a few expressions
/// (`SQLDialect`). Parameters are written `?1`, `?2`, …, and each statement uses all of its own.
///
/// The tables that change with each event (log, attempts, values, responses, checkpoints) have statements of their own in each store:
/// one for each row in SQLite, one for many rows in PostgreSQL.
package enum SharedStatement: CaseIterable, Sendable {
    case registry(RegistryStatement)
    case delivery(DeliveryStatement)
    case log(LogStatement)
    case pending(PendingStatement)
    case refusal(RefusalStatement)
    case pull(PullStatement)

    package static let allCases: [SharedStatement] =
        RegistryStatement.allCases.map { SharedStatement.registry($0) }
        + DeliveryStatement.allCases.map { SharedStatement.delivery($0) }
        + LogStatement.allCases.map { SharedStatement.log($0) }
        + PendingStatement.allCases.map { SharedStatement.pending($0) }
        + RefusalStatement.allCases.map { SharedStatement.refusal($0) }
        + PullStatement.allCases.map { SharedStatement.pull($0) }

    /// The index in `allCases`.
    package var index: Int {
        switch self {
        case .registry(let statement): statement.rawValue
        case .delivery(let statement): Self.firstDelivery + statement.rawValue
        case .log(let statement): Self.firstLog + statement.rawValue
        case .pending(let statement): Self.firstPending + statement.rawValue
        case .refusal(let statement): Self.firstRefusal + statement.rawValue
        case .pull(let statement): Self.firstPull + statement.rawValue
        }
    }

    private static let firstDelivery = RegistryStatement.allCases.count
    private static let firstLog = firstDelivery + DeliveryStatement.allCases.count
    private static let firstPending = firstLog + LogStatement.allCases.count
    private static let firstRefusal = firstPending + PendingStatement.allCases.count
    private static let firstPull = firstRefusal + RefusalStatement.allCases.count

    /// The statement in a dialect.
    package func sql(_ dialect: SQLDialect) -> String {
        let text =
            switch self {
            case .registry(let statement): statement.text(dialect)
            case .delivery(let statement): statement.text(dialect)
            case .log(let statement): statement.text(dialect)
            case .pending(let statement): statement.text(dialect)
            case .refusal(let statement): statement.text(dialect)
            case .pull(let statement): statement.text(dialect)
            }
        return String(text.map { $0 == "?" ? dialect.mark : $0 })
    }
}

/// The differences between the databases that shared statements depend on.
package enum SQLDialect: Sendable {
    case sqlite, postgres

    /// Begins a parameter.
    fileprivate var mark: Character { self == .sqlite ? "?" : "$" }

    /// The number of bytes of a text or a blob.
    func byteCount(_ column: String) -> String {
        self == .sqlite ? "length(CAST(\(column) AS BLOB))" : "octet_length(\(column))"
    }

    /// Makes SQLite use an index that it would not choose by itself.
    func indexed(by index: String) -> String { self == .sqlite ? "INDEXED BY \(index)" : "" }
}

/// A connection that runs shared statements.
package protocol SharedStatements: AnyObject {
    associatedtype SharedRow: ResultRow

    func rows<Value>(
        _ statement: SharedStatement, _ values: [any ColumnConvertible], _ make: (SharedRow) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value]
}

extension SharedStatements {
    package func first<Value>(
        _ statement: SharedStatement, _ values: [any ColumnConvertible] = [],
        _ make: (SharedRow) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? { try rows(statement, values, make).first }

    package func rows<Value: RowConvertible>(
        _ statement: SharedStatement, _ values: [any ColumnConvertible]
    ) throws(StoreError) -> [Value] {
        try rows(statement, values) { row throws(StoreError) in try Value(row) }
    }

    package func first<Value: RowConvertible>(
        _ statement: SharedStatement, _ values: [any ColumnConvertible]
    ) throws(StoreError) -> Value? {
        try first(statement, values) { row throws(StoreError) in try Value(row) }
    }

    /// The first column of the first row.
    func position(
        _ statement: SharedStatement, _ values: [any ColumnConvertible] = []
    ) throws(StoreError) -> LogPosition? {
        try first(statement, values) { row throws(StoreError) in try row.natural(0, "position") }
    }
}

/// The part of a transaction whose statements both databases share.
package protocol SharedTransaction: SharedStatements {
    var sealer: ColumnSealer { get }
    var head: LogPosition { get throws(StoreError) }

    /// Runs a statement.
    /// - Returns: the number of rows that it has changed.
    @discardableResult
    func change(_ statement: SharedStatement, _ values: [any ColumnConvertible]) throws(StoreError) -> Int

    /// Runs a statement whose result is not needed: in its order, before the commit.
    func record(_ statement: SharedStatement, _ values: [any ColumnConvertible]) throws(StoreError)

    func write(_ checkpoint: Checkpoint) throws(StoreError)

    /// The attempts of a deleted delegate are not listed any more.
    func forgetAttempts(of delegate: DelegateKey)

    /// Retention has removed the events of a range.
    /// - Parameters:
    ///   - first: the first event before.
    ///   - kept: the first event now.
    func removed(_ range: ClosedRange<LogPosition>, first: LogPosition, kept: LogPosition) throws(StoreError)

    /// Retention has removed attempts.
    func removedAttempts() throws(StoreError)
}

/// The part of a reader whose statements both databases share.
package protocol SharedReader: SharedStatements {
    /// The last event that is visible.
    func end() throws(StoreError) -> LogPosition

    /// The time by the clock of the processes that append, in milliseconds since 1970 UTC.
    var wall: Int64 { get }
}
