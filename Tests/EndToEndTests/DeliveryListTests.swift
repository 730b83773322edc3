import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Deliveries that did not simply succeed", .timeLimit(.minutes(20)), .serialized)
struct DeliveryListTests {
    @Test("they are listed by state, delegate and event, counted by a dry run, sent again, and cancelled")
    func lifeCycle() async throws {
        let herald = try await HeraldProcess.start()
        let isWell = Flag()
        let receiver = try herald.receiver { isWell.isSet || $0.path == "/good" ? .status(200) : .status(500) }
        _ = try await herald.register(receiver.url("/good"), #""description": "Order desk""#)
        let retrying = try await herald.register(receiver.url("/retrying"), #""retry_schedule": [3600]"#).id
        let exhausted = try await herald.register(receiver.url("/exhausted"), #""retry_schedule": []"#).id
        let first = try await herald.publish("a.b", #""subject": "s""#)
        let second = try await herald.publish()
        for event in [first, second] {
            _ = try await herald.deliveries(of: event, "delivered", "retrying", "exhausted")
        }

        let all = try await herald.get("/v1/deliveries").data
        #expect(all.map { $0["event"]?.string } == [second, second, first, first])
        #expect(all.map { $0["state"]?.string } == ["exhausted", "retrying", "exhausted", "retrying"])
        #expect(all.map { $0["subject"]?.string } == [nil, nil, "s", "s"])
        #expect(all.allSatisfy { $0["attempts"]?.integer == 1 && $0["replay"]?.bool == false })
        #expect(all[1]["next_attempt_at"]?.timestamp != nil && all[1]["ended_at"]?.isNull == true)
        #expect(all[0]["next_attempt_at"]?.isNull == true && all[0]["ended_at"]?.timestamp != nil)
        let page = try await herald.get("/v1/deliveries?limit=3")
        let cursor = try #require(page.string("next_cursor"))
        #expect(try await herald.get("/v1/deliveries?limit=3&cursor=\(cursor)").data.map(\.bytes) == [all[3].bytes])
        let ofRetrying = try #require(
            try await herald.get("/v1/deliveries?state=retrying&limit=1").string("next_cursor"))
        for other in ["state=pending", "state=delivered", "state=exhausted", "event=\(first)"] {
            let wrong = try await herald.get("/v1/deliveries?\(other)&cursor=\(ofRetrying)")
            #expect(wrong.errors == ["cursor"], "\(other): \(wrong.text)")
        }
        let wrong = "state=exhausted&cursor=\(ofRetrying)"
        #expect(try await herald.get("/v1/deliveries/counts?\(wrong)").errors == ["cursor"])
        #expect(try await herald.send("POST", "/v1/deliveries/redeliver?\(wrong)").errors == ["cursor"])
        #expect(try await herald.get("/v1/deliveries?state=exhausted").data.count == 2)
        #expect(try await herald.get("/v1/deliveries?delegate=\(retrying)&event=\(first)").data.count == 1)
        let delivered = try await herald.get("/v1/deliveries?state=delivered").data
        #expect(delivered.map { $0["event"]?.string } == [second, first])
        #expect(delivered.map { $0["description"]?.string } == ["Order desk", "Order desk"])
        let story = try await herald.get("/v1/events/\(first)/deliveries?state=delivered").data
        #expect(story.map { $0["description"]?.string } == ["Order desk"])
        #expect(delivered.allSatisfy { $0["state"]?.string == "delivered" && $0["status_code"]?.integer == 200 })
        #expect(try await herald.get("/v1/deliveries?state=lost").errors == ["state"])
        #expect(try await herald.get("/v1/deliveries?delegate=dlg_0").status == 404)

        let counted = try await herald.send("POST", "/v1/deliveries/redeliver?state=exhausted&dry_run=true")
        #expect(counted.integer("deliveries") == 2)
        #expect(counted["dry_run"]?.bool == true)
        #expect(receiver.requests.count == 6)
        isWell.set()
        for _ in 0..<2 {
            let sent = try await herald.send(
                "POST", "/v1/deliveries/redeliver?delegate=\(exhausted)", nil, ["Idempotency-Key": "once"])
            #expect(sent.integer("deliveries") == 2, "\(sent.text)")
        }
        _ = try await herald.deliveries(of: first, "delivered", "retrying", "delivered")
        #expect(try await herald.send("POST", "/v1/deliveries/cancel?event=\(first)").integer("deliveries") == 1)
        _ = try await herald.deliveries(of: first, "delivered", "dropped", "delivered")
        _ = try await herald.deliveries(of: second, "delivered", "retrying", "delivered")
        #expect(receiver.requests.count { $0.header("herald-replay") == "true" } == 2)
        for path in ["/v1/deliveries/redeliver", "/v1/deliveries/cancel"] {
            #expect(
                try await herald.send("POST", path).errors == [
                    "state", "delegate", "event", "type", "subject", "error", "since", "until", "failed_since",
                ])
            #expect(try await herald.send("POST", path + "?state=pending").errors == ["state"])
            let body = try await herald.post(path, #"{"state": "exhausted"}"#)
            #expect(body.status == 422 && body.errors == ["/state"], "\(body.text)")
            #expect(body.text.contains("parameters of the query"), "\(body.text)")
        }
    }

    @Test("a list of successes continues behind an event that is larger than the part of the log that it reads")
    func large() async throws {
        let herald = try await HeraldProcess.start(["--max-body", "8388608"])
        let (_, id) = try await herald.registerReceiver()
        let data = #""data": "\#(String(repeating: "x", count: 5_000_000))""#
        let events = [try await herald.publish("a.b", data), try await herald.publish("a.b", data)]
        _ = try await herald.get("/v1/delegates/\(id)/attempts") { $0.data.count == 2 }
        var found: [String] = []
        var cursor = ""
        for _ in 0..<4 {
            let page = try await herald.get("/v1/deliveries?state=delivered\(cursor)")
            found += page.data.compactMap { $0["event"]?.string }
            guard let next = page.string("next_cursor") else { break }
            cursor = "&cursor=\(next)"
        }
        #expect(found == Array(events.reversed()))
    }

    @Test(
        "they are searched by type, subject, error and the time of the failure, counted and changed by the same, in parts"
    )
    func search() async throws {
        let herald = try await HeraldProcess.start()
        let isWell = Flag()
        let receiver = try herald.receiver { request in
            isWell.isSet || request.path == "/good" ? .status(200) : .status(request.path == "/500" ? 500 : 404)
        }
        let good = try await herald.register(receiver.url("/good")).id
        _ = try await herald.register(receiver.url("/500"), #""retry_schedule": []"#)
        _ = try await herald.register(receiver.url("/404"), #""retry_schedule": []"#)
        var events: [String] = []
        for (type, subject) in [("a.b", "s:1"), ("a.c", "s:1"), ("b.c", "s:2")] {
            events.append(try await herald.publish(type, #""subject": "\#(subject)""#))
        }
        for event in events { _ = try await herald.deliveries(of: event, "delivered", "exhausted", "exhausted") }
        func listed(_ query: String, limit: Int = 50) async throws -> [String] {
            var found: [String] = []
            var cursor = ""
            repeat {
                let page = try await herald.get("/v1/deliveries?\(query)&limit=\(limit)\(cursor)")
                #expect(page.status == 200, "\(page.text)")
                found += page.data.compactMap { $0["event"]?.string }
                cursor = page.string("next_cursor").map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            return found
        }
        let (first, second, third) = (events[0], events[1], events[2])
        for limit in [1, 50] {
            #expect(try await listed("error=404", limit: limit) == [third, second, first])
            #expect(try await listed("error=4xx,timeout&type=a.*", limit: limit) == [second, first])
            #expect(try await listed("type=a.b,b.c&error=500", limit: limit) == [third, first])
            #expect(try await listed("subject=s:1&error=5xx", limit: limit) == [second, first])
            #expect(try await listed("state=delivered&type=a.*", limit: limit) == [second, first])
            #expect(try await listed("state=delivered&delegate=\(good)", limit: limit) == [third, second, first])
            #expect(try await listed("state=delivered&delegate=\(good)&subject=s:2", limit: limit) == [third])
            #expect(try await listed("state=delivered&event=\(second)", limit: limit) == [second])
        }
        #expect(try await listed("state=delivered&error=500") == [])
        #expect(try await listed("failed_since=2999-01-01T00:00:00Z") == [])
        #expect(try await listed("failed_since=1999-01-01T00:00:00Z").count == 6)
        for (query, place) in [
            ("error=6xx", "error"), ("error=stopped", "error"), ("type=a..b", "type"),
            ("failed_since=x", "failed_since"),
        ] {
            #expect(try await herald.get("/v1/deliveries?\(query)").errors == [place])
        }

        let counts = try await herald.get("/v1/deliveries/counts?error=500&type=a.*")
        #expect(counts.integer("deliveries") == 2 && counts.integer("delegates") == 1, "\(counts.text)")
        let path = "/v1/deliveries/redeliver?error=404"
        #expect(try await herald.send("POST", path + "&dry_run=true").integer("deliveries") == 3)
        isWell.set()
        // In parts, which end when the client stops.
        let part = try await herald.send("POST", path + "&limit=2")
        #expect(part.integer("deliveries") == 2 && part["more"]?.bool == true)
        let rest = try await herald.send("POST", path + "&limit=2&cursor=\(try #require(part.string("next_cursor")))")
        #expect(rest.integer("deliveries") == 1 && rest["next_cursor"]?.isNull == true, "\(rest.text)")
        for event in events { _ = try await herald.deliveries(of: event, "delivered", "exhausted", "delivered") }
        #expect(try await herald.send("POST", path + "&limit=0").errors == ["limit"])
    }

    @Test("deliveries that were given up are counted for each delegate, with their last error")
    func counts() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { _ in .status(500) }
        let none = try await herald.get("/v1/deliveries/counts")
        #expect(none.integer("deliveries") == 0 && none.integer("delegates") == 0 && none.data.isEmpty)
        let once = try await herald.register(receiver.url("/once"), #""events": ["a.b"], "retry_schedule": []"#).id
        let twice = try await herald.register(receiver.url("/twice"), #""retry_schedule": []"#).id
        let first = try await herald.publish("a.b")
        _ = try await herald.deliveries(of: first, "exhausted", "exhausted")
        let second = try await herald.publish("b.c")
        _ = try await herald.deliveries(of: second, "exhausted")

        let counts = try await herald.get("/v1/deliveries/counts")
        #expect(counts.integer("deliveries") == 3 && counts.integer("delegates") == 2)
        #expect(counts.data.map { $0["delegate"]?.string } == [twice, once])
        #expect(counts.data.map { $0["deliveries"]?.integer } == [2, 1])
        #expect(counts.data.map { $0["event"]?.string } == [second, first])
        #expect(counts.data.allSatisfy { $0["status_code"]?.integer == 500 && $0["error"]?.isNull == true })
        let short = try await herald.get("/v1/deliveries/counts?state=exhausted&limit=1")
        #expect(short.integer("deliveries") == 3 && short.data.count == 1)
        #expect(try await herald.get("/v1/deliveries/counts?state=retrying").integer("deliveries") == 0)
        #expect(try await herald.get("/v1/deliveries/counts?state=delivered").errors == ["state"])
        let listed = try await herald.get("/v1/deliveries").data
        #expect(listed.allSatisfy { $0["status_code"]?.integer == 500 && $0["last_attempt_at"]?.timestamp != nil })
    }

    @Test("deliveries are listed, sent again and cancelled by the time at which their events were accepted")
    func times() async throws {
        let herald = try await HeraldProcess.start()
        let (_, id) = try await herald.registerReceiver(#""retry_schedule": []"#) { _ in .status(500) }
        let early = try await herald.publish()
        // The list has the newest failure first: the failures have the order of the events.
        _ = try await herald.deliveries(of: early, "exhausted")
        let before = try #require(try await herald.get("/v1/events/\(early)").string("time"))
        // A later millisecond.
        var late = early
        var after = before
        while after == before {
            late = try await herald.publish()
            _ = try await herald.deliveries(of: late, "exhausted")
            after = try #require(try await herald.get("/v1/events/\(late)").string("time"))
        }
        func listed(_ query: String) async throws -> [String?] {
            try await herald.get("/v1/deliveries?\(query)").data.map { $0["event"]?.string }
        }
        #expect(try await listed("since=\(after)") == [late])
        #expect(try await listed("until=\(before)").contains(late) == false)
        #expect(try await listed("until=\(before)").last == early)
        #expect(try await listed("since=\(before)&until=\(after)").first == late)
        #expect(try await listed("since=2999-01-01T00:00:00Z") == [])
        #expect(try await listed("until=1999-01-01T00:00:00Z") == [])
        #expect(try await herald.get("/v1/deliveries?since=\(after)&until=\(before)").errors == ["until"])
        #expect(try await herald.get("/v1/deliveries?since=yesterday").errors == ["since"])
        let counted = try await herald.send("POST", "/v1/deliveries/redeliver?since=\(after)&dry_run=true")
        #expect(counted.integer("deliveries") == 1)
        #expect(try await herald.send("POST", "/v1/deliveries/redeliver?since=\(after)").integer("deliveries") == 1)
        _ = try await herald.deliveries(of: late, "exhausted")
        #expect(try await herald.send("POST", "/v1/deliveries/cancel?until=\(before)").integer("deliveries") == 0)

        #expect(try await herald.send("POST", "/v1/delegates/\(id)/pause").status == 200)
        let waiting = try await herald.publish()
        let path = "state=pending&delegate=\(id)"
        #expect(try await listed(path + "&since=\(after)") == [waiting])
        #expect(try await listed(path + "&until=\(before)") == [])
        #expect(try await listed(path + "&since=2999-01-01T00:00:00Z") == [])
        #expect(try await listed("state=pending&event=\(waiting)&since=\(after)") == [waiting])
        #expect(try await listed("state=pending&event=\(waiting)&until=\(before)") == [])
    }

    @Test("pending deliveries are listed by delegate and by event")
    func pending() async throws {
        let herald = try await HeraldProcess.start()
        let id = try await herald.register("http://127.0.0.1:9/", #""events": ["a.*"]"#).id
        #expect(try await herald.send("POST", "/v1/delegates/\(id)/pause").status == 200)
        var wanted: [String] = []
        for number in 0..<5 {
            wanted.append(try await herald.publish("a.b", #""data": \#(number)"#))
            try await herald.publish("b.c")
        }
        let path = "/v1/deliveries?state=pending&delegate=\(id)"
        let listed = try await herald.get(path) { $0.data.count == 5 }
        #expect(listed.data.map { $0["event"]?.string } == wanted)
        #expect(listed.data.allSatisfy { $0["reason"]?.string?.contains("paused") == true })
        let page = try await herald.get(path + "&limit=2")
        let cursor = try #require(page.string("next_cursor"))
        #expect(page.data.map { $0["event"]?.string } == Array(wanted[..<2]))
        #expect(
            try await herald.get(path + "&limit=2&cursor=\(cursor)").data.map { $0["event"]?.string }
                == Array(wanted[2..<4]))
        let ofEvent = try await herald.get("/v1/deliveries?state=pending&event=\(wanted[3])")
        #expect(ofEvent.data.map { $0["delegate"]?.string } == [id])
    }

    @Test("pending deliveries to all delegates are listed in pages, by delegate and in the order of the log")
    func pendingOfAll() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        _ = try await herald.register(receiver.url("/well"))
        let first = try await herald.register(receiver.url("/first"), #""events": ["a.*"]"#).id
        let second = try await herald.register(receiver.url("/second")).id
        for id in [first, second] {
            #expect(try await herald.send("POST", "/v1/delegates/\(id)/pause").status == 200)
        }
        var matching: [String] = []
        var others: [String] = []
        for _ in 0..<3 {
            matching.append(try await herald.publish("a.b"))
            others.append(try await herald.publish("b.c"))
        }
        @Sendable func names(_ rows: [JSONValue]) -> [String] {
            rows.map { "\($0["delegate"]?.string ?? "") \($0["event"]?.string ?? "")" }
        }
        let path = "/v1/deliveries?state=pending"
        let toSecond = zip(matching, others).flatMap { ["\(second) \($0)", "\(second) \($1)"] }
        let wanted = matching.map { "\(first) \($0)" } + toSecond
        _ = try await herald.get(path) { names($0.data) == wanted }
        for limit in [1, 2, 4] {
            var found: [String] = []
            var cursor = ""
            repeat {
                let page = try await herald.get(path + "&limit=\(limit)\(cursor)")
                #expect(page.status == 200 && page.data.count <= limit, "\(page.text)")
                found += names(page.data)
                cursor = page.string("next_cursor").map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            #expect(found == wanted)
        }
        #expect(names(try await herald.get(path + "&type=b.*").data) == others.map { "\(second) \($0)" })
        let printed = try await Client(herald).run("deliveries", "list", "--state", "pending", "--json")
        #expect(names(printed.json) == wanted, "\(printed.text)")
    }

    @Test("a page of pending deliveries to all delegates reads a bounded part of the log")
    func pendingAreBounded() async throws {
        let herald = try await HeraldProcess.start()
        var ids: [String] = []
        for number in 1...2 {
            let id = try await herald.register("http://127.0.0.1:9/\(number)").id
            #expect(try await herald.send("POST", "/v1/delegates/\(id)/pause").status == 200)
            ids.append(id)
        }
        let many = "[" + Array(repeating: #"{"type": "b.c"}"#, count: 1_000).joined(separator: ",") + "]"
        for _ in 0..<3 { #expect(try await herald.post("/v1/events", many).status == 202) }
        let last = try await herald.publish("a.b")
        var found: [JSONValue] = []
        var (pages, cursor) = (0, "")
        repeat {
            let page = try await herald.get("/v1/deliveries?state=pending&type=a.b\(cursor)")
            found += page.data
            pages += 1
            cursor = page.string("next_cursor").map { "&cursor=\($0)" } ?? ""
        } while !cursor.isEmpty
        #expect(found.map { $0["delegate"]?.string } == ids && found.allSatisfy { $0["event"]?.string == last })
        #expect(pages >= 3, "6,002 events are read, about 2,000 of them for each page")
    }

    @Test("the deliveries of an event are listed in pages, failed ones first")
    func pagesOfEvent() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { $0.path == "/bad" ? .status(500) : .status(200) }
        let good = try await herald.register(receiver.url("/good")).id
        let bad = try await herald.register(receiver.url("/bad"), #""retry_schedule": []"#).id
        let other = try await herald.register(receiver.url("/other")).id
        // A slash in an id stays one segment.
        let event = try await herald.post("/v1/events", #"{"type": "a.b", "id": "x/deliveries"}"#).status
        #expect(event == 202)
        let path = "/v1/events/x%2Fdeliveries/deliveries"
        _ = try await herald.get(path) {
            $0["counts"]?["delivered"]?.integer == 2 && $0["counts"]?["exhausted"]?.integer == 1
        }
        var found: [String?] = []
        var cursor = ""
        for _ in 0..<3 {
            let page = try await herald.get(path + "?limit=1" + cursor)
            found += page.data.map { $0["delegate"]?.string }
            #expect(page["counts"]?["delivered"]?.integer == 2)
            cursor = page.string("next_cursor").map { "&cursor=\($0)" } ?? ""
            #expect(page.header("link") == (cursor.isEmpty ? nil : "<\(path)?limit=1\(cursor)>; rel=\"next\""))
        }
        #expect(found == [bad, good, other] && cursor.isEmpty)
        let delivered = try await herald.get(path + "?state=delivered")
        #expect(
            delivered.data.map { $0["delegate"]?.string } == [good, other] && delivered.data[0]["history"]?.count == 1)
        let ofAll = try #require(try await herald.get(path + "?limit=1").string("next_cursor"))
        for wrong in ["?cursor=x", "?state=delivered&cursor=\(ofAll)"] {
            #expect(try await herald.get(path + wrong).errors == ["cursor"], "\(wrong)")
        }
        #expect(try await herald.get("/v1/events/none/deliveries").status == 404)
        let alone = try await herald.get("/v1/events/x%2Fdeliveries?deliveries=none")
        #expect(alone.string("id") == "x/deliveries" && alone["deliveries"]?.count == 0)
    }

    @Test("an event is sent again to all delegates or to one, and its story contains every attempt")
    func redeliverEvent() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        let first = try await herald.register(receiver.url("/first")).id
        _ = try await herald.register(receiver.url("/second"))
        let event = try await herald.publish()
        _ = try await herald.deliveries(of: event, "delivered", "delivered")
        let path = "/v1/events/\(event)/redeliver"
        #expect(try await herald.send("POST", path).integer("deliveries") == 2)
        _ = await receiver.requests(4)
        let one = try await herald.post(path, #"{"delegate": "\#(first)"}"#)
        #expect(one.status == 202)
        #expect(one.integer("deliveries") == 1)
        let requests = await receiver.requests(5)
        #expect(requests.count { $0.path == "/first" } == 3)
        let story = try await herald.get("/v1/events/\(event)") { story in
            story["deliveries"]?.elements.map { $0["history"]?.count } == [3, 2]
        }
        let history = try #require(story["deliveries"]?.elements.first { _ in true }?["history"]).elements
        #expect(history.map { $0["replay"]?.bool } == [false, true, true])
        #expect(history.allSatisfy { $0["peer"]?.string == "127.0.0.1:\(receiver.port)" })
        #expect(history.allSatisfy { $0["phases_ms"]?["first_byte"]?.double ?? 0 > 0 })
        #expect(try await herald.post(path, #"{"delegate": "dlg_0"}"#).status == 404)
        #expect(try await herald.send("POST", "/v1/events/evt_0/redeliver").status == 404)
    }
}
