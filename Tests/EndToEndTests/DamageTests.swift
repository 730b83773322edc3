import HeraldJSON
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCLI

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

        try damage(herald, #""mark": "m0""#, at: 10)

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

    @Test("a damaged scheduled event holds up no other: it is put aside when it is due, and can be erased before")
    func damagedSchedule() async throws {
        func time(in milliseconds: Int64) -> String {
            Timestamp(milliseconds: Clock.system.wall() + milliseconds).description
        }
        let herald = try await HeraldProcess.start()
        for id in ["bad", "torn", "odd", "erased", "good"] {
            // The header becomes an attribute of the event.
            let posted = try await herald.post(
                "/v1/events",
                """
                {"type": "trial.\(id)", "id": "\(id)", "subject": "user:\(id)", "data": {"\(id)": 1},
                "deliver_at": "\(time(in: 3_600_000))"}
                """,
                ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "mark=\(id)"])
            #expect(posted.status == 202)
        }
        #expect(try await herald.stop() == .exited(0))
        try damage(herald, "8:mark=bad", at: 0)
        try damage(herald, "11:mark=erased", at: 0)
        // No JSON, and no type.
        try damage(herald, #"{"torn": 1}"#, at: 0)
        try damage(herald, "trial.odd", at: 2)

        let next = try await herald.restart()
        #expect(Set(try await next.get("/v1/events?state=scheduled").data.map { $0.text("id") }).count == 5)
        #expect(try await next.send("DELETE", "/v1/subjects/user:erased").status < 300)
        for id in ["bad", "torn", "odd", "good"] {
            let moved = try await next.send("PATCH", "/v1/events/\(id)", #"{"deliver_at": "\#(time(in: 1))"}"#)
            #expect(moved.status == 200)
        }
        _ = try await next.get("/v1/events") { $0.data.map { $0.text("id") } == ["good"] }
        let refused = try await next.get("/v1/events?state=refused") { $0.data.count == 3 }
        #expect(Set(refused.data.map { $0.text("id") }) == ["bad", "torn", "odd"])
        #expect(Set(refused.data.map { $0.text("raw_data") }) == [#"{"bad": 1}"#, #":"torn": 1}"#, #"{"odd": 1}"#])
        #expect(refused.data.first { $0.text("id") == "odd" }?.text("type") == "herald.event.damaged")
        #expect(refused.data.allSatisfy { $0.text("reason") == "the event is damaged in the database" })
        #expect(try await next.get("/v1/events?state=scheduled").data.isEmpty)
        #expect(next.log("committed event refused: GET /v1/events?state=refused has it").count == 3)
        let metrics = try await next.get("/metrics").text
        #expect(
            metrics.contains("\nherald_pending_refused_total 3\n") && metrics.contains("\nherald_pending_events 0\n"))
    }

    /// Changes a byte of the first occurrence of a text in the database of a server that has stopped.
    private func damage(_ herald: HeraldProcess, _ text: String, at offset: Int) throws {
        let database = herald.folder.path + "/data/herald.db"
        var bytes = try Files.read(database)
        let mark = Array(text.utf8)
        let start = try #require(
            (0..<bytes.count - mark.count).first { bytes[$0..<$0 + mark.count].elementsEqual(mark) })
        bytes[start + offset] ^= 0x41
        try Files.write(bytes, to: database)
    }
}
