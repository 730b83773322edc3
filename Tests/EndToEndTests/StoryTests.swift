import HeraldJSON
import HeraldTestSupport
import Synchronization
import Testing

@Suite("Why did this arrive, and where did it not?", .timeLimit(.minutes(20)), .serialized)
struct StoryTests {
    @Test("it contains every delegate's state: pending, retrying, delivered, exhausted")
    func states() async throws {
        let herald = try await HeraldProcess.start()
        let gate = ReceiverGate()
        let receiver = try herald.receiver { request in
            switch request.path {
            case "/pending": .held(gate)
            case "/retrying", "/exhausted": .status(500, body: "no luck")
            default: .status(204)
            }
        }
        defer { gate.open() }
        let pending = try await herald.register(receiver.url("/pending"), #""timeout_seconds": 60"#)
        let retrying = try await herald.register(receiver.url("/retrying"), #""retry_schedule": [3600]"#)
        let delivered = try await herald.register(receiver.url("/delivered"))
        let exhausted = try await herald.register(receiver.url("/exhausted"), #""retry_schedule": [0.05]"#)
        _ = try await herald.register(receiver.url("/unconcerned"), #""events": ["other.*"]"#)

        let event = try await herald.publish()
        let story = try await herald.deliveries(of: event, "pending", "retrying", "delivered", "exhausted")
        #expect(story.map { $0["delegate"]?.string } == [pending.id, retrying.id, delivered.id, exhausted.id])
        #expect(story.map { $0["url"]?.string } == [pending, retrying, delivered, exhausted].map { $0.string("url") })
        #expect(story.map { $0["attempts"]?.integer } == [0, 1, 1, 2])
        #expect(story.map { $0["status_code"]?.integer } == [nil, 500, 204, 500])
        #expect(story[0]["first_attempt_at"]?.isNull == true)
        let next = try #require(story[1]["next_attempt_at"]?.timestamp)
        let first = try #require(story[1]["first_attempt_at"]?.timestamp)
        // An hour, 20 % more or less.
        #expect((2880_000...4330_000).contains(next.milliseconds - first.milliseconds))
        #expect(story[3]["next_attempt_at"]?.isNull == true)
        _ = try await herald.get("/v1/delegates/\(retrying.id)") { $0["lag"]?["retrying"]?.integer == 1 }

        gate.open()
        _ = try await herald.deliveries(of: event, "delivered", "retrying", "delivered", "exhausted")
        #expect(try await herald.send("DELETE", "/v1/delegates/\(retrying.id)").status == 204)
        _ = try await herald.deliveries(of: event, "delivered", "dropped", "delivered", "exhausted")
    }

    @Test("a retry that a changed delegate no longer wants is dropped, and the story and the list say why")
    func unwanted() async throws {
        let herald = try await HeraldProcess.start()
        let gate = ReceiverGate()
        let receiver = try herald.receiver { _ in .held(gate, .status(500)) }
        let id = try await herald.register(receiver.url(), #""retry_schedule": [1, 1]"#).id
        let event = try await herald.publish("a.b")
        _ = await receiver.requests(1)
        #expect(try await herald.send("PATCH", "/v1/delegates/\(id)", #"{"events": ["other.*"]}"#).status == 200)
        gate.open()
        let story = try await herald.deliveries(of: event, "dropped")
        #expect(story.first?["reason"]?.string?.contains("was changed") == true)
        #expect(story.first?["attempts"]?.integer == 1 && receiver.requests.count == 1)
        let listed = try await herald.get("/v1/deliveries?state=dropped")
        #expect(listed.data.map { $0["reason"]?.bytes } == story.map { $0["reason"]?.bytes })
        // Asked for by its event and its delegate it is made all the same.
        let again = try await herald.post("/v1/events/\(event)/redeliver", #"{"delegate": "\#(id)"}"#)
        #expect(again.status == 202)
        #expect(await receiver.requests(2).last?.header("herald-replay") == "true")
    }

    @Test("a delegate that did not get an event says why")
    func explained() async throws {
        let herald = try await HeraldProcess.start()
        let url = "http://127.0.0.1:9/"
        func add(_ path: String, _ settings: String...) async throws -> String {
            try await herald.register(url + path, (settings + [#""retry_schedule": [3600]"#]).joined(separator: ", "))
                .id
        }
        let before = [
            (try await add("all"), true, nil, nil),
            (
                try await add("types", #""events": ["user.*"]"#), false, "/events",
                "none of its patterns matches the type"
            ),
            (
                try await add("subjects", #""subjects": ["order:2"]"#), false, "/subjects",
                "the event is about none of its subjects"
            ),
            (
                try await add("filter", #""filter": {"data": {"amount": [{"numeric": [">", 100]}]}}"#), false,
                "/filter/data/amount", "expected "
            ),
        ]
        let event = try await herald.publish("order.paid", #""subject": "order:1", "data": {"amount": 5}"#)
        let later = try await add("later")
        let earliest = try await add("earliest", #""start": "earliest""#)
        let expected: [(String, Bool, String?, String?)] =
            before + [
                (later, false, "/start", "the event was published before it was registered"),
                (earliest, true, nil, nil),
            ]
        for (id, matches, clause, reason) in expected {
            let answer = try await herald.get("/v1/delegates/\(id)/explain?event=\(event)")
            #expect(answer.string("delegate") == id && answer["matches"]?.bool == matches)
            #expect(answer.string("clause") == clause)
            #expect(reason == nil || answer.string("reason")?.hasPrefix(reason ?? "") == true)
            let told = try await Binary.run(["delegates", "explain", id, event, "--server", herald.url])
            #expect(
                told.end == .exited(0) && told.text.contains(matches ? "matches" : "does not match: \(clause ?? "")"))
        }
        #expect(try await herald.get("/v1/delegates/\(later)/explain").status == 422)
        #expect(try await herald.get("/v1/delegates/\(later)/explain?event=evt_none").status == 404)
        #expect(try await herald.get("/v1/delegates/dlg_none/explain?event=\(event)").status == 404)
    }

    @Test("an erased event is not pending, although a paused delegate has not reached it")
    func erased() async throws {
        let herald = try await HeraldProcess.start()
        let id = try await herald.register("http://127.0.0.1:9/").id
        #expect(try await herald.send("POST", "/v1/delegates/\(id)/pause").status == 200)
        let event = try await herald.publish("a.b", #""subject": "user:1""#)
        let other = try await herald.publish("a.b")
        _ = try await herald.deliveries(of: event, "pending")
        #expect(try await herald.send("DELETE", "/v1/subjects/user:1").status == 200)
        _ = try await herald.deliveries(of: event)
        #expect(try await herald.get("/v1/deliveries?state=pending&event=\(event)").data.isEmpty)
        let listed = try await herald.get("/v1/deliveries?state=pending&delegate=\(id)") { !$0.data.isEmpty }
        #expect(listed.data.map { $0["event"]?.string } == [other])
    }

    @Test("at no moment is a delivery missing from the story, or its state inconsistent with its attempts")
    func consistency() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { $0.path == "/good" ? .status(200) : .status(500) }
        _ = try await herald.register(receiver.url("/good"))
        for _ in 0..<15 {
            // A new one each time, that is not stopped for its failures.
            let bad = try await herald.register(receiver.url("/bad"), #""retry_schedule": [0.01]"#).id
            let event = try await herald.publish()
            let answers = try await RawHTTP.onThread { [port = herald.port] in
                let client = try RawHTTPClient(port: port)
                var answers: [Answer] = []
                let deadline = monotonicSeconds() + patience
                while monotonicSeconds() < deadline {
                    client.send("GET /v1/events/\(event) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    guard let answer = try client.readResponse().map(Answer.init) else { break }
                    answers.append(answer)
                    let states = answer["deliveries"]?.elements.map { $0["state"]?.string }
                    if states == ["delivered", "exhausted"] { break }
                }
                return answers
            }
            let stories = answers.map { answer in
                (answer["deliveries"].map { Array($0.elements) } ?? []).map {
                    "\($0["state"]?.string ?? "") \($0["attempts"]?.integer ?? -1)"
                }
            }
            let allowed: [Set] = [["pending 0", "delivered 1"], ["pending 0", "retrying 1", "exhausted 2"]]
            for story in stories where story.count != 2 || !zip(allowed, story).allSatisfy({ $0.contains($1) }) {
                Issue.record("\(story)")
            }
            #expect(stories.last == ["delivered 1", "exhausted 2"])
            #expect(try await herald.send("DELETE", "/v1/delegates/\(bad)").status == 204)
        }
    }

    @Test("attempts are listed newest first, with number, outcome, status, excerpt and event, and can be filtered")
    func attempts() async throws {
        let herald = try await HeraldProcess.start()
        let count = Mutex(0)
        let receiver = try herald.receiver { _ in
            let number = count.withLock {
                $0 += 1
                return $0
            }
            return number < 3 ? .status(503, body: "try \(number)") : .status(200, body: "thanks")
        }
        let id = try await herald.register(receiver.url(), #""retry_schedule": [0.05, 0.05]"#).id
        let event = try await herald.publish()
        _ = try await herald.deliveries(of: event, "delivered")
        let other = try await herald.publish()
        _ = try await herald.deliveries(of: other, "delivered")
        let path = "/v1/delegates/\(id)/attempts"
        let all = try await herald.get(path)
        #expect(all.data.map { $0["attempt"]?.integer } == [1, 3, 2, 1])
        #expect(all.data.map { $0["event"]?.string } == [other, event, event, event])
        #expect(all.data.map { $0["outcome"]?.string } == ["succeeded", "succeeded", "failed", "failed"])
        #expect(all.data.map { $0["status_code"]?.integer } == [200, 200, 503, 503])
        #expect(all.data.map { $0["response_excerpt"]?.string } == ["thanks", "thanks", "try 2", "try 1"])
        #expect(all.data.map { $0["response_bytes"]?.integer } == [6, 6, 5, 5])
        #expect(all.data.allSatisfy { ($0["request_bytes"]?.integer ?? 0) > 0 })
        #expect(all.data.allSatisfy { $0["peer"]?.string == "127.0.0.1:\(receiver.port)" })
        #expect(all.data.last?["reused_connection"]?.bool == false)
        #expect(all.data.allSatisfy { ($0["duration_ms"]?.double ?? -1) >= 0 && $0["started_at"]?.timestamp != nil })
        #expect(Set(all.data.compactMap { $0["id"]?.string }).count == 4)
        #expect(try await herald.get(path + "?outcome=failed").data.count == 2)
        #expect(try await herald.get(path + "?outcome=succeeded&event=\(event)").data.count == 1)
        #expect(try await herald.get(path + "?outcome=maybe").errors == ["outcome"])
        #expect(try await herald.get(path + "?event=evt_0").status == 404)
        let page = try await herald.get(path + "?limit=3")
        let cursor = try #require(page.string("next_cursor"))
        #expect(try await herald.get(path + "?limit=3&cursor=\(cursor)").data.map { $0["attempt"]?.integer } == [1])
    }

    @Test("the reason of a missing response is given")
    func failures() async throws {
        let herald = try await HeraldProcess.start()
        let gate = ReceiverGate()
        defer { gate.open() }
        let receiver = try herald.receiver { request in
            switch request.path {
            case "/reset": .reset
            case "/nonsense": .thenClose(.raw("What?\r\n\r\n"))
            case "/redirect": .status(302, headers: [("location", "http://127.0.0.1:9/")])
            case "/gone": .status(410)
            case "/silent": .held(gate)
            default: .status(200)
            }
        }
        for (url, error, status) in [
            (receiver.url("/reset"), "protocol_error", nil), (receiver.url("/nonsense"), "protocol_error", nil),
            (receiver.url("/redirect"), nil, 302), (receiver.url("/gone"), nil, 410),
            ("http://127.0.0.1:9/closed", "connection_failed", nil), ("http://name.invalid/", "name_not_resolved", nil),
            (receiver.url("/silent"), "timeout", nil),
        ] as [(String, String?, Int64?)] {
            let seconds = error == "timeout" ? 1 : 60
            let id = try await herald.register(url, #""retry_schedule": [], "timeout_seconds": \#(seconds)"#).id
            let event = try await herald.publish()
            let end = status == 410 ? "dropped" : "exhausted"
            let delivery = try #require(try await herald.deliveries(of: event, end).first)
            #expect(delivery["error"]?.string == error, "\(url)")
            #expect(delivery["status_code"]?.integer == status, "\(url)")
            let attempt = try await herald.get("/v1/delegates/\(id)/attempts").data.first
            #expect(attempt?["detail"]?.string?.isEmpty == false, "\(url)")
            #expect(try await herald.send("DELETE", "/v1/delegates/\(id)").status == 204)
        }
    }

    @Test("a host name is checked by its address on each connection, and the attempt names the rule")
    func refusedAddress() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let herald = try await HeraldProcess.start(["--deny-networks", "127.0.0.0/8:\(receiver.port)"])
        // Refused by the list, and because it is the service itself.
        for (port, rule) in [(receiver.port, "denied network 127.0.0.0/8"), (herald.port, "own address")] {
            let id = try await herald.register("http://localhost:\(port)/v1/events", #""retry_schedule": []"#).id
            let event = try await herald.publish()
            let delivery = try #require(try await herald.deliveries(of: event, "exhausted").first)
            #expect(delivery["error"]?.string == "address_refused")
            let attempt = try await herald.get("/v1/delegates/\(id)/attempts").data.first
            #expect(attempt?["detail"]?.string?.contains(rule) == true)
            #expect(try await herald.send("DELETE", "/v1/delegates/\(id)").status == 204)
        }
        #expect(receiver.connectionCount == 0)
        // The event about a delivery is published after it has ended, and may follow the next post.
        let types = try await herald.get("/v1/events") { $0.data.count == 4 }.data.compactMap { $0["type"]?.string }
        let exhausted = "herald.delivery.exhausted"
        #expect(types.sorted() == [exhausted, exhausted, "test.happened", "test.happened"])
    }
}
