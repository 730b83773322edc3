import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldPostgres

@Suite("Nodes that give no sign")
struct NodeSilenceTests {
    @Test("a node is silent once its last sign has been the same for 12 seconds")
    func silent() {
        var silence = NodeSilence()
        func nodes(_ seen: [Int64: Int64], at seconds: Int64) -> [Int64] {
            silence.silent(among: seen, at: seconds * 1_000_000_000).map { $0.node }.sorted()
        }
        #expect(nodes([1: 5, 2: 5], at: 0) == [])
        // The clock of the database may go back, too.
        #expect(nodes([1: 5, 2: 3], at: 11) == [])
        #expect(nodes([1: 5, 2: 3, 3: 0], at: 12) == [1])
        #expect(nodes([2: 3, 3: 0], at: 24) == [2, 3])
        #expect(nodes([1: 5], at: 25) == [], "it was away")
    }

    @Test("a session without signs is ended by this machine's clock, and not by a step of the database's")
    func sessions() throws {
        let database = try TestDatabase()
        let machine = ManualClock()
        let store = try PostgresStore(url: database.url, clock: machine.clock)
        defer { store.close() }
        let leases = try #require(store.leases)
        let other = try Database(url: database.url).open(.log)
        defer { other.close() }
        _ = try other.run(Request(Statement("SELECT pg_advisory_lock(\(Writer.presence), 7)")), seconds: 60)
        // After such a step the last sign of a node is old.
        try database.sql(
            "INSERT INTO herald.nodes (node, name, version, started_at, seen_at) VALUES (7, 'n', 'v', 0, 0)")
        for _ in 1...2 { #expect(try leases.heartbeat().contains(NodeKey(rawValue: 7))) }
        _ = try other.run(Request(Statement("SELECT 1")), seconds: 60)
        machine.advance(seconds: 12)
        _ = try leases.heartbeat()
        try blockUntil("it is ended") { !other.isAlive }
    }
}
