import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Delegates after their registration", .timeLimit(.minutes(20)), .serialized)
struct DelegateTests {
    @Test("PATCH merges: present fields change, null resets, missing fields stay")
    func patch() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register(
            "http://127.0.0.1:9/", #""description": "first""#, #""metadata": {"a": "1", "b": "2"}"#,
            #""headers": {"X-One": "1"}"#, #""timeout_seconds": 3"#)
        let path = "/v1/delegates/\(created.id)"
        let changed = try await herald.send(
            "PATCH", path,
            #"{"metadata": {"a": null, "c": "3"}, "headers": {"X-Two": "2"}, "timeout_seconds": null, "events": ["auth.*"]}"#,
            ["Content-Type": "application/merge-patch+json"])
        #expect(changed.status == 200)
        #expect(changed["metadata"]?.bytes == Array(#"{"b":"2","c":"3"}"#.utf8))
        #expect(changed["header_names"]?.bytes == Array(#"["X-One","X-Two"]"#.utf8))
        #expect(changed.integer("timeout_seconds") == 15)
        #expect(changed.string("description") == "first")
        #expect(changed["events"]?.bytes == Array(#"["auth.*"]"#.utf8))
        #expect(try await herald.get(path).body == changed.body)
    }

    @Test("a PATCH with one invalid field changes nothing, and a secret can't be patched")
    func badPatch() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register("http://127.0.0.1:9/", #""description": "kept""#)
        let path = "/v1/delegates/\(created.id)"
        let answer = try await herald.send("PATCH", path, #"{"description": "lost", "max_in_flight": 257, "url": 1}"#)
        #expect(answer.status == 422)
        #expect(Set(answer.errors) == ["/max_in_flight", "/url"])
        #expect(try await herald.get(path).string("description") == "kept")
        #expect(try await herald.send("PATCH", path, #"{"secret": null}"#).errors == ["/secret"])
        #expect(try await herald.send("PATCH", "/v1/delegates/dlg_0", "{}").status == 404)
    }

    @Test("a PATCH to another delegate's URL is a conflict")
    func patchToTakenURL() async throws {
        let herald = try await HeraldProcess.start()
        let one = try await herald.register("http://127.0.0.1:9/1")
        let two = try await herald.register("http://127.0.0.1:9/2")
        let answer = try await herald.send("PATCH", "/v1/delegates/\(two.id)", #"{"url": "http://127.0.0.1:9/1"}"#)
        #expect(answer.status == 409)
        #expect(answer.string("detail")?.contains(one.id) == true)
        #expect(try await herald.get("/v1/delegates/\(two.id)").string("url") == "http://127.0.0.1:9/2")
    }

    @Test("a paused delegate receives nothing, and every event after it is resumed")
    func pauseAndResume() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        let created = try await herald.register(receiver.url())
        let path = "/v1/delegates/\(created.id)"
        let paused = try await herald.send("POST", path + "/pause")
        #expect(paused.status == 200)
        #expect(paused.string("status") == "paused")
        #expect(paused.string("status_reason")?.isEmpty == false)
        var posted: Set<String> = []
        for _ in 0..<20 { posted.insert(try await herald.publish()) }
        // A delegate beside it proves that the events have gone out.
        let witness = try herald.receiver()
        _ = try await herald.register(witness.url())
        let last = try await herald.publish()
        posted.insert(last)
        _ = await witness.requests(1)
        #expect(receiver.requests.isEmpty)
        #expect(try await herald.get("/v1/delegates?status=paused").data.count == 1)

        #expect(try await herald.send("POST", path + "/resume").string("status") == "active")
        let requests = await receiver.requests(21)
        #expect(Set(requests.compactMap { $0.header("webhook-id") }) == posted)
        #expect(requests.count == 21)
        _ = try await herald.deliveries(of: last, "delivered", "delivered")
    }

    @Test("pausing is idempotent, and changing settings does not resume")
    func pausingTwice() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register("http://127.0.0.1:9/")
        let path = "/v1/delegates/\(created.id)"
        let first = try await herald.send("POST", path + "/pause")
        let second = try await herald.send("POST", path + "/pause")
        #expect(second.status == 200)
        #expect(second.header("etag") == first.header("etag"))
        #expect(try await herald.send("PATCH", path, #"{"description": "x"}"#).string("status") == "paused")
        #expect(try await herald.send("POST", path + "/pause", #"{"reason": "x"}"#).errors == ["/reason"])
        #expect(try await herald.send("POST", "/v1/delegates/dlg_0/pause").status == 404)
    }

