import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldPostgres

@Suite("Locks of rows in a PostgreSQL database", .timeLimit(.minutes(20)))
struct PostgresLockTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    /// The lane of delegate 1.
    private static func lane(at position: LogPosition) -> Checkpoint {
        var checkpoint = Checkpoint()
        checkpoint.lanes = [LanePosition(delegate: 1, cursor: position, position: position)]
        return checkpoint
    }

    @Test("a checkpoint adds to a count of missed deliveries once, whichever delegates have missed some")
    func missed() {
        func requests(_ missed: [(Removal.Cause, Int)]) -> [[UInt8]] {
            var checkpoint = Checkpoint()
            checkpoint.missed = missed.map { Removal(.deliveries, $0.0, count: $0.1) }
            return CheckpointWrites.requests(checkpoint, attempts: [], statistics: []).map(\.parameters.bytes)
        }
        let expected = requests([(.age, 4), (.size, 2)])
        #expect(expected.count == 2)
        #expect(requests([(.size, 2), (.age, 1), (.age, 3)]) == expected)
    }

    @Test("a decision lets a publication go first that has its rows, and waits for the lock of the log")
    func decisionAndPublication() throws {
        // The server ends neither of them.
        let name = try database.sql("SELECT current_database()")
        try database.sql("ALTER DATABASE \(name) SET deadlock_timeout = '1h'")
        let (one, two) = (try database.open(), try database.open())
        try one.transaction { transaction throws(StoreError) in
            try transaction.setDelegate(WebhookDelegate(1))
            try transaction.write(Self.lane(at: 1))
        }
        let watch = try Database(url: database.url).open(.log)
        defer { watch.close() }
        let waiting = Request(
            Statement(
                """
                SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """))
        let (decides, hasPublished) = (Flag(), Flag())
        RawHTTP.start {
            try? blockUntil("the other process decides") { decides.isSet }
            _ = try? one.transaction(.publishing) { transaction throws(StoreError) in
                try transaction.write(Self.lane(at: 2))
                try transaction.append(Event(id: "a"))
            }
            hasPublished.set()
        }
        defer { try? blockUntil("it has published") { hasPublished.isSet } }
        var runs = 0
        let thrown = failure {
            try two.transaction(.deciding) { transaction throws(StoreError) in
                runs += 1
                if runs == 1 {
                    decides.set()
                    // The server ends a session that is silent in a transaction.
                    let hear = { _ = try transaction.event(app: .default, id: "x") }
                    try? blockUntil("the publication has the row and waits", pause: hear) {
                        try watch.run(waiting, seconds: 10).integer == 1
                    }
                }
                try transaction.removeDelegate(1, at: 5)
            }
        }
        #expect(thrown == nil && runs == 2)
        try blockUntil("it has published") { hasPublished.isSet }
        #expect(try one.ids() == ["a"])
        #expect(try database.sql("SELECT count(*) FROM herald.lanes") == "0")
    }
}
