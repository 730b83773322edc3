import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Who has what", .timeLimit(.minutes(20)))
struct NodeTests {
    private func shards(_ node: JSONValue) -> [Int64] {
        (node["shards"].map { Array($0.elements) } ?? []).compactMap(\.integer)
    }

    @Test("a server that is alone is the only node, and has all shards")
    func alone() async throws {
        let herald = try await HeraldProcess.start()
        let id = try await herald.publish()
        let found = try await herald.get("/v1/nodes") {
            let first = $0.data.first
            return first?["shards"]?.count == 64 && first?["lag_events"]?.integer == 0
        }
        #expect(found.data.count == 1 && found["next_cursor"]?.isNull == true)
        let node = try #require(found.data.first)
        #expect(shards(node) == Array(0..<64))
        #expect(node["id"]?.string?.wholeMatch(of: /node_[0-9a-f]{8}/) != nil)
        #expect(node["name"]?.string?.hasPrefix("herald, process \(herald.process.id) on ") == true)
        #expect(node["present"]?.bool == true && node["is_self"]?.bool == true)
        #expect(node["started_at"]?.string != nil && node["seen_at"]?.string != nil && node["left_at"]?.isNull == true)
        _ = try await herald.get("/metrics") { answer in
            ["herald_nodes 1\n", "herald_shards 64\n", "herald_delivery_permitted 1\n"].allSatisfy { line in
                answer.text.contains(line)
            }
        }
        #expect(try await herald.get("/v1/nodes?limit=1").status == 422)
        // A data folder has none.
        let moves = try await herald.get("/v1/nodes/moves").data
        #expect(moves.isEmpty == TestStore.isFolder && moves.allSatisfy { $0["reason"]?.string == "new" })
        #expect(try await herald.get("/v1/events/\(id)").status == 200)
    }

    @Test("two servers on a database share the shards, and say so; when one is killed, the other has all")
    func sharing() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        defer { try? PostgresServer.shared().drop(url) }
        func start() async throws -> HeraldProcess {
            try await HeraldProcess.start(
                command: ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url])
        }
        let first = try await start()
        _ = try await first.get("/v1/nodes") { $0.data.first?["shards"]?.count == 64 }
        let second = try await start()
        let both = try await first.get("/v1/nodes") { $0.data.map { $0["shards"]?.count } == [32, 32] }
        #expect(both.data.map { $0["is_self"]?.bool } == [false, true], "the newest comes first")
        #expect(Set(both.data.flatMap(shards)) == Set(0..<64))
        #expect(try await second.get("/v1/nodes").data.map { $0["is_self"]?.bool } == [true, false])
        let taken = try await eventually("it is logged") { first.log("shards taken").first }
        #expect(["shards", "has", "nodes"].map { taken[$0]?.string } == ["64", "64", "1"])
        try await eventually("it is logged") {
            first.log("shards released to other nodes").last.map {
                $0["has"]?.string == "32" && $0["nodes"]?.string == "2"
            }
                ?? false
        }
        _ = try await first.get("/metrics") { answer in
            let lines = [
                "herald_nodes 2\n", "herald_shards 32\n", "herald_shards_moved_total{direction=\"given\"} 32\n",
            ]
            return lines.allSatisfy { line in answer.text.contains(line) }
        }

        try await second.kill()
        let rest = try await first.get("/v1/nodes") { $0.data.last?["shards"]?.count == 64 }
        let gone = try #require(rest.data.first)
        #expect(gone["present"]?.bool == false && gone["left_at"]?.isNull == true && shards(gone).isEmpty)
        #expect(gone["lag_events"]?.isNull == true)
        let moves = try await first.get("/v1/nodes/moves").data
        func moved(_ reason: String, from: String?, to: String?) -> [Int64] {
            moves.filter { $0["reason"]?.string == reason && $0["from"]?.string == from && $0["to"]?.string == to }
                .flatMap(shards).sorted()
        }
        let (one, other) = (both.data[1]["id"]?.string, both.data[0]["id"]?.string)
        let second32 = shards(both.data[0])
        #expect(moved("new", from: nil, to: one) == Array(0..<64), "the oldest come last")
        #expect(moved("given", from: one, to: other) == second32 && moved("lost", from: other, to: one) == second32)
        #expect(moves.first?["reason"]?.string == "lost" && moves.last?["reason"]?.string == "new")
        #expect(moves.allSatisfy { $0["moved_at"]?.string != nil })

        let third = try await start()
        _ = try await first.get("/v1/nodes") { $0.data.first?["shards"]?.count == 32 }
        #expect(try await third.stop() == .exited(0))
        let left = try await first.get("/v1/nodes") { $0.data.last?["shards"]?.count == 64 }
        #expect(left.data.map { $0["left_at"]?.isNull } == [false, true, true])
    }

    @Test("deliveries of a node without contact with the database pause, and resume with a line in the log")
    func pause() async throws {
        let server = try PostgresServer()
        let url = try server.makeDatabase()
        let herald = try await HeraldProcess.start(
            command: ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url])
        try await eventually("it delivers") { !herald.log("shards taken").isEmpty }
        try server.goAway()
        _ = try await herald.get("/metrics") { $0.text.contains("herald_delivery_permitted 0\n") }
        try await eventually("it is logged") {
            herald.log("deliveries paused: no contact with the database").count == 1
        }
        try server.comeBack()
        _ = try await herald.get("/metrics") { $0.text.contains("herald_delivery_permitted 1\n") }
        let line = try await eventually("it is logged") { herald.log("deliveries resumed").first }
        #expect(line["seconds"]?.string.flatMap(Double.init).map { $0 > 0 } == true)
    }
}
