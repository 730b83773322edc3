import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("What can be done with a webhook", .timeLimit(.minutes(20)), .serialized)
struct DelegateActionTests {
    @Test("a registration returns all settings as given, or null or the default")
    func settings() async throws {
        let herald = try await HeraldProcess.start()
        let plain = try await herald.register("http://127.0.0.1:9/plain")
        for (field, value) in [
            ("format", "\"standard\""), ("ordering", "\"none\""), ("rate_limit", "null"), ("filter", "null"),
            ("lease_seconds", "null"), ("disable_after_seconds", "432000"), ("verification", "\"none\""),
            ("http_version", "\"1.1\""),
            ("signature", "\"v1\""), ("public_key", "null"), ("expires_at", "null"), ("failing_since", "null"),
        ] { #expect(plain[field]?.bytes == Array(value.utf8), "\(field)") }
        let filter = #"{"data":{"plan":["pro",{"prefix":"team-"}]}}"#
        let all = try await herald.register(
            "http://127.0.0.1:9/all", #""format": "cloudevents", "ordering": "subject", "rate_limit": 2.5"#,
            #""filter": \#(filter), "lease_seconds": 3600, "disable_after_seconds": 60, "http_version": "2", "signature": "v1a""#,
            #""start": "earliest", "replay_current_state": true"#)
        #expect(all["filter"]?.bytes == Array(filter.utf8))
        #expect(all["rate_limit"]?.double == 2.5)
        #expect(all.string("secret")?.hasPrefix("whsk_") == true)
        #expect(all.string("public_key")?.hasPrefix("whpk_") == true)
        let created = try #require(all["created_at"]?.timestamp)
        #expect(all["expires_at"]?.timestamp?.milliseconds == created.milliseconds + 3_600_000)
        #expect(
            try await herald.post("/v1/delegates", #"{"url": "http://a.test/", "rate_limit": 0}"#).errors == [
                "/rate_limit"
            ])
    }

    @Test("a lease is renewed; a delegate without one gets 409")
    func renewal() async throws {
        let herald = try await HeraldProcess.start()
        let leased = try await herald.register("http://127.0.0.1:9/a", #""lease_seconds": 600"#)
        let first = try #require(leased["expires_at"]?.timestamp)
        let renewed = try await herald.post("/v1/delegates/\(leased.id)/renew", "{}")
        #expect(renewed.status == 200)
        #expect(try #require(renewed["expires_at"]?.timestamp) >= first)
        let patched = try await herald.send("PATCH", "/v1/delegates/\(leased.id)", #"{"lease_seconds": 6000}"#)
        #expect(try #require(patched["expires_at"]?.timestamp).milliseconds >= first.milliseconds + 5_400_000)
        let plain = try await herald.register("http://127.0.0.1:9/b")
        let refused = try await herald.post("/v1/delegates/\(plain.id)/renew", "{}")
        #expect(refused.status == 409)
        #expect(refused.problem == "no-lease")
        #expect(try await herald.post("/v1/delegates/dlg_0/renew", "{}").status == 404)
    }

    @Test("a secret is rotated: both sign during the overlap, without overlap only the new one")
    func rotation() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        let created = try await herald.register(receiver.url())
        let old = try #require(created.string("secret"))
        let path = "/v1/delegates/\(created.id)/secret/rotate"
        let rotated = try await herald.send("POST", path)
        #expect(rotated.status == 200)
        let new = try #require(rotated.string("secret"))
        #expect(new != old && new.hasPrefix("whsec_"))
        #expect(rotated["previous_expires_at"]?.timestamp != nil)
        try await herald.publish()
        let both = try #require(await receiver.requests(1).first)
        let signatures = (both.header("webhook-signature") ?? "").split(separator: " ").map(String.init)
        #expect(
            signatures == [
                try await Signature.byOpenSSL(of: both, secret: new),
                try await Signature.byOpenSSL(of: both, secret: old),
            ])
        let last = try await herald.post(path, #"{"overlap_seconds": 0}"#)
        #expect(last["previous_expires_at"]?.timestamp != nil)
        try await herald.publish()
        let request = try #require(await receiver.requests(2).last)
        let newest = try #require(last.string("secret"))
        #expect(
            request.header("webhook-signature")?.split(separator: " ").first.map(String.init)
                == (try await Signature.byOpenSSL(of: request, secret: newest)))
        #expect(try await herald.post(path, #"{"overlap_seconds": 604801}"#).errors == ["/overlap_seconds"])
        #expect(try await herald.get("/v1/delegates/\(created.id)")["secret"] == nil)
    }

    @Test("the public key of a key pair is returned, and is in the key set")
    func keys() async throws {
        let herald = try await HeraldProcess.start()
        let pair =
            "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
        let delegate = try await herald.register("http://127.0.0.1:9/", #""secret": "\#(pair)""#)
        #expect(delegate.string("signature") == "v1a")
        #expect(delegate.string("secret") == pair)
        #expect(delegate.string("public_key") == "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")
        let set = try await herald.get("/.well-known/jwks.json")
        #expect(set.header("content-type") == "application/jwk-set+json")
        let keys = try #require(set["keys"]).elements.map { $0["x"]?.string }
        #expect(keys == ["1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4"])
    }

    @Test("a test call returns the receiver's response, and is in no list")
    func test() async throws {
        let herald = try await HeraldProcess.start()
        let (receiver, id) = try await herald.registerReceiver { _ in .status(418, body: "short and stout") }
        #expect(try await herald.send("POST", "/v1/delegates/\(id)/pause").status == 200)
        let answer = try await herald.send("POST", "/v1/delegates/\(id)/test")
        #expect(answer.status == 200)
        #expect(answer.string("outcome") == "failed")
        #expect(answer.integer("status_code") == 418)
        #expect(answer.string("response_excerpt") == "short and stout")
        #expect(answer.string("peer") == "127.0.0.1:\(receiver.port)")
        #expect(answer["phases_ms"]?["first_byte"]?.double ?? 0 > 0)
        let request = try #require(await receiver.requests(1).first)
        #expect(try JSONDocument(parsing: request.body)["type"]?.string == "herald.test")
        #expect(try await herald.get("/v1/delegates/\(id)/attempts").data.isEmpty)
        #expect(try await herald.get("/v1/events").data.isEmpty)
        #expect(try await herald.send("POST", "/v1/delegates/dlg_0/test").status == 404)
    }

    @Test(
        "a test call sends a chosen event of the log, or the example of a type, also to a delegate that does not match")
    func testWithEvent() async throws {
        let herald = try await HeraldProcess.start()
        let (receiver, id) = try await herald.registerReceiver(#""events": ["other.*"]"#)
        let event = try await herald.publish("order.paid", #""data": {"amount":12.50}"#)
        let type = try await herald.send("PUT", "/v1/event-types/order.paid", #"{"example": {"amount":7}}"#)
        #expect(type.status == 201, "\(type.text)")
        let path = "/v1/delegates/\(id)/test"
        #expect(try await herald.send("POST", path + "?event=\(event)").string("outcome") == "succeeded")
        let stored = try #require(await receiver.requests(1).first)
        #expect(stored.header("webhook-id") == event)
        #expect(stored.text.contains(#""amount":12.50"#), "\(stored.text)")
        #expect(try await herald.send("POST", path + "?type=order.paid").string("outcome") == "succeeded")
        let example = try #require(await receiver.requests(2).last)
        #expect(example.text.contains(#""amount":7"#) && example.header("webhook-id") != event, "\(example.text)")
        #expect(try await herald.send("POST", path + "?event=evt_0").status == 404)
        #expect(try await herald.send("POST", path + "?event=\(event)&type=order.paid").status == 400)
        #expect(try await herald.get("/v1/delegates/\(id)/attempts").data.isEmpty)
        #expect(try await herald.get("/v1/events").data.count == 1)
    }

    @Test("a test call that fails in the TLS handshake reports how long it and the connection took")
    func failedHandshake() async throws {
        let herald = try await HeraldProcess.start()
        var configuration = Receiver.Configuration()
        configuration.tls = ReceiverTLS(try CertificateAuthority(), names: ["localhost"])
        let receiver = try Receiver(configuration) { _ in .status(200) }
        defer { receiver.close() }
        let id = try await herald.register("https://localhost:\(receiver.port)/").id
        let answer = try await herald.send("POST", "/v1/delegates/\(id)/test")
        #expect(answer.status == 200 && answer.string("error") == "tls_failed", "\(answer.text)")
        for phase in ["lookup", "connect", "tls"] {
            #expect(answer["phases_ms"]?[phase]?.double ?? 0 > 0, "\(phase): \(answer.text)")
        }
        #expect(answer.string("peer") == "127.0.0.1:\(receiver.port)")
    }

    @Test("a delegate starts as requested: at the first event, at an event, at a time, or now")
    func start() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        var ids: [String] = []
        for _ in 0..<3 { ids.append(try await herald.publish()) }
        for (path, start, expected) in [
            ("/earliest", "earliest", ids), ("/event", ids[1], Array(ids[1...])),
            ("/future", "2100-01-01T00:00:00Z", []),
            ("/past", "2000-01-01T00:00:00Z", ids), ("/now", "now", []),
        ] as [(String, String, [String])] {
            _ = try await herald.register(receiver.url(path), #""start": "\#(start)""#)
            let last = try await herald.publish()
            ids.append(last)
            let wanted = expected + ids[3...].filter { expected.contains($0) || $0 == last }
            let told = try await eventually("\(path) was told") {
                let told = receiver.requests.filter { $0.path == path }.compactMap { $0.header("webhook-id") }
                return Set(told).isSuperset(of: wanted) ? told : nil
            }
            if expected.isEmpty { #expect(told == [last], "\(path)") }
        }
        let unknown = try await herald.post("/v1/delegates", #"{"url": "http://a.test/", "start": "evt_none"}"#)
        #expect(unknown.status == 422)
        #expect(unknown.errors == ["/start"])
    }

    @Test("past events are replayed and marked; or only those that failed")
    func replay() async throws {
        let herald = try await HeraldProcess.start()
        let isWell = Flag()
        let receiver = try herald.receiver { request in
            request.header("webhook-id") == "bad" && !isWell.isSet ? .status(500) : .status(200)
        }
        let id = try await herald.register(receiver.url(), #""retry_schedule": []"#).id
        for event in ["one", "bad", "two"] { try await herald.publish("a.b", #""id": "\#(event)""#) }
        _ = try await herald.deliveries(of: "two", "delivered")
        _ = try await herald.deliveries(of: "bad", "exhausted")
        isWell.set()
        let path = "/v1/delegates/\(id)/replay"
        let failed = try await herald.post(path, #"{"from": "earliest", "only": "failed"}"#)
        #expect(failed.status == 202)
        #expect(failed.integer("events") == 1)
        _ = try await herald.deliveries(of: "bad", "delivered")
        let all = try await herald.post(path, #"{"from": "one", "until": "bad"}"#)
        #expect(all.status == 202)
        #expect(all.integer("events") == 2)
        #expect(all.string("id") != nil)
        let requests = await receiver.requests(6)
        let replayed = requests.filter { $0.header("herald-replay") == "true" }.compactMap { $0.header("webhook-id") }
        #expect(replayed.sorted() == ["bad", "bad", "one"])
        #expect(try await herald.post(path, #"{"from": "two", "until": "one"}"#).errors == ["/until"])
        #expect(try await herald.post(path, #"{}"#).errors == ["/from"])
        #expect(try await herald.post(path, #"{"from": "2100-01-01T00:00:00Z"}"#).integer("events") == 0)
        let statistics = try await herald.get("/v1/delegates/\(id)/stats") {
            ($0["last_hour"]?["delivered"]?.integer ?? 0) >= 5
        }
        #expect(statistics["last_hour"]?["failed"]?.integer == 1)
        #expect(statistics["last_day"]?["latency_ms"]?["p99"]?.double ?? 0 > 0)
        #expect(statistics["pending"]?["exhausted"]?.integer == 0)
    }

    @Test("a replay that is repeated with its Idempotency-Key is the first one, whatever has happened since")
    func repeatedReplay() async throws {
        let herald = try await HeraldProcess.start()
        let isGone = Flag()
        let receiver = try herald.receiver { _ in .status(isGone.isSet ? 410 : 200) }
        let registered = try await herald.register(receiver.url())
        let id = registered.id
        let path = "/v1/delegates/\(id)/replay"
        func replay(from: String, _ key: String) async throws -> Answer {
            try await herald.post(path, #"{"from": "\#(from)"}"#, ["Idempotency-Key": key])
        }
        let start = try #require(registered.string("created_at"))
        let nothing = try await replay(from: start, "nothing")
        #expect(nothing.status == 202 && nothing["id"]?.isNull == true, "\(nothing.text)")
        _ = try await herald.deliveries(of: try await herald.publish("a.b"), "delivered")
        #expect(try await replay(from: start, "nothing").body == nothing.body)
        let begun = try await replay(from: "earliest", "begun")
        #expect(begun.status == 202 && begun.string("id") != nil, "\(begun.text)")
        _ = await receiver.requests(2)
        isGone.set()
        try await herald.publish("a.b")
        _ = try await herald.get("/v1/delegates/\(id)") { $0.string("status") == "gone" }
        #expect(try await replay(from: "earliest", "begun").body == begun.body)
        #expect(try await replay(from: "earliest", "other").status == 409)
    }

    @Test("a replay is estimated before it starts, listed while it runs, and can be ended")
    func endReplay() async throws {
        let herald = try await HeraldProcess.start()
        let (first, gate, replayed) = (ReceiverGate(), ReceiverGate(), Counter())
        let receiver = try herald.receiver { request in
            guard request.header("herald-replay") == "true" else { return .status(200) }
            return replayed.next() <= 5 ? .held(first) : .held(gate)
        }
        defer { for gate in [first, gate] { gate.open() } }
        let id = try await herald.register(
            receiver.url(), #""events": ["a.*"], "max_in_flight": 1, "timeout_seconds": 60"#
        ).id
        for _ in 0..<10 {
            try await herald.publish("a.b")
            try await herald.publish("b.c")
        }
        _ = await receiver.requests(10)
        let path = "/v1/delegates/\(id)/replay"
        let dry = try await herald.post(path + "?dry_run=true", #"{"from": "earliest"}"#)
        #expect(dry.status == 200 && dry["dry_run"]?.bool == true && dry["id"]?.isNull == true)
        #expect(dry.integer("events") == 10 && dry["estimated"]?.bool == false)
        #expect(try await herald.get(path + "s").data.isEmpty)
        let begun = try await herald.post(path, #"{"from": "earliest"}"#)
        #expect(begun.status == 202 && begun.integer("events") == 10)
        let replay = try #require(begun.string("id"))
        _ = await receiver.requests(11)
        let listed = try await herald.get(path + "s").data
        #expect(listed.map { $0["id"]?.string } == [replay])
        #expect(listed.first?["events"]?.integer == 10 && listed.first?["progress"]?.double == 0)
        first.open()
        _ = await receiver.requests(16)
        let half = try await herald.get(path + "s") { $0.data.first?["events"]?.integer == 5 }
        #expect((0.4...0.6).contains(half.data.first?["progress"]?.double ?? 0), "\(half.text)")
        #expect(try await herald.send("DELETE", path + "s/\(replay)").status == 204)
        let audit = try #require(try await herald.get("/v1/audit").data.first)
        #expect(audit["action"]?.string == "DELETE /v1/delegates/{id}/replays/{replay}")
        #expect(audit["target"]?.string == id)
        #expect(try await herald.send("DELETE", path + "s/\(replay)").status == 404)
        #expect(try await herald.send("DELETE", path + "s/none").status == 404)
        #expect(try await herald.get(path + "s").data.isEmpty)
        gate.open()
        _ = try await herald.deliveries(of: try await herald.publish("a.b"), "delivered")
        #expect(receiver.requests.count == 17)
    }

    @Test("the lag counts the events that will be sent, in every response that contains it")
    func lag() async throws {
        let herald = try await HeraldProcess.start()
        let id = try await herald.register(
            "http://127.0.0.1:9/", #""events": ["a.*"], "subjects": ["s"], "filter": {"data": {"n": [1]}}"#,
            #""retry_schedule": [3600]"#
        ).id
        let path = "/v1/delegates/\(id)"
        #expect(try await herald.send("POST", path + "/pause").status == 200)
        var wanted: [String] = []
        for _ in 0..<3 {
            wanted.append(try await herald.publish("a.b", #""subject": "s", "data": {"n": 1}"#))
            try await herald.publish("a.b", #""subject": "s", "data": {"n": 2}"#)
            try await herald.publish("a.b", #""subject": "t", "data": {"n": 1}"#)
            try await herald.publish("b.c", #""subject": "s", "data": {"n": 1}"#)
        }
        _ = try await herald.get(path) { isCounted($0["lag"], 3) }
        // On a busy machine a count may take more than its budget, and is an estimate then.
        _ = try await herald.get("/v1/delegates") { list in
            isCounted(list.data.first { $0["id"]?.string == id }?["lag"], 3)
        }
        _ = try await herald.get(path + "/stats") { isCounted($0["pending"], 3) }
        // Metrics have lanes as of the last checkpoint.
        let metrics = try await herald.get("/metrics") {
            $0.text.contains("\nherald_lane_lag_events{status=\"paused\"} 3\n")
        }
        #expect(metrics.text.contains("\nherald_lane_lag_estimated_events{status=\"paused\"} 0\n"))
        // What has a row is sent by that.
        let again = try await herald.post("/v1/events/\(wanted[1])/redeliver", #"{"delegate": "\#(id)"}"#)
        #expect(again.status == 202)
        _ = try await herald.get(path) { isCounted($0["lag"], 2, retrying: 1) }
        // The answer to a change looks at no event.
        let changed = try await herald.send("PATCH", path, #"{"description": "x"}"#)
        #expect(changed["lag"]?["events"]?.integer == 12 && changed["lag"]?["estimated"]?.bool == true)
    }

    @Test("a registration that starts in the past estimates its lag; one that starts now has none")
    func lagOfRegistration() async throws {
        let herald = try await HeraldProcess.start()
        for type in ["a.b", "b.c", "a.b"] { try await herald.publish(type) }
        let body = #"{"url": "http://127.0.0.1:9/", "events": ["a.*"], "start": "earliest"}"#
        let key = ["Idempotency-Key": "k"]
        let past = try await herald.post("/v1/delegates", body, key)
        #expect(past.status == 201)
        #expect(past["lag"]?["events"]?.integer == 3 && past["lag"]?["estimated"]?.bool == true, "\(past.text)")
        #expect(try await herald.post("/v1/delegates", body, key).body == past.body)
        #expect(isCounted(try await herald.register("http://127.0.0.1:9/now")["lag"], 0))
    }
}

/// Whether a lag says so many events, for certain.
private func isCounted(_ lag: JSONValue?, _ events: Int64, retrying: Int64 = 0) -> Bool {
    lag?["events"]?.integer == events && lag?["estimated"]?.bool == false && lag?["retrying"]?.integer == retrying
}