    @Test("a deleted delegate receives nothing more; its URL is free again")
    func delete() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        let created = try await herald.register(receiver.url())
        let path = "/v1/delegates/\(created.id)"
        let event = try await herald.publish()
        _ = try await herald.deliveries(of: event, "delivered")
        #expect(try await herald.send("DELETE", path).status == 204)
        #expect(try await herald.get(path).status == 404)
        #expect(try await herald.send("DELETE", path).status == 404)
        #expect(try await herald.get(path + "/attempts").status == 404)

        try await herald.publish("missed.by_all")
        let again = try await herald.register(receiver.url())
        #expect(again.id != created.id)
        let last = try await herald.publish()
        _ = try await herald.deliveries(of: last, "delivered")
        #expect(receiver.requests.compactMap { $0.header("webhook-id") } == [event, last])
        // What the deleted one was told is still known.
        let deliveries = try await herald.deliveries(of: event, "delivered")
        #expect(deliveries.first?["delegate"]?.string == created.id)
        #expect(deliveries.first?["url"]?.isNull == true)
        let listed = try await herald.get("/v1/deliveries?state=delivered&event=\(event)").data
        #expect(listed.map { $0["delegate"]?.string } == [created.id])
    }

    @Test("deleting all requires all=true, and returns the number")
    func deleteAll() async throws {
        let herald = try await HeraldProcess.start()
        for number in 0..<3 { _ = try await herald.register("http://127.0.0.1:9/\(number)") }
        #expect(try await herald.send("DELETE", "/v1/delegates").status == 400)
        #expect(try await herald.send("DELETE", "/v1/delegates?all=yes").status == 422)
        let deleted = try await herald.send("DELETE", "/v1/delegates?all=true")
        #expect(deleted.status == 200)
        #expect(deleted.integer("deleted") == 3)
        #expect(try await herald.get("/v1/delegates?kind=webhook").data.isEmpty)
        #expect(try await herald.send("DELETE", "/v1/delegates?all=true").integer("deleted") == 0)
    }

    @Test("the list can be filtered by event type and by status")
    func filters() async throws {
        let herald = try await HeraldProcess.start()
        let all = try await herald.register("http://127.0.0.1:9/all").id
        let auth = try await herald.register("http://127.0.0.1:9/auth", #""events": ["auth.*"]"#).id
        let login = try await herald.register("http://127.0.0.1:9/login", #""events": ["auth.logged_in", "x.y"]"#).id
        _ = try await herald.send("POST", "/v1/delegates/\(auth)/pause")
        func ids(_ query: String) async throws -> [String] {
            try await herald.get("/v1/delegates?kind=webhook&" + query).data.compactMap { $0["id"]?.string }
        }
        #expect(try await ids("event=auth.logged_in") == [login, auth, all])
        #expect(try await ids("event=auth.logged_out") == [auth, all])
        #expect(try await ids("event=auth") == [all])
        #expect(try await ids("status=paused") == [auth])
        #expect(try await ids("status=active&event=auth.logged_in") == [login, all])
        #expect(try await herald.get("/v1/delegates?kind=carrier_pigeon").errors == ["kind"])
        #expect(try await herald.get("/v1/delegates?status=sleeping").errors == ["status"])
        #expect(try await herald.get("/v1/delegates?event=N%20T").errors == ["event"])
    }

    @Test("only matching types and subjects are delivered")
    func routing() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        _ = try await herald.register(receiver.url("/auth"), #""events": ["auth.*"]"#)
        _ = try await herald.register(receiver.url("/exact"), #""events": ["order.paid"]"#)
        _ = try await herald.register(receiver.url("/subject"), #""subjects": ["order:1"]"#)
        try await herald.publish("order.paid", #""subject": "order:1""#)
        try await herald.publish("order.paid_late", #""subject": "order:2""#)
        try await herald.publish("authority.named")
        try await herald.publish("auth.logged_out", #""subject": "user:1""#)
        // Three for the first three, and two for the logout: itself and the change of status.
        let last = try await herald.publish("order.paid", #""subject": "order:1""#)
        _ = try await herald.deliveries(of: last, "delivered", "delivered")
        let requests = await receiver.requests(6)
        func types(_ path: String) -> [String] {
            requests.filter { $0.path == path }
                .compactMap { try? JSONDocument(parsing: $0.body)["type"]?.string }.sorted()
        }
        #expect(types("/auth") == ["auth.logged_out", "auth.status_changed"])
        #expect(types("/exact") == ["order.paid", "order.paid"])
        #expect(types("/subject") == ["order.paid", "order.paid"])
    }
}
