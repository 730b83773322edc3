import HeraldCore
import HeraldModel
import HeraldStore
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

@Suite("The list of a delegate's attempts in SQLite")
struct AttemptListTests {
    private let folder = TemporaryFolder()
    private let other = AppKey(rawValue: 2)

    private func store(_ name: String) throws -> SQLiteStore {
        let store = try SQLiteStore(folder: "\(folder.path)/\(name)")
        try store.transaction { (transaction) throws(StoreError) in
            try transaction.setDelegate(WebhookDelegate(1))
            try transaction.setDelegate(WebhookDelegate(2, app: other))
        }
        return store
    }

    private func write(_ store: SQLiteStore, _ attempts: [AttemptRecord]) throws {
        var checkpoint = Checkpoint()
        checkpoint.attempts = attempts
        try store.transaction { (transaction) throws(StoreError) in try transaction.write(checkpoint) }
    }

    private func reader(_ store: SQLiteStore) throws -> Reader { try #require(try store.makeReader() as? Reader) }

    @Test("an attempt is listed as soon as its transaction is committed, and not before")
    func committing() throws {
        let store = try store("committing")
        defer { store.close() }
        try write(store, (1...3).map { attempt(1, $0) })
        let reader = try reader(store)
        var query = AttemptQuery(delegate: 1)
        func listed() throws -> [LogPosition] { try reader.attempts(query).map(\.record.event) }
        #expect(try listed() == [3, 2, 1])
        // As between the end of the transaction and `ended`.
        reader.heads.take([1: 1])
        #expect(try listed() == [1])
        reader.heads.announce([1: 3])
        #expect(try listed() == [3, 2, 1])
        query.before = 3
        #expect(try listed() == [2, 1])
        query.before = nil
        // As before the end of the transaction.
        reader.heads.announce([1: 4])
        #expect(try listed() == [1])
        reader.heads.discard()
        reader.heads.take([1: 3])
        #expect(try listed() == [3, 2, 1])
        reader.heads.announce([1: 0])
        #expect(try listed() == [3, 2, 1])
    }

    @Test("memory keeps no last attempt of a delegate that was deleted during its attempt")
    func deleted() throws {
        let store = try store("deleted")
        defer { store.close() }
        try store.transaction { (transaction) throws(StoreError) in try transaction.removeDelegate(2, at: 5) }
        try write(store, [attempt(1, 1), attempt(2, 1)])
        let heads = try reader(store).heads
        #expect(heads.last(of: 2) == 2)
        // A loop reports an attempt that it had made before.
        for first in [1, 2] as [LogPosition] {
            try write(store, (1...AttemptHeads.round).map { attempt(1, first * 20_000 + $0) })
            #expect(heads.last(of: 2) == 0 && heads.last(of: 1) > AttemptHeads.round)
        }
    }

    /// The cost of each kind of list, in steps of SQLite's machine, and its result.
    private func lists(_ store: SQLiteStore, of delegate: DelegateKey) throws -> (
        steps: [Int64], found: [[LogPosition]]
    ) {
        let reader = try reader(store)
        var queries = [AttemptQuery(delegate: delegate)]
        queries[0].limit = 20
        let middle = try reader.attempts(queries[0]).last
        for change in [
            { $0.before = middle?.id }, { $0.limit = 1_000 }, { $0.succeeded = true }, { $0.succeeded = false },
            { $0.event = 7 }, { ($0.before, $0.succeeded) = (middle?.id, true) },
        ] as [(inout AttemptQuery) -> Void] {
            var query = queries[0]
            change(&query)
            queries.append(query)
        }
        var found: [[LogPosition]] = []
        var steps: [Int64] = []
        var before = try self.steps(reader)
        for query in queries {
            found.append(try reader.attempts(query).map(\.record.event))
            let after = try self.steps(reader)
            steps.append(after - before)
            before = after
        }
        return (steps, found)
    }

    private func steps(_ reader: Reader) throws -> Int64 {
        try reader.connection.integer("SELECT sum(nstep) FROM sqlite_stmt WHERE sql LIKE '%FROM attempts%'")
    }

    @Test("takes no longer beside 100,000 attempts of another app's delegate, and none is missing after a kill")
    func others() throws {
        func own(_ events: ClosedRange<LogPosition>) -> [AttemptRecord] {
            events.map { attempt(2, $0, status: $0 % 3 == 0 ? 500 : 200) }
        }
        let alone = try store("alone")
        let shared = try store("shared")
        defer {
            alone.close()
            shared.close()
        }
        let many = (1...5_000).map { attempt(1, $0, status: $0 % 3 == 0 ? 500 : 200) }
        for events in [1...30, 31...60] as [ClosedRange<LogPosition>] {
            for store in [alone, shared] { try write(store, own(events)) }
            for _ in 0..<10 { try write(shared, many) }
        }
        for store in [alone, shared] { try write(store, own(61...62)) }
        for _ in 0..<4 { try write(shared, many) }
        let expected = try lists(alone, of: 2)
        #expect(expected.found[0] == (43...62).reversed() && expected.found[2] == (1...62).reversed())
        let found = try lists(shared, of: 2)
        #expect(found.steps == expected.steps)
        #expect(found.found == expected.found)

        copyAsAfterKill("\(folder.path)/shared", to: "\(folder.path)/copy")
        let restarted = try SQLiteStore(folder: "\(folder.path)/copy")
        defer { restarted.close() }
        let again = try lists(restarted, of: 2)
        #expect(again.steps == expected.steps && again.found == expected.found)
    }

    @Test("a search for few successes among many failures has bounded work, and continues from there")
    func rare() throws {
        let store = try store("rare")
        defer { store.close() }
        let count = LogPosition(AttemptQuery.maxWork)
        try write(store, (1...3).map { attempt(1, $0) })
        for part in 0..<5 {
            let first = 4 + LogPosition(part) * count / 2
            try write(store, (first..<first + count / 2).map { attempt(1, $0, status: 500) })
        }
        // The end of the first search is an erased attempt.
        let end = 3 + 5 * count / 2 - count + 1
        try store.transaction { (transaction) throws(StoreError) in _ = try transaction.erase([end]) }
        let reader = try reader(store)
        var query = AttemptQuery(delegate: 1)
        query.succeeded = true
        query.limit = 7
        var found: [LogPosition] = []
        var searches = 0
        while true {
            found += try reader.attempts(query).map(\.record.event)
            searches += 1
            guard let rest = try reader.rest(of: query), searches < 9 else { break }
            #expect(rest < query.before ?? .max)
            query.before = rest
        }
        #expect(found == [3, 2, 1] && searches == 3)
        query.before = nil
        query.succeeded = false
        #expect(try reader.rest(of: query) == nil)
    }

    @Test("a list ends where retention has removed its next page, and does not begin again")
    func removed() throws {
        let store = try store("removed")
        defer { store.close() }
        try write(store, (1...LogPosition(20 + AttemptQuery.maxWork)).map { attempt(1, $0) })
        let reader = try reader(store)
        var query = AttemptQuery(delegate: 1)
        query.before = 15
        let search = AttemptSearch(query)
        #expect(try search.page(reader).found.map(\.record.event) == (1...14).reversed())
        try store.transaction { (transaction) throws(StoreError) in
            _ = try transaction.removeAttempts(through: 18, limit: 100)
        }
        let (found, next) = try search.page(reader)
        #expect(found.isEmpty && next == nil)
    }

    @Test("contains every attempt after erasures, removals, rollbacks and kills")
    func everything() throws {
        var random = SeededRandom(seed: 25)
        var name = "0"
        var store = try store(name)
        defer { store.close() }
        for step in 1...400 {
            switch random.number(0...99) {
            case 0...79:
                let records = (0..<random.number(1...6)).map { _ in
                    attempt(
                        DelegateKey(random.number(1...2)), LogPosition(random.number(1...50)), startedAt: Int64(step))
                }
                try write(store, records)
            case 80...86:
                let event = LogPosition(random.number(1...50))
                try store.transaction { (transaction) throws(StoreError) in _ = try transaction.erase([event]) }
            case 87...90:
                try store.transaction { (transaction) throws(StoreError) in
                    _ = try transaction.removeAttempts(before: Int64(step - 100), limit: 50)
                }
            case 91...96:
                var checkpoint = Checkpoint()
                checkpoint.attempts = [attempt(1, 9), attempt(2, 9)]
                let error = failure {
                    try store.transaction { (transaction) throws(StoreError) in
                        try transaction.write(checkpoint)
                        throw .full
                    }
                }
                #expect(error == .full)
            default:
                copyAsAfterKill("\(folder.path)/\(name)", to: "\(folder.path)/\(step)")
                store.close()
                name = "\(step)"
                store = try SQLiteStore(folder: "\(folder.path)/\(name)")
            }
            let reader = try reader(store)
            let all = try reader.attempts(after: 0, limit: .max)
            for delegate in [1, 2] as [DelegateKey] {
                var query = AttemptQuery(delegate: delegate)
                query.limit = 7
                var listed: [StoredAttempt] = []
                while case let page = try reader.attempts(query), let last = page.last {
                    listed += page
                    query.before = last.id
                }
                #expect(listed == all.filter { $0.record.delegate == delegate }.reversed(), "step \(step)")
            }
        }
    }
}
