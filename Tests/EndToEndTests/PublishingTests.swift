import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Posting events", .timeLimit(.minutes(20)), .serialized)
struct PublishingTests {
    @Test("one event is returned without its data, and can be read with it, byte for byte")
    func one() async throws {
        let herald = try await HeraldProcess.start()
        let data = #"{"a": 1.0,  "big": 12345678901234567890.123, "u": "\u00e9é", "n": null, "e": [1e3, -0]}"#
        let posted = try await herald.post(
            "/v1/events",
            #"{"type": "order.paid", "subject": "order:7", "time": "2026-01-02T03:04:05.678Z", "data": \#(data)}"#)
        #expect(posted.status == 202)
        #expect(posted.id.hasPrefix("evt_"))
        #expect(posted.string("type") == "order.paid")
        #expect(posted.string("subject") == "order:7")
        #expect(posted.string("time") == "2026-01-02T03:04:05.678Z")
        #expect(posted["data"] == nil)
        let read = try await herald.get("/v1/events/\(posted.id)")
        #expect(read["data"]?.bytes == Array(data.utf8))
        #expect(read["deliveries"]?.count == 0)
    }

    @Test("an event needs only a type")
    func least() async throws {
        let herald = try await HeraldProcess.start()
        let posted = try await herald.post("/v1/events", #"{"type": "a"}"#)
        #expect(posted.status == 202)
        #expect(posted["subject"]?.isNull == true)
        #expect(posted["time"]?.timestamp != nil)
        #expect(try await herald.get("/v1/events/\(posted.id)")["data"]?.isNull == true)
        #expect(try await herald.get("/v1/events/evt_0").status == 404)
    }

    @Test("the response to an array has its order")
    func array() async throws {
        let herald = try await HeraldProcess.start()
        let events = (0..<1000).map { #"{"type": "a.b", "id": "e\#($0)"}"# }.joined(separator: ",")
        let posted = try await herald.post("/v1/events", "[\(events)]")
        #expect(posted.status == 202)
        #expect(posted.data.map { $0["id"]?.string } == (0..<1000).map { "e\($0)" })
        let listed = try await herald.get("/v1/events?limit=2").data.map { $0["id"]?.string }
        #expect(listed == ["e999", "e998"])
    }

    @Test("an array with one invalid event publishes none, and every error is listed")
    func allOrNothing() async throws {
        let herald = try await HeraldProcess.start()
        let posted = try await herald.post(
            "/v1/events",
            #"[{"type": "a"}, {"type": "b:c"}, {"subject": ""}, {"type": "c", "id": "no space", "time": "now"}, 5]"#)
        #expect(posted.status == 422)
        #expect(Set(posted.errors) == ["/1/type", "/2/type", "/2/subject", "/3/id", "/3/time", "/4"])
        #expect(try await herald.get("/v1/events").data.isEmpty)
        #expect(try await herald.post("/v1/events", "[]").status == 422)
        let many = Array(repeating: #"{"type":"a"}"#, count: 1001).joined(separator: ",")
        #expect(try await herald.post("/v1/events", "[\(many)]").status == 422)
        #expect(try await herald.get("/v1/events").data.isEmpty)
    }

    @Test("limits are where they are documented")
    func limits() async throws {
        let herald = try await HeraldProcess.start()
        func text(_ count: Int) -> String { String(repeating: "a", count: count) }
        func status(_ members: String) async throws -> Int {
            try await herald.post("/v1/events", "{\(members)}").status
        }
        #expect(try await status(#""type": "\#(text(128))""#) == 202)
        #expect(try await status(#""type": "\#(text(129))""#) == 422)
        #expect(try await status(#""type": "a", "subject": "\#(text(256))""#) == 202)
        #expect(try await status(#""type": "a", "subject": "\#(text(257))""#) == 422)
        #expect(try await status(#""type": "a", "subject": "\#(String(repeating: "é", count: 256))""#) == 202)
        #expect(try await status(#""type": "a", "id": "\#(text(128))""#) == 202)
        #expect(try await status(#""type": "a", "id": "\#(text(129))""#) == 422)
        #expect(try await status(#""type": "a", "id": """#) == 422)
        for type in ["", ".a", "a.", "a..b", "a b", "a:b", "ä", "herald.test"] {
            #expect(try await status(#""type": "\#(type)""#) == 422, "\(type)")
        }
        let depth = String(repeating: "[", count: 62) + String(repeating: "]", count: 62)
        #expect(try await status(#""type": "a", "data": \#(depth)"#) == 202)
        #expect(try await status(#""type": "a", "data": [[[\#(depth)]]]"#) == 400)
    }

    @Test("a thousand events with many values each are accepted together")
    func manyValues() async throws {
        let herald = try await HeraldProcess.start()
        let event = #"{"type":"a","data":["# + Array(repeating: "1", count: 60).joined(separator: ",") + "]}"
        let body = "[" + Array(repeating: event, count: 1_000).joined(separator: ",") + "]"
        let answer = try await herald.post("/v1/events", body)
        #expect(answer.status == 202, "\(answer.text.prefix(300))")
        #expect(answer.data.count == 1_000)
    }

    @Test("a refusal is not remembered for an idempotency key: the request may be repeated after its cause has ended")
    func refusalsAreNotRemembered() async throws {
        let herald = try await HeraldProcess.start()
        let first = try await herald.register("http://127.0.0.1:9/", #""description": "first""#).id
        let body = #"{"url": "http://127.0.0.1:9/"}"#
        #expect(try await herald.post("/v1/delegates", body, ["Idempotency-Key": "k"]).status == 409)
        #expect(try await herald.send("DELETE", "/v1/delegates/\(first)").status == 204)
        let again = try await herald.post("/v1/delegates", body, ["Idempotency-Key": "k"])
        #expect(again.status == 201)
        #expect(again.header("idempotent-replayed") == nil)
        #expect(
            try await herald.post("/v1/delegates", body, ["Idempotency-Key": "k"]).header("idempotent-replayed")
                == "true")
    }

    @Test("a client's own id makes posting repeatable: the first response again, and no second delivery")
    func duplicateIDs() async throws {
        let herald = try await HeraldProcess.start()
        let (receiver, _) = try await herald.registerReceiver()
        let first = try await herald.post("/v1/events", #"{"type": "a", "id": "mine", "data": 1}"#)
        let second = try await herald.post("/v1/events", #"{"type": "b", "id": "mine", "data": 2}"#)
        #expect(first.status == 202)
        #expect(second.status == 200)
        for member in ["id", "type", "subject", "time"] { #expect(second[member]?.bytes == first[member]?.bytes) }
        let mixed = try await herald.post(
            "/v1/events", #"[{"type": "a", "id": "mine"}, {"type": "a", "id": "new"}, {"type": "a", "id": "new"}]"#)
        #expect(mixed.status == 202)
        #expect(mixed.data.map { $0["id"]?.string } == ["mine", "new", "new"])
        let all = try await herald.post("/v1/events", #"[{"type": "a", "id": "new"}]"#)
        #expect(all.status == 200)
        let last = try await herald.publish()
        _ = try await herald.deliveries(of: last, "delivered")
        let arrived = await receiver.requests(3).compactMap { $0.header("webhook-id") }
        #expect(arrived.sorted() == [last, "mine", "new"].sorted())
        #expect(try await herald.get("/v1/events").data.count == 3)
    }

    @Test("an idempotency key replays the first response, and publishes nothing again")
    func idempotency() async throws {
        let herald = try await HeraldProcess.start()
        let key = ["Idempotency-Key": "0f8fad5b-d9cb-469f-a165-70867728950e"]
        let first = try await herald.post("/v1/events", #"{"type": "a"}"#, key)
        #expect(first.status == 202)
        #expect(first.header("idempotent-replayed") == nil)
        let again = try await herald.post("/v1/events", #"{"type": "a"}"#, key)
        #expect(again.status == 202)
        #expect(again.body == first.body)
        #expect(again.header("idempotent-replayed") == "true")
        #expect(again.header("request-id") != first.header("request-id"))
        let other = try await herald.post("/v1/events", #"{"type": "b"}"#, key)
        #expect(other.status == 422)
        #expect(other.problem == "idempotency-key-reused")
        #expect(try await herald.get("/v1/events").data.count == 1)

        let restarted = try await {
            try await herald.stop()
            return try await herald.restart()
        }()
        let late = try await restarted.post("/v1/events", #"{"type": "a"}"#, key)
        #expect(late.body == first.body)
        #expect(late.header("idempotent-replayed") == "true")
    }

    @Test("a refused request does not use up its idempotency key")
    func refusedWithKey() async throws {
        let herald = try await HeraldProcess.start()
        let key = ["Idempotency-Key": "k"]
        #expect(try await herald.post("/v1/events", #"{"type": "a..b"}"#, key).status == 422)
        #expect(try await herald.post("/v1/events", #"{"type": "a"}"#, key).status == 202)
        #expect(try await herald.post("/v1/events", #"{"type": "a"}"#, ["Idempotency-Key": "with space"]).status == 422)
    }

    @Test("concurrent requests with the same key publish once")
    func concurrentKey() async throws {
        let herald = try await HeraldProcess.start()
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<16 {
                group.addTask { try await herald.post("/v1/events", #"{"type": "a"}"#, ["Idempotency-Key": "race"]).id }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        #expect(try await herald.get("/v1/events").data.count == 1)
    }

    @Test("types with upper case and hyphens are accepted everywhere, and in patterns")
    func otherTypes() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        let type = "Microsoft.Storage.Blob-Created"
        let registered = try await herald.register(receiver.url("/all"), #""events": ["Microsoft.*", "Order-Paid"]"#)
        #expect(registered.status == 201)
        #expect(try await herald.send("PUT", "/v1/event-types/\(type)", #"{"description": "x"}"#).status == 201)
        let posted = try await herald.post("/v1/events", #"{"type": "\#(type)"}"#)
        #expect(posted.status == 202)
        #expect(try await herald.post("/v1/events", #"{"type": "microsoft.other"}"#).status == 202)
        #expect(try await herald.post("/v1/events", #"{"type": "Order-Paid"}"#).status == 202)
        let requests = await receiver.requests(2)
        let types = try requests.map { try JSONDocument(parsing: $0.body)["type"]?.string }
        #expect(Set(types) == [type, "Order-Paid"])
        #expect(try await herald.get("/v1/events?type=Microsoft.*").data.map { $0["id"]?.string } == [posted.id])
        #expect(try await herald.get("/v1/delegates?kind=webhook&event=\(type)").data.count == 1)
    }

    @Test("an id with dots, slashes, colons and percent signs works in every path")
    func otherIDs() async throws {
        let herald = try await HeraldProcess.start()
        let (receiver, _) = try await herald.registerReceiver()
        let id = "partition:1/offset.7%41"
        let posted = try await herald.post("/v1/events", #"{"type": "a", "id": "\#(id)"}"#)
        #expect(posted.status == 202 && posted.id == id)
        let request = try #require(await receiver.requests(1).first)
        #expect(request.header("webhook-id") == "partition:1/offset%2E7%2541")
        let path = "/v1/events/partition%3A1%2Foffset.7%2541"
        #expect(try await herald.get(path).id == id)
        // An attempt that is not on disk yet can't be made again.
        _ = try await herald.deliveries(of: "partition%3A1%2Foffset.7%2541", "delivered")
        #expect(try await herald.send("POST", path + "/redeliver").integer("deliveries") == 1)
        #expect(await receiver.requests(2).count == 2)
        #expect(try await herald.get("/v1/deliveries?event=partition%3A1%2Foffset.7%2541").status == 200)
        #expect(try await herald.post("/v1/events", #"{"type": "a", "id": "\#(id)"}"#).status == 200)
    }

    @Test("each event of a response says whether it is a duplicate, and where it differs")
    func duplicates() async throws {
        let herald = try await HeraldProcess.start()
        func item(_ value: JSONValue) -> String {
            let pointers = value["differs"].map { $0.elements.compactMap(\.string) } ?? []
            return "\(value["id"]?.string ?? "") \(value["duplicate"]?.bool == true) \(pointers.joined(separator: " "))"
        }
        let first = try await herald.post(
            "/v1/events", #"{"type": "a.b", "id": "x", "subject": "s", "data": {"n": 1}}"#)
        #expect(first.status == 202 && first["duplicate"]?.bool == false)
        let same = try await herald.post(
            "/v1/events", #"{"type": "a.b", "id": "x", "subject": "s", "data": {"n": 1}}"#)
        #expect(same.status == 200 && same["duplicate"]?.bool == true && same["differs"] == nil)
        let other = try await herald.post(
            "/v1/events", #"{"type": "a.c", "id": "x", "time": "2026-01-02T03:04:05Z", "data": {"n": 2}}"#)
        #expect(other.status == 200 && other.string("type") == "a.b")
        #expect(item(other.json) == "x true /type /subject /time /data")
        // Equal for Unicode, with other bytes.
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        let written = try await herald.post("/v1/events", #"{"type": "a.b", "id": "e", "subject": "\#(composed)"}"#)
        #expect(written.status == 202)
        let rewritten = try await herald.post(
            "/v1/events", #"{"type": "a.b", "id": "e", "subject": "\#(decomposed)"}"#)
        #expect(item(rewritten.json) == "e true /subject")
        let batch = try await herald.post(
            "/v1/events", #"[{"type": "a.b", "id": "y"}, {"type": "a.b", "id": "x", "subject": "s"}]"#)
        #expect(batch.status == 202)
        #expect(batch.data.map(item) == ["y false ", "x true /data"])
        let state = #"{"type": "app_state.changed", "id": "z", "data": {"state": {"a": 1} } }"#
        #expect(try await herald.post("/v1/events", state).status == 202)
        #expect(item(try await herald.post("/v1/events", state).json) == "z true ")
        let next = #"{"type": "app_state.changed", "id": "z", "data": {"state": {"a": 2} } }"#
        #expect(item(try await herald.post("/v1/events", next).json) == "z true /data")
    }

    @Test("subjects that end with a star match by prefix, and other stars are refused")
    func subjectPatterns() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        let created = try await herald.register(receiver.url("/orders"), #""subjects": ["order:*", "user:1"]"#)
        #expect(created.status == 201)
        for subject in ["order:1", "user:12", "orders", "user:1", "order:x"] {
            #expect(try await herald.post("/v1/events", #"{"type": "a", "subject": "\#(subject)"}"#).status == 202)
        }
        let told = try await receiver.requests(3).map { try JSONDocument(parsing: $0.body)["subject"]?.string }
        #expect(Set(told) == ["order:1", "user:1", "order:x"])
        let dry = try await herald.post("/v1/events?dry_run=true", #"{"type": "a", "subject": "order:9"}"#)
        #expect(dry.integer("matching") == 1)
        let none = try await herald.post("/v1/events?dry_run=true", #"{"type": "a", "subject": "orders"}"#)
        #expect(none.integer("matching") == 0)
        for subject in ["*:1", "a*b", "**"] {
            let refused = try await herald.post(
                "/v1/delegates", #"{"url": "http://127.0.0.1:9/", "subjects": ["\#(subject)"]}"#)
            #expect(refused.errors == ["/subjects/0"], "\(subject)")
        }
    }
}
