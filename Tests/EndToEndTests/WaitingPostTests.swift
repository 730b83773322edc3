import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Dry runs and publications that wait", .timeLimit(.minutes(20)), .serialized)
struct WaitingPostTests {
    @Test("Prefer: wait delays the response until one attempt was made for every delegate")
    func waits() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { $0.path.hasPrefix("/bad") ? .status(500) : .status(204) }
        let good = try await herald.register(receiver.url("/good")).id
        let bad = try await herald.register(receiver.url("/bad"), #""retry_schedule": [3600]"#).id
        let last = try await herald.register(receiver.url("/bad?last"), #""retry_schedule": []"#).id
        _ = try await herald.register(receiver.url("/other"), #""events": ["other.*"]"#)
        let answer = try await herald.post("/v1/events", #"{"type": "a.b"}"#, ["Prefer": "wait=60"])
        #expect(answer.status == 200)
        #expect(answer.header("preference-applied") == "wait=60")
        let deliveries = (answer["deliveries"].map { Array($0.elements) } ?? []).map {
            "\($0["delegate"]?.string ?? "") \($0["state"]?.string ?? "") \($0["status_code"]?.integer ?? 0)"
        }
        #expect(Set(deliveries) == ["\(good) delivered 204", "\(bad) retrying 500", "\(last) exhausted 500"])
        let several = try await herald.post(
            "/v1/events", #"[{"type": "other.a"}, {"type": "nobody"}]"#, ["Prefer": "respond-async, wait=60"])
        #expect(several.status == 200)
        #expect(several.data.map { $0["deliveries"]?.count } == [4, 3])
    }

    @Test("a stop ends the wait with 202, because the event is committed")
    func stop() async throws {
        let herald = try await HeraldProcess.start()
        let gate = ReceiverGate()
        let (receiver, _) = try await herald.registerReceiver { _ in .held(gate) }
        let waiting = Task { try await herald.post("/v1/events", #"{"type": "a.b"}"#, ["Prefer": "wait=60"]) }
        _ = await receiver.requests(1)
        herald.process.signal(SIGTERM)
        let answer = try await waiting.value
        #expect(answer.status == 202 && answer.header("preference-applied") == nil)
        gate.open()
        #expect(try await herald.process.ended() == .exited(0))
        let next = try await herald.restart()
        #expect(try await next.get("/v1/events").data.map { $0["id"]?.string } == [answer.id])
    }

    @Test(
        "publications of an app that wait hold three eighths of the connections at most: others get the usual response at once"
    )
    func bounded() async throws {
        let gate = ReceiverGate()
        // 8 connections.
        let herald = try await HeraldProcess.start(prefix: ["sh", "-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        _ = try await herald.registerReceiver(#""timeout_seconds": 60"#) { _ in .held(gate) }
        // A connection that has just ended may still have its place: then the next one is closed without a response.
        @Sendable func post(_ headers: [String: String]) async throws -> Answer {
            for _ in 0..<500 {
                if let answer = try? await herald.post("/v1/events", #"{"type": "a.b"}"#, headers) { return answer }
                await Task.yield()
            }
            return try await herald.post("/v1/events", #"{"type": "a.b"}"#, headers)
        }
        // Refused ones hold nothing.
        for _ in 0..<10 { #expect(try await herald.post("/v1/events", "{}", ["Prefer": "wait=60"]).status == 422) }
        let waits = (0..<3).map { _ in Task { try await post(["Prefer": "wait=60"]) } }
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_http_requests_waiting 3\n") }
        for _ in 0..<10 {
            let answer = try await post(["Prefer": "wait=60"])
            #expect(answer.status == 202 && answer.header("preference-applied") == nil)
        }
        gate.open()
        for wait in waits {
            let answer = try await wait.value
            #expect(answer.status == 200 && answer["deliveries"]?.count == 1)
        }
        // All of them have ended.
        let next = try await post(["Prefer": "wait=60"])
        #expect(next.status == 200)
    }

    @Test("with little memory one publication with a large body waits, and others get the usual response at once")
    func large() async throws {
        let gate = ReceiverGate()
        let herald = try await HeraldProcess.start(["--memory", "64MiB"])
        _ = try await herald.registerReceiver { _ in .held(gate) }
        let body = #"{"type": "a.b", "data": "\#(String(repeating: "x", count: 200_000))"}"#
        let first = Task { try await herald.post("/v1/events", body, ["Prefer": "wait=60"]) }
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_http_requests_waiting 1\n") }
        for _ in 0..<5 {
            let answer = try await herald.post("/v1/events", body, ["Prefer": "wait=60"])
            #expect(answer.status == 202 && answer.header("preference-applied") == nil)
        }
        gate.open()
        #expect(try await first.value.status == 200)
        // Its bytes are given back.
        let next = try await herald.post("/v1/events", body, ["Prefer": "wait=60"])
        #expect(next.status == 200)
    }

    @Test("with Idempotency-Key the preference is ignored: the same request gets the first response again")
    func repeated() async throws {
        let herald = try await HeraldProcess.start()
        let gate = ReceiverGate()
        let receiver = try herald.receiver { _ in .held(gate) }
        defer { gate.open() }
        _ = try await herald.register(receiver.url())
        let headers = ["Prefer": "wait=60", "Idempotency-Key": "k"]
        let body = #"{"type": "a.b"}"#
        // The receiver does not respond before all of these have their responses.
        let first = try await herald.post("/v1/events", body, headers)
        let again = try await herald.post("/v1/events", body, headers)
        let plain = try await herald.post("/v1/events", body, ["Idempotency-Key": "k"])
        #expect([first, again, plain].map(\.status) == [202, 202, 202])
        #expect([again, plain].allSatisfy { $0.text == first.text }, "\(again.text)")
        #expect(first["deliveries"] == nil)
        #expect([first, again, plain].allSatisfy { $0.header("preference-applied") == nil })
        #expect([first, again, plain].map { $0.header("idempotent-replayed") } == [nil, "true", "true"])
        #expect(try await herald.post("/v1/events", #"{"type": "a.c"}"#, headers).status == 422)
        #expect(try await herald.get("/v1/events").data.count == 1)
        #expect(await receiver.requests(1).count == 1)
    }

    @Test("without matching delegates, the response comes at once")
    func noRecipients() async throws {
        let herald = try await HeraldProcess.start()
        let answer = try await herald.post("/v1/events", #"{"type": "a.b"}"#, ["Prefer": "wait=60"])
        #expect(answer.status == 200)
        #expect(answer["deliveries"]?.count == 0)
    }

    @Test("after the timeout, the response is the usual one")
    func timeIsUp() async throws {
        let herald = try await HeraldProcess.start()
        let gate = ReceiverGate()
        let receiver = try herald.receiver { _ in .held(gate) }
        defer { gate.open() }
        _ = try await herald.register(receiver.url())
        let answer = try await herald.post("/v1/events", #"{"type": "a.b"}"#, ["Prefer": "wait=1"])
        #expect(answer.status == 202)
        #expect(answer["deliveries"] == nil)
        #expect(answer.header("preference-applied") == nil)
    }

    @Test("refused publications and duplicates get their response at once")
    func refused() async throws {
        let herald = try await HeraldProcess.start()
        let prefer = ["Prefer": "wait=60"]
        #expect(try await herald.post("/v1/events", #"{"type": "a..b"}"#, prefer).status == 422)
        #expect(try await herald.post("/v1/events", "{", prefer).status == 400)
        #expect(try await herald.post("/v1/events", #"{"type": "a", "id": "x"}"#, prefer).status == 200)
        let again = try await herald.post("/v1/events", #"{"type": "a", "id": "x"}"#, prefer)
        #expect(again.status == 200)
        #expect(again["deliveries"] == nil)
    }

    @Test("a dry run publishes nothing, and returns which delegates match and why others do not")
    func dryRun() async throws {
        let herald = try await HeraldProcess.start()
        let told = try await herald.register("http://127.0.0.1:9/told").id
        let paused = try await herald.register("http://127.0.0.1:9/paused").id
        #expect(try await herald.send("POST", "/v1/delegates/\(paused)/pause").status == 200)
        let events = try await herald.register("http://127.0.0.1:9/events", #""events": ["b.*"]"#).id
        let subjects = try await herald.register("http://127.0.0.1:9/subjects", #""subjects": ["s"]"#).id
        let filter = try await herald.register(
            "http://127.0.0.1:9/filter", #""filter": {"data": {"plan": ["pro"]}}"#
        ).id
        let answer = try await herald.post(
            "/v1/events?dry_run=true", #"{"type": "a.b", "data": {"plan": "free"}}"#)
        #expect(answer.status == 200)
        #expect(answer.integer("matching") == 2)
        #expect(answer.integer("not_matching") == 3)
        let delegates = try #require(answer["delegates"]).elements.map {
            "\($0["delegate"]?.string ?? "") \($0["clause"]?.string ?? "-")"
        }
        #expect(
            Set(delegates) == [
                "\(told) -", "\(paused) -", "\(events) /events", "\(subjects) /subjects", "\(filter) /filter/data/plan",
            ])
        #expect(try await herald.get("/v1/events").data.isEmpty)
        #expect(try await herald.post("/v1/events?dry_run=true", #"[{"type": "a.b"}]"#).status == 422)
        #expect(try await herald.post("/v1/events?dry_run=yes", #"{"type": "a.b"}"#).errors == ["dry_run"])
    }

    @Test("the publisher's trace is sent with the callback, unless it is malformed")
    func trace() async throws {
        let herald = try await HeraldProcess.start()
        let (receiver, _) = try await herald.registerReceiver()
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        let event = try await herald.post("/v1/events", #"{"type": "a.b"}"#, ["traceparent": trace]).id
        #expect(await receiver.requests(1).first?.header("traceparent") == trace)
        #expect(try await herald.get("/v1/events/\(event)")["attributes"]?["traceparent"]?.string == trace)
        #expect(try await herald.post("/v1/events", #"{"type": "a.b"}"#, ["traceparent": "00-xyz"]).status == 202)
        #expect(await receiver.requests(2).last?.header("traceparent") == nil)
        // A CloudEvent may say anything in its attribute: it keeps it, and no header comes of it.
        let structured = ["Content-Type": "application/cloudevents+json"]
        for (id, value) in [("c1", "00-xyz"), ("c2", trace.uppercased()), ("c3", trace + "-more"), ("c4", trace)] {
            let attributes = #""id": "\#(id)", "source": "/a", "type": "a.b", "traceparent": "\#(value)""#
            let event = #"{"specversion": "1.0", \#(attributes)}"#
            #expect(try await herald.post("/v1/events", event, structured).status == 202)
        }
        let told = await receiver.requests(6).suffix(4)
        let headers = told.map { "\($0.header("webhook-id") ?? "") \($0.header("traceparent") ?? "-")" }
        #expect(Set(headers) == ["c1 -", "c2 -", "c3 -", "c4 \(trace)"])
    }
}
