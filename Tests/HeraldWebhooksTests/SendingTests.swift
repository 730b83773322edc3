import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Testing

@Suite(.timeLimit(.minutes(20))) struct SendingTests {
    @Test("a callback arrives with the event's bytes and all headers")
    func happyPath() async throws {
        let receiver = try Receiver { _ in .status(200, body: "thanks") }
        let loop = try SendingLoop(clock: .stopped(at: 1_614_265_330_999))
        defer { loop.stop(closing: receiver) }
        let sent = event(#"{"a":  [1, "ü"]}"#, id: "evt_01")
        let target = delegate(
            receiver.url("/hook?x=1"), key: 9, headers: [KeyValue("X-Team", "blue"), KeyValue("X-Empty", "")])
        let outcome = await loop.send(target, sent, attempt: 3)
        #expect(outcome.isSuccess)
        #expect(outcome.verdict == .answered(status: 200, retryAfter: nil))
        #expect(outcome.excerpt == Array("thanks".utf8))
        #expect(outcome.duration > 0)
        let request = try #require(receiver.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/hook?x=1")
        #expect(request.body == sent.body)
        #expect(request.header("content-type") == "application/json")
        #expect(request.header("user-agent") == "Herald/1.2.3")
        #expect(request.header("webhook-id") == "evt_01")
        #expect(request.header("webhook-timestamp") == "1614265330")
        #expect(request.header("herald-delegate") == "dlg_9")
        #expect(request.header("herald-attempt") == "3")
        #expect(request.header("x-team") == "blue")
        #expect(request.header("x-empty") == "")
        #expect(request.header("host") == "127.0.0.1:\(receiver.port)")
        #expect(request.header("content-length") == "\(sent.body.count)")
        #expect(request.header("expect") == nil)
        #expect(request.header("accept-encoding")?.contains("gzip") == true)
        #expect(request.header("herald-replay") == nil)
        #expect(request.header("traceparent") == nil)
        #expect(request.header("webhook-request-origin") == nil)
        #expect(try request.header("webhook-signature") == v1(secretBytes, request))
    }

    @Test(
        "a callback has the documented headers, those of HTTP, and no others",
        arguments: [WebhookSettings.HTTPVersion.http1, .http2])
    func exactHeaders(_ version: WebhookSettings.HTTPVersion) async throws {
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: receiver) }
        let documented = ["webhook-id", "webhook-timestamp", "webhook-signature", "herald-delegate", "herald-attempt"]
        let always =
            documented + [
                "accept", "accept-encoding", "content-length", "content-type", "host", "user-agent", "x-team",
            ]
        let target = delegate(receiver.url(), headers: [KeyValue("x-team", "blue")]) { $0.httpVersion = version }
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let traced = Event(
            id: "evt_2", type: "order.created", subject: nil, time: 1, attributes: [KeyValue("traceparent", trace)],
            data: "\"\(String(repeating: "x", count: 2_000_000))\"".utf8)
        #expect(await loop.send(target).isSuccess)
        #expect(await loop.send(target, traced, purpose: .delivery(isReplay: true)).isSuccess)
        #expect(await loop.send(target).isSuccess)
        let names = receiver.requests.map { request in request.headers.map { $0.name.lowercased() }.sorted() }
        #expect(names == [always.sorted(), (always + ["herald-replay", "traceparent"]).sorted(), always.sorted()])
        for request in receiver.requests {
            #expect(try request.header("webhook-signature") == v1(secretBytes, request))
        }
    }

    @Test("two callbacks use one connection")
    func keepAlive() async throws {
        let (receiver, loop) = try connected { _ in .status(204) }
        defer { loop.stop(closing: receiver) }
        let target = delegate(receiver.url())
        for attempt in 1...3 { #expect(await loop.send(target, attempt: attempt).status == 204) }
        #expect(receiver.connectionCount == 1)
        #expect(receiver.requests.compactMap { $0.header("herald-attempt") } == ["1", "2", "3"])
    }

    @Test("delegates of one receiver keep their own headers")
    func twoDelegates() async throws {
        let receiver = try Receiver()
        let loop = try SendingLoop { $0.capacity = 1 }
        defer { loop.stop(closing: receiver) }
        let one = delegate(receiver.url("/1"), key: 1, headers: [KeyValue("x-one", "1")])
        let two = delegate(receiver.url("/2"), key: 2)
        for target in [one, two, one] { _ = await loop.send(target) }
        #expect(receiver.requests.map(\.path) == ["/1", "/2", "/1"])
        #expect(receiver.requests.map { $0.header("x-one") } == ["1", nil, "1"])
    }

    @Test("a changed delegate gets callbacks with its new settings")
    func changedDelegate() async throws {
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: receiver) }
        _ = await loop.send(delegate(receiver.url("/old")))
        _ = await loop.send(delegate(receiver.url("/new")))
        #expect(receiver.requests.map(\.path) == ["/old", "/new"])
    }

    @Test("large bodies arrive whole and without Expect")
    func largeBody() async throws {
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: receiver) }
        let sent = event("\"" + String(repeating: "x", count: 3_000_000) + "\"")
        #expect(await loop.send(delegate(receiver.url()), sent).isSuccess)
        #expect(receiver.requests.first?.body == sent.body)
        #expect(receiver.requests.first?.header("expect") == nil)
    }

    @Test("headers that could break the request are dropped, the others are sent")
    func unsafeHeaders() async throws {
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: receiver) }
        let headers = [
            KeyValue("x-a", "1\r\nx-evil: 1"), KeyValue("x-b", "1\nx-evil: 1"), KeyValue("x-c\r\nx-evil", "1"),
            KeyValue("x-d", "1\0"), KeyValue("Host", "evil"), KeyValue("Content-Length", "1"),
            KeyValue("webhook-id", "1"),
            KeyValue("x-good", "yes"),
        ]
        #expect(await loop.send(delegate(receiver.url(), headers: headers)).isSuccess)
        let request = try #require(receiver.requests.first)
        let extra = request.headers.map { $0.name.lowercased() }.filter { $0.hasPrefix("x-") }
        #expect(extra == ["x-good"])
        #expect(request.header("host") == "127.0.0.1:\(receiver.port)")
        #expect(request.header("webhook-id") == "evt_1")
    }

    @Test("a full stop in an event's id is escaped in webhook-id and in the signed text")
    func escapedEventID() async throws {
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: receiver) }
        for id in ["a.b/c:d%2E", String(repeating: ".", count: EventID.maxBytes)] {
            #expect(await loop.send(delegate(receiver.url()), event(id: id)).isSuccess)
            let request = try #require(receiver.requests.last)
            #expect(request.header("webhook-id") == EventID.header(id))
            #expect(try request.header("webhook-signature") == v1(secretBytes, request))
        }
        #expect(receiver.requests.first?.header("webhook-id") == "a%2Eb/c:d%252E")
    }

    @Test("an event whose id can't be a header value is not sent")
    func unsafeEventID() async throws {
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: receiver) }
        for id in ["a\r\nb", "", String(repeating: "a", count: 500)] {
            #expect(await loop.send(delegate(receiver.url()), event(id: id)).failure == .protocolError)
        }
        #expect(receiver.requests.isEmpty)
    }

    @Test("closing ends open callbacks as stopped")
    func stopping() async throws {
        let gate = ReceiverGate()
        let (receiver, loop) = try connected { _ in .held(gate) }
        defer {
            gate.open()
            receiver.close()
        }
        async let outcome = loop.send(delegate(receiver.url()))
        _ = await receiver.requests(1)
        loop.stop()
        #expect(await outcome.failure == .stopped)
    }

    @Test("a poll without work ends when it is woken or at its timeout")
    func waking() throws {
        let configuration = CurlSender.Configuration(version: "1", addressGuard: AddressGuard())
        let sender = try CurlSender(configuration, resolver: Resolver())
        sender.wake()
        sender.poll(nanoseconds: nil) { _, _ in Issue.record("nothing was started") }
        sender.poll(nanoseconds: 0) { _, _ in Issue.record("nothing was started") }
        sender.poll(nanoseconds: 1_000_000) { _, _ in Issue.record("nothing was started") }
        sender.close { _, _ in Issue.record("nothing was started") }
        sender.close { _, _ in Issue.record("nothing was started") }
    }

    @Test("a process that has stood still sends nothing before its permit is checked again")
    func fence() throws {
        let receiver = try Receiver { _ in .status(204) }
        defer { receiver.close() }
        let sender = try CurlSender(
            .init(version: "1", addressGuard: AddressGuard(allowLoopback: true)), resolver: Resolver())
        sender.start(Callback(token: 1, delegate: delegate(receiver.url()), event: event(), attempt: 1))
        sender.fence = 1
        for _ in 1...3 { sender.poll(nanoseconds: nil) { _, _ in Issue.record("it was sent") } }
        sender.fence = .max
        var outcomes: [CallbackOutcome] = []
        try blockUntil("it is sent") {
            sender.poll(nanoseconds: 1_000_000_000) { outcomes.append($1) }
            return !outcomes.isEmpty
        }
        #expect(outcomes.map(\.isSuccess) == [true])
        sender.close { _, _ in }
    }

    @Test(
        "of many requests that are about to be sent when that right ends, the rest is not sent, and no attempt has failed"
    )
    func fenceWhileSending() throws {
        let receiver = try Receiver { _ in .status(204) }
        defer { receiver.close() }
        let sender = try CurlSender(
            .init(version: "1", addressGuard: AddressGuard(allowLoopback: true)), resolver: Resolver())
        let delegate = delegate(receiver.url())
        var (sent, stopped) = (0, 0)
        // The moment is a matter of chance.
        try blockUntil("it ends in the middle") {
            for token in 1...50 {
                sender.start(Callback(token: token, delegate: delegate, event: event(), attempt: 1))
            }
            var open = 50
            func record(_ outcome: CallbackOutcome) {
                open -= 1
                if outcome.isSuccess { sent += 1 } else if outcome.failure == .stopped { stopped += 1 }
            }
            let end = Clock.system.monotonic() + .random(in: 100_000...1_000_000)
            sender.fence = end
            while Clock.system.monotonic() < end { sender.poll(nanoseconds: 0) { record($1) } }
            sender.fence = .max
            while open > 0 { sender.poll(nanoseconds: 1_000_000_000) { record($1) } }
            return stopped > 0
        }
        #expect((sent + stopped) % 50 == 0)
        #expect(receiver.requestCount == sent)
        sender.close { _, _ in }
    }

    @Test("callbacks beyond the capacity are returned, not lost")
    func overCapacity() async throws {
        let gate = ReceiverGate()
        let receiver = try Receiver { _ in .held(gate) }
        let loop = try SendingLoop { $0.capacity = 1 }
        defer { loop.stop(closing: receiver) }
        async let first = loop.send(delegate(receiver.url()))
        _ = await receiver.requests(1)
        #expect(await loop.send(delegate(receiver.url(), key: 2)).failure == .stopped)
        gate.open()
        #expect(await first.isSuccess)
    }

    @Test("a sender reports how long it slept, which is zero if it only polled")
    func slept() throws {
        let sender = try CurlSender(
            .init(version: "1", addressGuard: AddressGuard(allowLoopback: true)), resolver: Resolver())
        sender.poll(nanoseconds: 0) { _, _ in Issue.record("nothing was sent") }
        #expect(sender.slept(asOf: 7) == 0)
        sender.poll(nanoseconds: 3_000_000) { _, _ in Issue.record("nothing was sent") }
        #expect(sender.slept(asOf: 7) >= 3_000_000)
    }
}
