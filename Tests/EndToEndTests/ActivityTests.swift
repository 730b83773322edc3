import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Events and attempts over time", .timeLimit(.minutes(20)))
struct ActivityTests {
    private func sum(_ response: Answer, _ name: String) -> Int64 {
        response.data.reduce(0) { $0 + ($1[name]?.integer ?? 0) }
    }

    @Test("they are counted for the app, a type, a delegate and the server, also after a restart")
    func counts() async throws {
        let receiver = try Receiver { $0.path == "/bad" ? .status(500) : .status(200) }
        defer { receiver.close() }
        var herald = try await HeraldProcess.start()
        let good = try await herald.register(receiver.url("/good")).id
        let bad = try await herald.register(receiver.url("/bad"), #""retry_schedule": [], "events": ["a.b"]"#).id
        for type in ["a.b", "a.b", "c.d"] {
            let event = try await herald.publish(type)
            let states = type == "a.b" ? ["delivered", "exhausted"] : ["delivered"]
            _ = try await herald.get("/v1/events/\(event)") { story in
                story["deliveries"]?.elements.compactMap { $0["state"]?.string } == states
            }
        }
        for _ in 0..<2 {
            // Those of the service itself are counted, too.
            #expect(sum(try await herald.get("/v1/stats"), "events") >= 3)
            let ofType = try await herald.get("/v1/stats?type=a.b&interval=5min")
            #expect(ofType.data.count == 12 && ofType["interval"]?.string == "5min")
            #expect(["events", "delivered", "failed"].map { sum(ofType, $0) } == [2, 2, 2], "\(ofType.text)")
            let ofBad = try await herald.get("/v1/stats?delegate=\(bad)&interval=day")
            #expect(ofBad.data.count == 30)
            #expect(["events", "delivered", "failed"].map { sum(ofBad, $0) } == [0, 0, 2], "\(ofBad.text)")
            let server = try await herald.get("/v1/stats?apps=all")
            #expect(server.data.count == 24 && sum(server, "events") >= 3)
            let types = try await herald.get("/v1/stats/types").data
            let type = types.first { $0["type"]?.string == "a.b" }
            #expect(type?["events"]?.integer == 2 && type?["failed"]?.integer == 2)
            let address = herald.url
            let printed = try await Client.run(["stats", "--types"], server: address)
            #expect(printed.lines.contains { $0.hasPrefix("a.b ") && $0.hasSuffix(" 2") }, "\(printed.text)")
            let hours = try await herald.get("/v1/delegates/\(good)/stats")["hours"]?.elements.map { $0 } ?? []
            #expect(hours.count == 24 && hours.reduce(0) { $0 + ($1["delivered"]?.integer ?? 0) } >= 3)
            _ = try await herald.stop()
            herald = try await herald.restart()
        }
    }

    @Test("an attempt that ends while the server stops is counted, too")
    func duringStop() async throws {
        let herald = try await HeraldProcess.start()
        let gate = ReceiverGate()
        let (receiver, _) = try await herald.registerReceiver { _ in .held(gate) }
        let waiting = Task { try await herald.post("/v1/events", #"{"type": "a.b"}"#, ["Prefer": "wait=60"]) }
        _ = await receiver.requests(1)
        herald.process.signal(SIGTERM)
        // From here on, the server waits for its callbacks only.
        #expect(try await waiting.value.status == 202)
        gate.open()
        #expect(try await herald.process.ended() == .exited(0))
        let next = try await herald.restart()
        let counted = try await next.get("/v1/stats?type=a.b")
        #expect(["events", "delivered", "failed"].map { sum(counted, $0) } == [1, 1, 0], "\(counted.text)")
    }

    @Test("a period with too many intervals, and conditions that exclude each other, are refused")
    func refusals() async throws {
        let herald = try await HeraldProcess.start()
        #expect(try await herald.get("/v1/stats?since=2001-01-01T00:00:00Z").errors == ["since"])
        #expect(
            try await herald.get("/v1/stats?until=2001-01-01T00:00:00Z&since=2001-01-02T00:00:00Z").errors == ["until"])
        #expect(try await herald.get("/v1/stats?interval=week").errors == ["interval"])
        #expect(try await herald.get("/v1/stats?type=a.b&apps=all").errors == ["type", "apps"])
        #expect(try await herald.get("/v1/stats?delegate=dlg_0").status == 404)
    }
}
