import HeraldCore
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

/// The stores that the conformance suite runs against.
enum StoreKind: CaseIterable {
    case memory, sqlite

    /// Those that several processes may write to.
    static let shared: [StoreKind] = [.memory]
}

/// All that a start finds.
@dynamicMemberLookup
struct Found {
    fileprivate let all: Recovery
    fileprivate let deliveries: LaneRecovery

    subscript<Value>(dynamicMember path: KeyPath<Recovery, Value>) -> Value { all[keyPath: path] }
    subscript<Value>(dynamicMember path: KeyPath<LaneRecovery, Value>) -> Value { deliveries[keyPath: path] }
    var settled: LogPosition { deliveries.settled.earliest() }
}

extension EventStore {
    func found() throws(StoreError) -> Found { Found(all: try recover(), deliveries: try recover(.all)) }
}

/// A store of its own for one test.
final class StoreFixture {
    let folder = TemporaryFolder()
    private(set) var store: any EventStore

    init(_ kind: StoreKind) throws {
        switch kind {
        case .memory: store = MemoryStore()
        case .sqlite: store = try SQLiteStore(folder: folder.path)
        }
    }

    deinit { store.close() }

    /// What a restart finds. (Memory survives none; it tells what it would find.)
    func restart() throws -> Found {
        if store is SQLiteStore {
            store.close()
            store = try SQLiteStore(folder: folder.path)
        }
        return try store.found()
    }

    func append(_ events: [Event]) throws {
        try store.transaction { (transaction) throws(StoreError) in
            try transaction.append(events)
        }
    }

    func write(_ change: (inout Checkpoint) -> Void) throws {
        var checkpoint = Checkpoint()
        change(&checkpoint)
        try store.transaction { (transaction) throws(StoreError) in try transaction.write(checkpoint) }
    }

    /// What the body returns.
    @discardableResult
    func transaction<Result>(_ body: (any StoreTransaction) throws(StoreError) -> Result) throws -> Result {
        var result: Result?
        try store.transaction { (transaction) throws(StoreError) in result = try body(transaction) }
        return try #require(result)
    }

    func set(_ delegates: WebhookDelegate...) throws {
        try store.transaction { (transaction) throws(StoreError) in
            for delegate in delegates { try transaction.setDelegate(delegate) }
        }
    }
}

func attempt(
    _ delegate: DelegateKey, _ event: LogPosition, number: Int = 1, status: Int? = 200, failure: CallbackFailure? = nil,
    detail: String = "", excerpt: String = "", startedAt: Int64 = 5000
) -> AttemptRecord {
    AttemptRecord(
        delegate: delegate, event: event, number: number, startedAt: startedAt, duration: 1234, status: status,
        failure: failure, detail: detail, excerpt: Array(excerpt.utf8))
}

/// The error that the body throws.
func failure(_ body: () throws -> Void) -> StoreError? {
    do {
        try body()
        return nil
    } catch {
        return error as? StoreError
    }
}

extension SQLiteStore {
    /// A transaction and what the writer calls after it.
    func commit(_ body: (any StoreTransaction) throws(StoreError) -> Void) throws(StoreError) {
        try transaction(body)
        _ = try checkpointIfDue()
    }
}
