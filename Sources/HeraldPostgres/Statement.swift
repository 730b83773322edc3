import HeraldStore
import Synchronization

/// A statement with parameters `$1`, `$2` …, prepared once in each session that runs it. The server takes the types of the
/// parameters from the text.
struct Statement: Sendable {
    private static let count = Atomic<Int>(0)

    let sql: String
    /// Unique in the process.
    let name: String

    init(_ sql: String) {
        self.sql = sql
        name = "h\(Self.count.add(1, ordering: .relaxed).newValue)"
    }
}

extension Statement {
    private static let all = SharedStatement.allCases.map { Statement($0.sql(.postgres)) }

    static let begin = Statement("BEGIN")
    /// Begins a transaction that reads one snapshot.
    static let beginSnapshot = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    static let commit = Statement("COMMIT")
    static let rollback = Statement("ROLLBACK")

    static func shared(_ statement: SharedStatement) -> Statement { all[statement.index] }
}

/// A statement with its parameters, to be run.
struct Request {
    let statement: Statement
    let parameters: Parameters

    init(_ statement: Statement, _ parameters: Parameters = Parameters()) {
        self.statement = statement
        self.parameters = parameters
    }

    init(_ statement: Statement, _ fill: (inout Parameters) -> Void) {
        var parameters = Parameters()
        fill(&parameters)
        self.init(statement, parameters)
    }

    /// - Parameter numbers: the first parameter, a `bigint[]`.
    init(_ statement: Statement, numbers: [Int64], _ values: any ColumnConvertible...) {
        self.init(statement) { parameters in
            parameters.add(numbers) { $0 }
            for value in values { parameters.add(value.column) }
        }
    }

    init(_ statement: SharedStatement, _ values: [any ColumnConvertible]) {
        self.init(.shared(statement)) { parameters in for value in values { parameters.add(value.column) } }
    }
}
