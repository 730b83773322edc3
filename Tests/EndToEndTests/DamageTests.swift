import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("A damaged database", .enabled(if: TestStore.isFolder))
struct DamageTests {
    @Test("a damaged event is not sent, its deliveries say so, and all other events arrive")
    func damagedEvent() async throws {
        let herald = try await HeraldProcess.start()
        let first = try Receiver()
        first.close()
        _ = try await herald.register(first.url(), #""retry_schedule": [1, 1, 1, 1, 1, 1, 1, 1]"#)
        let paused = try await herald.register(first.url("/paused")).id
        #expect(try await herald.send("POST", "/v1/delegates/\(paused)/pause").status == 200)
        let damaged = try await herald.publish("order.placed", #""data": {"mark": "m0"}"#)
        // It stays so: five refused connections make the delegate `failing`, and then attempts use up no schedule.
        _ = try await herald.deliveries(of: damaged, "retrying", "pending")
        var whole: [String] = []
        for number in 1...2 {
            whole.append(try await herald.publish("order.placed", #""data": {"mark": "m\#(number)"}"#))
        }
        #expect(try await herald.stop() == .exited(0))

        let database = herald.folder.path + "/data/herald.db"
        var bytes = try Files.read(database)
        let mark = Array(#""mark": "m0""#.utf8)
        let place = try #require(
            (0..<bytes.count - mark.count).first { bytes[$0..<$0 + mark.count].elementsEqual(mark) })
        bytes[place + mark.count - 2] ^= 1
        try Files.write(bytes, to: database)

        let second = try Receiver(port: first.port)
        defer { second.close() }
        let next = try await herald.restart()
        #expect(try await next.send("POST", "/v1/delegates/\(paused)/resume").status == 200)
        let told = await second.requests(4)
        #expect(Set(told.compactMap { $0.header("webhook-id") }) == Set(whole))

        let story = try await next.get("/v1/events/\(damaged)")
        #expect(story.status == 410 && story.problem == "event-damaged")
        #expect(try await next.send("POST", "/v1/events/\(damaged)/redeliver").status == 410)
        let list = try await next.get("/v1/events?type=order.placed&limit=2")
        #expect(list.data.map { $0["id"]?.string } == whole.reversed())
        _ = try await next.get("/v1/deliveries?state=dropped") {
            $0.data.map { $0["reason"]?.string } == ["the event is damaged in the database"]
        }
        #expect(next.log("event damaged: it is not served or sent any more").count == 1)
        #expect(try await next.get("/metrics").text.contains("\nherald_events_damaged_total 1\n"))
    }
}
