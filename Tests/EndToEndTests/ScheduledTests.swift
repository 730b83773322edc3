import HeraldJSON
import HeraldReceiver
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("Scheduled events", .timeLimit(.minutes(20)))
struct ScheduledTests {
    private func time(in milliseconds: Int64) -> String {
        Timestamp(milliseconds: Clock.system.wall() + milliseconds).description
    }

    @Test("are listed, read, changed and cancelled, and then there is nothing left of them")
    func life() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let (soon, later) = (time(in: 3_600_000), time(in: 7_200_000))
        let posted = try await herald.post(
            "/v1/events",
            """
            [{"type": "trial.ending", "id": "b/1", "subject": "user:42", "deliver_at": "\(later)", "data": {"n": 1.0}},
            {"type": "trial.ending", "id": "a", "deliver_at": "\(soon)"}, {"type": "trial.begun", "id": "c"}]
            """)
        #expect(posted.status == 202)
        #expect(posted.data.map { $0.text("state") } == ["scheduled", "scheduled", ""])
        #expect(posted.data.map { $0.text("deliver_at") } == [later, soon, ""])
        #expect(posted.data[0].text("time") == later)

        let list = try await herald.get("/v1/events?state=scheduled&limit=1")
        #expect(list.data.map { $0.text("id") } == ["a"])
        let cursor = try #require(list.string("next_cursor"))
        let rest = try await herald.get("/v1/events?state=scheduled&limit=1&cursor=\(cursor)")
        #expect(rest.data.map { $0.text("id") } == ["b/1"] && rest["next_cursor"]?.isNull == true)
        #expect(rest.data[0]["data"]?.compactText == "{\"n\": 1.0}")
        #expect(try await herald.get("/v1/events?state=scheduled&subject=user:42").data.count == 1)
        #expect(try await herald.get("/v1/events").data.map { $0.text("id") } == ["c"])
        let shown = try await herald.get("/v1/events/b%2F1")
        #expect(shown.string("state") == "scheduled" && shown["deliveries"]?.count == 0)

        let moved = try await herald.send("PATCH", "/v1/events/b%2F1", #"{"deliver_at": "\#(time(in: 60_000))"}"#)
        #expect(moved.status == 200 && moved.string("time") == moved.string("deliver_at"))
        #expect(try await herald.get("/v1/events?state=scheduled").data.map { $0.text("id") } == ["b/1", "a"])
        #expect(try await herald.send("DELETE", "/v1/events/a").status == 204)
        #expect(try await herald.send("DELETE", "/v1/events/a").problem == "not-found")
        #expect(try await herald.send("DELETE", "/v1/events/c").problem == "already-published")
        let late = try await herald.send("PATCH", "/v1/events/c", #"{"deliver_at": "\#(soon)"}"#)
        #expect(late.status == 409 && late.problem == "already-published")
        let audit = try await herald.get("/v1/audit").data.map { $0.text("action") + " " + $0.text("target") }
        #expect(audit == ["DELETE /v1/events/{id} a", "PATCH /v1/events/{id} b/1"])
        let metrics = try await herald.get("/metrics").text
        #expect(
            metrics.contains("\nherald_pending_events 1\n") && metrics.contains("\nherald_pending_late_seconds 0\n"))
    }

