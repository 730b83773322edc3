import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("The log", .timeLimit(.minutes(20)), .serialized)
struct LogTests {
    @Test("it reports each change of a delegate on one line, with the reason")
    func delegates() async throws {
        let herald = try await HeraldProcess.start()
        let isMended = Flag()
        let receiver = try herald.receiver { _ in .status(isMended.isSet ? 200 : 500) }
        let id = try await herald.register(
            receiver.url("/hook?token=secret"), #""retry_schedule": [0.5, 0.5, 0.5, 0.5, 2, 2, 2, 2, 2, 2, 2, 2]"#
        ).id
        // Five deliveries have to fail over two seconds.
        let event = try await herald.publish()
        for _ in 1...4 { _ = try await herald.publish() }
        try await eventually("it fails") { !herald.log("delegate failing").isEmpty }
        // Paused before, so that no probe mends it.
        #expect(try await herald.post("/v1/delegates/\(id)/pause", "").status == 200)
        isMended.set()
        #expect(try await herald.post("/v1/delegates/\(id)/resume", "").status == 200)
        _ = try await herald.deliveries(of: event, "delivered")
        #expect(try await herald.send("DELETE", "/v1/delegates/\(id)").status == 204)
        #expect(try await herald.stop() == .exited(0))

        let lines = herald.process.lines.compactMap { try? JSONDocument(parsing: $0) }
            .filter { $0["delegate"] != nil }
        #expect(
            lines.map { $0["message"]?.string } == [
                "delegate registered", "delegate failing", "delegate changed status", "delegate changed status",
                "delegate removed",
            ])
        for line in lines {
            #expect(line["delegate"]?.string == id)
            #expect(line["url"]?.string == receiver.url("/…"))
            #expect(line["level"]?.string == "info")
        }
        #expect(lines.compactMap { $0["status"]?.string } == ["active", "paused", "active"])
        #expect(herald.log("delegate failing").first?["reason"]?.string == "status 500")
        #expect(!herald.process.text.contains("token=secret"))
    }

    @Test("an exhausted delivery is a warning with the trace of its event, as is the callback about it")
    func exhausted() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { $0.path == "/bad" ? .status(400) : .status(200) }
        _ = try await herald.register(receiver.url("/bad"), #""retry_schedule": [], "events": ["test.*"]"#)
        _ = try await herald.register(receiver.url("/ops"), #""events": ["herald.delivery.exhausted"]"#)
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let event = try await herald.post("/v1/events", #"{"type": "test.happened"}"#, ["traceparent": trace]).id
        let line = try await eventually("it is given up") { herald.log("delivery exhausted").first }
        #expect(line["level"]?.string == "warning")
        #expect(line["event"]?.string == event)
        #expect(line["event_type"]?.string == "test.happened")
        #expect(line["attempts"]?.string == "1")
        #expect(line["traceparent"]?.string == trace)
        let told = try await eventually("the delegate is notified") { receiver.requests.first { $0.path == "/ops" } }
        #expect(told.header("traceparent") == trace)
    }

    @Test("the first line contains the retention times, and whether secrets are encrypted")
    func start() async throws {
        let herald = try await HeraldProcess.start(["--retention", "36h", "--retention-size", "unlimited"])
        let line = try #require(herald.log("listening").first)
        #expect(line["retention"]?.string == "36h")
        #expect(line["retention_attempts"]?.string == "7d")
        #expect(line["retention_size"]?.string == "unlimited")
        #expect(line["secrets"]?.string == "not encrypted")
    }
}
