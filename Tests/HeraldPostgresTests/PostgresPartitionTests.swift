import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldPostgres

@Suite("The partitions of a PostgreSQL database")
struct PostgresPartitionTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    @Test("partitions are made ahead of what is appended, and dropped when they are empty")
    func partitions() throws {
        let store = try database.open(partitionSize: 1000)
        try store.fill(partitions: 5)
        func count(_ parent: String) throws -> Int? {
            Int(try database.sql("SELECT count(*) FROM pg_inherits WHERE inhparent = 'herald.\(parent)'::regclass"))
        }
        let before = try #require(try count("events"))
        #expect(before >= 5)
        try store.transaction { transaction throws(StoreError) in
            _ = try transaction.removeEvents(1...2_500, limit: 5_000)
        }
        for _ in 1...3 { _ = try store.checkpointIfDue() }
        #expect(try count("events") == before - 2)
        #expect(try store.makeReader().events(after: 0, limit: 9_999, maxBytes: .max).events.count == 2_000)
        #expect(try count("attempts") == 1)
    }

    @Test("a partition stays when the removal of its events is rolled back")
    func removalRolledBack() throws {
        let store = try database.open(partitionSize: 1000)
        try store.fill(partitions: 3)
        let thrown = failure {
            try store.transaction { transaction throws(StoreError) in
                _ = try transaction.removeEvents(1...2_500, limit: 5_000)
                throw .full
            }
        }
        #expect(thrown == .full)
        for _ in 1...3 { _ = try store.checkpointIfDue() }
        #expect(try store.makeReader().events(after: 0, limit: 9_999, maxBytes: .max).events.count == 2_700)
    }

    @Test("a partition that cannot be dropped is tried again a minute later: sessions wait behind each try")
    func dropFails() throws {
        let store = try database.open(partitionSize: 1000)
        try store.fill(partitions: 3)
        let session = try Database(url: database.url).open(.log)
        func run(_ requests: [Request]) throws(StoreError) -> [Rows] {
            do throws(PostgresError) {
                return try session.run([requests], seconds: 60)
            } catch {
                throw error.ofRead("the database")
            }
        }
        var partitions = Partitions(size: 1000)
        try partitions.read(run)
        partitions.begin(.events, at: 1_500)
        var requests = 0
        func fail(_ all: [Request]) throws(StoreError) -> [Rows] {
            requests += all.count
            throw .unavailable(reason: "on purpose")
        }
        let failed = partitions.drop(at: 0, fail)
        #expect(failed?.tries == 1 && failed?.error == .unavailable(reason: "on purpose"))
        let first = requests
        partitions.drop(at: 1, fail)
        #expect(first > 0 && requests == first)
        func count() throws -> Int? {
            Int(try database.sql("SELECT count(*) FROM pg_inherits WHERE inhparent = 'herald.events'::regclass"))
        }
        let before = try #require(try count())
        partitions.drop(at: Partitions.dropPause - 1, run)
        #expect(try count() == before)
        // It still has rows.
        let refused = partitions.drop(at: Partitions.dropPause, run)
        #expect(refused?.tries == 2)
        #expect(try count() == before)
        try database.sql("DELETE FROM herald.events WHERE sequence < 1500")
        let isDropped = partitions.drop(at: 2 * Partitions.dropPause, run) == nil
        #expect(isDropped)
        #expect(try count() == before - 1)
    }

    @Test("the store says why a partition can't be dropped, and how many times in a row")
    func undroppable() throws {
        let store = try database.open(partitionSize: 1000)
        try store.fill(partitions: 3)
        try database.sql("CREATE VIEW herald.mine AS SELECT * FROM herald.events_1")
        try store.transaction { transaction throws(StoreError) in
            _ = try transaction.removeEvents(1...1_500, limit: 5_000)
        }
        let checkpoint = try store.checkpointIfDue()
        guard case .kept(.failed(let reason), tries: 1) = checkpoint else { throw Unexpected("\(checkpoint)") }
        #expect(reason.contains("events_1") && reason.contains("2BP01"), "\(reason)")
    }

    @Test("a partition that cannot be made ahead is tried again a second later, and waits for no lock that others hold")
    func addFails() {
        var partitions = Partitions(size: 1000)
        var requests = 0
        func fail(_ all: [Request]) throws(StoreError) -> [Rows] {
            requests += all.count
            throw .unavailable(reason: "on purpose")
        }
        let times: [Int64?] = [0, 1, Partitions.addPause, nil]
        func count(_ parent: Partitions.Parent, at time: Int64?) -> Int {
            requests = 0
            let thrown = failure { try partitions.prepare(parent, after: 0, at: time, fail) }
            return thrown == nil ? 0 : requests
        }
        // The first one is the limit of the wait. One that is needed has none.
        #expect(times.map { count(.events, at: $0) } == [2, 0, 2, 1])
        // That of the other table does not wait for it.
        #expect(count(.attempts, at: Partitions.addPause) == 2)
    }

    @Test("more events than a partition was made for are appended nevertheless")
    func overrun() throws {
        let store = try database.open(partitionSize: 100)
        func append() throws {
            try store.transaction(.publishing) { transaction throws(StoreError) in
                try transaction.append((0..<5_000).map { Event(id: "\($0)") })
            }
        }
        // The hub runs it again.
        #expect(failure { try append() } == .outdated)
        try append()
        #expect(try store.recover().head == 5_000)
    }

    /// Two nodes, after retention has removed all attempts of the first partition, with the open round of the first node.
    private func idleAndBusy() throws -> (idle: PostgresStore, busy: PostgresStore) {
        let (idle, busy) = (try database.open(partitionSize: 1000), try database.open(partitionSize: 1000))
        for key in 1...2 as ClosedRange<DelegateKey> {
            try busy.transaction { transaction throws(StoreError) in try transaction.setDelegate(WebhookDelegate(key)) }
        }
        try idle.write([attempt(1, 1)])
        try busy.write([attempt(2, 1)])
        _ = try busy.checkpointIfDue()
        // Its next round is in another partition.
        _ = try busy.recover(.all)
        try busy.write([attempt(2, 2)])
        try busy.transaction { transaction throws(StoreError) in
            _ = try transaction.removeAttempts(through: .max, limit: 2)
        }
        return (idle, busy)
    }

    @Test("attempts that a node records in an empty partition before it is dropped stay, with the partition")
    func usedAgain() throws {
        let (idle, busy) = try idleAndBusy()
        try idle.write([attempt(1, 2)])
        _ = try busy.checkpointIfDue()
        #expect(try database.sql("SELECT to_regclass('herald.attempts_1') IS NULL") == "f")
        #expect(try idle.makeReader().attempts(AttemptQuery(delegate: 1)).map(\.record.event) == [2])
    }

    @Test("a node whose round of attempts was in a partition that retention has dropped begins another round")
    func droppedRound() throws {
        let (idle, busy) = try idleAndBusy()
        _ = try busy.checkpointIfDue()
        #expect(try database.sql("SELECT to_regclass('herald.attempts_1') IS NULL") == "t")
        // The hub runs it again.
        #expect(failure { try idle.write([attempt(1, 2)]) } == .outdated)
        try idle.write([attempt(1, 2)])
        #expect(try idle.makeReader().attempts(AttemptQuery(delegate: 1)).map(\.record.event) == [2])
    }
}