    @Test("a key that may only publish moves an event, and does not get its data")
    func moveWithoutReading() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin")
        let publisher = try await herald.makeKey("publish", by: admin)
        let soon = time(in: 3_600_000)
        let event = #"{"type": "a", "id": "mine", "deliver_at": "\#(soon)", "data": {"of": "another key"}}"#
        #expect(try await herald.post("/v1/events", event, admin.headers).status == 202)
        let move = #"{"deliver_at": "\#(time(in: 7_200_000))"}"#
        let moved = try await herald.send("PATCH", "/v1/events/mine", move, publisher.headers)
        #expect(moved.status == 200 && moved.id == "mine" && moved.string("state") == "scheduled", "\(moved.text)")
        #expect(moved["data"]?.isNull == true, "\(moved.text)")
        let read = try await herald.send("PATCH", "/v1/events/mine", move, admin.headers)
        #expect(read["data"]?["of"]?.string == "another key", "\(read.text)")
    }

    @Test("invalid times and combinations are refused with all fields")
    func invalid() async throws {
        let herald = try await HeraldProcess.start()
        let far = time(in: 367 * 86_400_000)
        let refused = try await herald.post(
            "/v1/events",
            #"[{"type": "a", "deliver_at": "\#(far)"}, {"type": "a", "deliver_at": 5}, {"type": "a", "deliver_at": null}]"#
        )
        #expect(refused.status == 422)
        #expect(refused.errors == ["/0/deliver_at", "/1/deliver_at"])
        for body in ["{}", #"{"deliver_at": null}"#, #"{"deliver_at": "\#(far)"}"#, #"{"time": "x"}"#] {
            #expect(try await herald.send("PATCH", "/v1/events/a", body).status == 422, "\(body)")
        }
        for query in ["state=x", "state=scheduled&type=a", "state=scheduled&cursor=x", "state=scheduled&after=now"] {
            #expect(try await herald.get("/v1/events?\(query)").status == 422, "\(query)")
        }
        #expect(try await herald.get("/v1/events").data.isEmpty)
    }

    @Test("a time in the past publishes at once, and a repeated request is a duplicate")
    func past() async throws {
        let herald = try await HeraldProcess.start()
        let event = #"{"type": "a", "id": "old", "deliver_at": "2026-01-31T12:00:00.000Z"}"#
        let posted = try await herald.post("/v1/events", event)
        #expect(posted.status == 202 && posted["state"] == nil)
        #expect(posted.string("time") == "2026-01-31T12:00:00.000Z")
        let again = try await herald.post("/v1/events", event)
        #expect(again.status == 200 && again["duplicate"]?.bool == true && again["differs"] == nil)
    }

    @Test("are published once after a kill, and delivered")
    func kill() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let herald = try await HeraldProcess.start()
        _ = try await herald.register(receiver.url())
        let events = (0..<50).map { #"{"type": "a", "id": "e\#($0)", "deliver_at": "\#(time(in: 600))"}"# }
        #expect(try await herald.post("/v1/events", "[" + events.joined(separator: ",") + "]").status == 202)
        try await herald.kill()
        let next = try await HeraldProcess.start(folder: herald.folder)
        let log = try await next.get("/v1/events?limit=100") { $0.data.count == 50 }
        #expect(Set(log.data.map { $0.text("id") }).count == 50)
        for id in ["e0", "e49"] { _ = try await next.deliveries(of: id, "delivered") }
        #expect(try await next.get("/v1/events?state=scheduled").data.isEmpty)
    }

    @Test("are erased with their subject, and removed with their app")
    func removal() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let app = try await herald.post("/v1/apps", #"{"name": "shop"}"#).id
        let soon = time(in: 3_600_000)
        for header in [[:], ["Herald-App": "shop"]] {
            let events = (0..<130).map { #"{"type": "a", "id": "e\#($0)", "subject": "s", "deliver_at": "\#(soon)"}"# }
            let body = "[" + events.joined(separator: ",") + "]"
            #expect(try await herald.post("/v1/events", body, header).status == 202)
        }
        // Of each: its id, a type, a subject, and `null`.
        #expect(try await herald.get("/v1/apps/shop").integer("stored_bytes") == 410 + 130 * 6)
        let receipt = try await herald.send("DELETE", "/v1/subjects/s")
        #expect(receipt.integer("scheduled_events") == 130 && receipt.integer("events") == 0)
        #expect(try await herald.get("/v1/events?state=scheduled").data.isEmpty)
        #expect(try await herald.get("/metrics").text.contains("\nherald_pending_events 130\n"))
        #expect(try await herald.send("DELETE", "/v1/apps/\(app)").status == 204)
        #expect(try await herald.get("/metrics").text.contains("\nherald_pending_events 0\n"))
    }

    @Test("the command line schedules, lists, changes and cancels")
    func commands() async throws {
        let client = Client(try await HeraldProcess.start())
        let posted = try await client.run("publish", "a.b", "--id", "mine", "--at", "2h")
        #expect(posted.text.hasPrefix("mine is published at "), "\(posted.text)")
        #expect(try await client.run("events", "scheduled", "--json").json.map { $0.text("id") } == ["mine"])
        let time = time(in: 60_000)
        #expect(
            try await client.run("events", "reschedule", "mine", "--at", time).text == "mine is published at \(time)")
        #expect(try await client.run("events", "show", "mine").text.contains("scheduled"))
        #expect(try await client.run("events", "cancel", "mine").text == "mine is cancelled.")
        #expect(try await client.run("events", "scheduled").text == "No events.")
        #expect(try await client.run("events", "cancel", "mine").end != .exited(0))
    }
}
