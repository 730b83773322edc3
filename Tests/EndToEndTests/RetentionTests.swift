import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Retention", .timeLimit(.minutes(5)), .serialized)
struct RetentionTests {
    @Test("beyond the size limit the oldest events are deleted; a delegate that had not received them is notified")
    func size() async throws {
        let herald = try await HeraldProcess.start(["--retention-size", "16MiB"])
        let watcher = try Receiver()
        defer { watcher.close() }
        _ = try await herald.register(watcher.url(), #""events": ["herald.delivery.dropped"]"#)
        let paused = try await herald.register("http://127.0.0.1:9/", #""events": ["large.*"]"#).id
        #expect(try await herald.send("POST", "/v1/delegates/\(paused)/pause").status == 200)
        let data = String(repeating: "x", count: 200_000)
        var events: [String] = []
        for _ in 0..<120 { events.append(try await herald.publish("large.one", #""data": "\#(data)""#)) }
        // The log is looked at every ten seconds.
        _ = try await herald.get("/v1/events/\(events[0])", within: 60) { $0.status == 404 }
        let last = try #require(events.last)
        #expect(try await herald.get("/v1/events/\(last)").status == 200)
        let told = await watcher.requests(1)
        let body = try JSONDocument(parsing: String(decoding: try #require(told.first).body, as: UTF8.self))
        #expect(body["data"]?["delegate"]?.string == paused)
        #expect(body["data"]?["events_at_most"]?.integer ?? 0 > 0)
        #expect(try await herald.get("/metrics").text.contains(#/herald_[a-z_]*missed[a-z_]* [1-9]/#))
    }
}
