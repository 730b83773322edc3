import HeraldModel
import HeraldPostgres
import HeraldSQLite
import HeraldTestSupport
import Testing

/// The stores that the conformance suite runs against.
enum StoreKind: CaseIterable {
    case memory, sqlite, postgres

    /// The stores that several processes may write to, which keep a list of changes.
    static let shared: [StoreKind] = [.memory, .postgres]
}

/// A store of its own for one test.
final class StoreFixture {
    let folder = TemporaryFolder()
    private(set) var store: any EventStore
    /// The address of a database.
    private let database: String?
    private var others: [any EventStore] = []

    init(_ kind: StoreKind, appending events: [Event] = []) throws {
        switch kind {
        case .memory:
            database = nil
            store = MemoryStore()
        case .sqlite:
            database = nil
            store = try SQLiteStore(folder: folder.path)
        case .postgres:
            let url = try PostgresServer.shared().makeDatabase()
            database = url
            store = try PostgresStore(url: url)
        }
        if !events.isEmpty { try append(events) }
    }

    deinit {
        for store in others + [store] { store.close() }
        if let database { try? PostgresServer.shared().drop(database) }
    }

    /// Returns the state after a restart. (The memory store has none, and returns the state that it would recover.)
    func restart() throws -> Found {
        if store is MemoryStore { return try store.found() }
        store.close()
        if let database {
            store = try PostgresStore(url: database)
        } else {
            store = try SQLiteStore(folder: folder.path)
        }
        return try store.found()
    }

    /// Opens the store as another process would. It is still open at the end of the test.
    func openAnother() throws -> any EventStore {
        guard let database else { return store }
        let other = try PostgresStore(url: database)
        others.append(other)
        return other
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

    /// Returns the result of the body.
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
