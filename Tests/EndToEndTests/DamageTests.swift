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
        let port = try unusedPort()
        let url = "http://127.0.0.1:\(port)/"
        _ = try await herald.register(url, #""retry_schedule": [1, 1, 1, 1, 1, 1, 1, 1]"#)
        let paused = try await herald.register(url + "paused").id
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

        let second = try Receiver(port: port)
        defer { second.close() }
        let next = try await herald.restart()
        #expect(try await next.send("POST", "/v1/delegates/\(paused)/resume").status == 200)
        let told = await second.requests(4)
        #expect(Set(told.compactMap { $0.header("webhook-id") }) == Set(whole))

        let story = try await next.get("/v1/events/\(damaged)")
        #expect(story.status == 410 && story.problem == "event-damaged")
        #expect(try await next.send("POST", "/v1/events/\(damaged)/redeliver").status == 410)
        for call in ["test", "preview"] {
            let refused = try await next.send("POST", "/v1/delegates/\(paused)/\(call)?event=\(damaged)")
            #expect(refused.status == 410 && refused.problem == "event-damaged", "\(call): \(refused.text)")
        }
        let list = try await next.get("/v1/events?type=order.placed&limit=2")
        #expect(list.data.map { $0["id"]?.string } == whole.reversed())
        _ = try await next.get("/v1/deliveries?state=dropped") {
            $0.data.map { $0["reason"]?.string } == ["the event is damaged in the database"]
        }
        try await eventually("the log says so") {
            next.log("event damaged: it is not served or sent any more").count == 1
        }
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
        try await eventually("the log has them") {
            next.log("committed event refused: GET /v1/events?state=refused has it").count == 3
        }
        let metrics = try await next.get("/metrics").text
        #expect(
            metrics.contains("\nherald_pending_refused_total 3\n") && metrics.contains("\nherald_pending_events 0\n"))
    }

    @Test("a row that cannot be read fails the requests that read it with 500, and nothing else; herald check names it")
    func unreadableRows() async throws {
        let herald = try await HeraldProcess.start()
        let delegate = try await herald.register("http://127.0.0.1:9/").id
        let key = ["Idempotency-Key": "k0"]
        let body = #"{"type": "order.placed"}"#
        let posted = try await herald.post("/v1/events", body, key)
        #expect(posted.status == 202)
        let attempts = "/v1/delegates/\(delegate)/attempts"
        _ = try await herald.get(attempts) { !$0.data.isEmpty }
        #expect(try await herald.stop() == .exited(0))

        try await execute(
            "UPDATE answers SET headers = 'garbage' WHERE key = 'k0'; UPDATE attempts SET failure = 'zzz'", herald)
        let data = herald.folder.path + "/data"
        let check = try await Binary.run(["check", data])
        #expect(check.end == .exited(65))
        #expect(check.text.contains("BAD  answers: row 1, k0 can't be read"), "\(check.text)")
        #expect(check.text.contains("BAD  attempts: row "), "\(check.text)")

        let next = try await herald.restart()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await next.post("/v1/events", body).status } }
            group.addTask { try await next.post("/v1/events", body, key).status }
            var all: [Int] = []
            for try await status in group { all.append(status) }
            return all
        }
        #expect(statuses.sorted() == Array(repeating: 202, count: 20) + [500])
        #expect(try await next.get("/readyz").status == 200)
        for answer in [try await next.post("/v1/events", body, key), try await next.get(attempts)] {
            #expect(answer.status == 500 && answer.problem == "internal")
            #expect(answer.header("retry-after") == nil)
            #expect(answer.text.contains("A stored row can't be read"))
        }
        let message = "a stored row cannot be read, and requests that read it are refused with 500"
        try await eventually("the log names the row") { !next.log(message).isEmpty }
        let reason = next.log(message).first?["reason"]?.string ?? ""
        #expect(reason.contains("in the table answers, row 1, k0"), "\(reason)")
        #expect(next.log("the storage has failed, and requests that write are refused with 503").isEmpty)
    }

    @Test("herald doctor lists the delegates that a start disables, and a start says how many rows it replaces")
    func disabledDelegates() async throws {
        let herald = try await HeraldProcess.start()
        let ids = [
            try await herald.register("http://127.0.0.1:9/1").id, try await herald.register("http://127.0.0.1:9/2").id,
        ]
        #expect(try await herald.get("/metrics").text.contains("\nherald_damaged_rows 0\n"))
        #expect(try await herald.stop() == .exited(0))
        try await execute("UPDATE delegates SET expires_at = -1", herald)

        let found = try await Findings(["--listen", "127.0.0.1:0", "--data", herald.folder.path + "/data"])
        #expect(found.state(of: "database") == "ok" && found.state(of: "delegates") == "warning")
        let listed = found.checks.filter { $0["check"]?.string == "delegates" }.map { $0["text"]?.string ?? "" }
        #expect(listed.count == 2)
        for (line, id) in zip(listed, ids) {
            #expect(line.hasPrefix("\(id) is disabled at a start: ") && line.hasSuffix(": expires_at"), "\(line)")
        }

        let next = try await herald.restart()
        let lines = next.log("rows that cannot be read are left out or replaced")
        #expect(lines.map { $0["table"]?.string } == ["delegates"] && lines.first?["rows"]?.string == "2")
        #expect(lines.first?["first"]?.string?.hasSuffix(ids[0]) == true)
        #expect(lines.first?["reason"]?.string?.contains("impossible expires_at, -1") == true)
        #expect(next.log("delegate disabled: stored values of it cannot be read").count == 2)
        #expect(try await next.get("/metrics").text.contains("\nherald_damaged_rows 2\n"))
    }

    /// Executes statements in the database of a server that has stopped.
    private func execute(_ sql: String, _ herald: HeraldProcess) async throws {
        let code = """
            import sqlite3, sys
            db = sqlite3.connect(sys.argv[1])
            db.executescript(sys.argv[2])
            db.close()
            """
        let database = herald.folder.path + "/data/herald.db"
        let (end, text) = try await ChildProcess.run("python3", ["-c", code, database, sql])
        #expect(end == .exited(0), "\(text)")
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
