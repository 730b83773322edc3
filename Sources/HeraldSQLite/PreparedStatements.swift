import HeraldModel
import HeraldStore

/// The shared statements of a connection, each prepared when it is needed first.
final class PreparedStatements {
    private let connection: Connection
    private var all = [Statement?](repeating: nil, count: SharedStatement.allCases.count)

    init(_ connection: Connection) { self.connection = connection }

    /// Prepares all.
    /// - Throws: `.corrupt` if the schema is another one.
    func prepare() throws(StoreError) {
        for shared in SharedStatement.allCases { _ = try prepared(shared) }
    }

    private func prepared(_ shared: SharedStatement) throws(StoreError) -> Statement {
        if let statement = all[shared.index] { return statement }
        let statement = try Statement(connection, shared.sql(.sqlite))
        all[shared.index] = statement
        return statement
    }

    /// A statement with its parameters, to be run.
    func bound(_ shared: SharedStatement, _ values: [any ColumnConvertible]) throws(StoreError) -> Statement {
        let statement = try prepared(shared)
        for (index, value) in zip(Int32(1)..., values) { statement.bind(index, value.column) }
        return statement
    }
}

extension Writer: SharedTransaction {
    func rows<Value>(
        _ statement: SharedStatement, _ values: [any ColumnConvertible], _ make: (Statement) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] { try shared.bound(statement, values).rows(make) }

    func change(_ statement: SharedStatement, _ values: [any ColumnConvertible]) throws(StoreError) -> Int {
        try record(statement, values)
        return connection.changes
    }

    func record(_ statement: SharedStatement, _ values: [any ColumnConvertible]) throws(StoreError) {
        try shared.bound(statement, values).run()
    }
}

extension Reader: SharedReader {
    func rows<Value>(
        _ statement: SharedStatement, _ values: [any ColumnConvertible], _ make: (Statement) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        connection.startClock()
        return try shared.bound(statement, values).rows(make)
    }

    func end() throws(StoreError) -> LogPosition { try lastEvent() }
}
