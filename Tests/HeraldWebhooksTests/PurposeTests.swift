import HeraldModel
import HeraldTestSupport
import HeraldWebhooks
import Testing

@Suite(.timeLimit(.minutes(20))) struct PurposeTests {
    private func send(
        _ purposes: [Callback.Purpose], reply: ReceiverReply = .status(200),
        change: (inout WebhookSettings) -> Void = { _ in }
    ) async throws -> [(request: ReceivedRequest, outcome: CallbackOutcome)] {
        let receiver = try Receiver { _ in reply }
        let loop = try SendingLoop { $0.origin = "events.example" }
        defer {
            receiver.close()
            loop.stop()
        }
        let target = delegate(receiver.url(), headers: [KeyValue("authorization", "Bearer t")], change: change)
        var outcomes: [CallbackOutcome] = []
        for purpose in purposes { outcomes.append(await loop.send(target, purpose: purpose)) }
        return Array(zip(receiver.requests, outcomes))
    }

    @Test("replays are marked, and nothing else is")
    func replay() async throws {
        let purposes: [Callback.Purpose] = [
            .delivery(isReplay: true), .delivery(isReplay: false), .test, .delivery(isReplay: true),
        ]
        let sent = try await send(purposes)
        #expect(sent.map { $0.request.header("herald-replay") } == ["true", nil, nil, "true"])
        #expect(sent.allSatisfy { $0.request.method == "POST" && $0.request.header("webhook-signature") != nil })
    }

    @Test("a handshake is an OPTIONS request without an event, and the next callback is a POST again")
    func handshake() async throws {
        let sent = try await send([.delivery(isReplay: false), .handshake, .handshake, .delivery(isReplay: false)])
        #expect(sent.map(\.request.method) == ["POST", "OPTIONS", "OPTIONS", "POST"])
        let request = sent[1].request
        #expect(request.header("webhook-request-origin") == "events.example")
        #expect(request.header("webhook-request-rate") == nil)
        #expect(request.header("authorization") == "Bearer t")
        #expect(request.header("user-agent") == "Herald/1.2.3")
        for name in ["webhook-id", "webhook-signature", "content-type", "content-length", "herald-attempt"] {
            #expect(request.header(name) == nil, "\(name)")
        }
        #expect(request.body.isEmpty)
        #expect(sent[1].outcome.transport.bytesSent == 0)
        #expect(sent[0].request.body == sent[3].request.body)
        #expect(sent[3].request.header("webhook-request-origin") == nil)
    }

    @Test(
        "path and host of a callback equal those that libcurl writes, as for a handshake",
        arguments: [
            "", "/", "?", "/?", "?a=1", "/a/../b/./c?x=1?y=%20&z", "/%7Euser//x;v=1?q=a+b", "/a?", "/*'()[]|{}",
        ])
    func requestLine(_ path: String) async throws {
        let (receiver, loop) = try connected { _ in .status(200) }
        defer {
            receiver.close()
            loop.stop()
        }
        let target = delegate("http://127.0.0.1:\(receiver.port)\(path)")
        #expect(await loop.send(target, purpose: .handshake).isSuccess)
        #expect(await loop.send(target).isSuccess)
        #expect(receiver.requests.map(\.method) == ["OPTIONS", "POST"])
        #expect(Set(receiver.requests.map(\.path)).count == 1)
        #expect(Set(receiver.requests.map { $0.header("host") }).count == 1)
    }

    @Test(
        "the requested rate is sent in requests per minute", arguments: [(2.0, "120"), (0.01, "1"), (10_000, "600000")])
    func requestedRate(_ rate: Double, _ text: String) async throws {
        let sent = try await send([.handshake]) { $0.rateLimit = rate }
        #expect(sent[0].request.header("webhook-request-rate") == text)
    }

    @Test("deliveries to a delegate with a handshake contain the origin")
    func agreedOrigin() async throws {
        let sent = try await send([.delivery(isReplay: false)]) { $0.verification = .cloudevents }
        #expect(sent[0].request.header("webhook-request-origin") == "events.example")
    }

    @Test(
        "permission depends on the headers, with any status",
        arguments: [
            ([("WebHook-Allowed-Origin", "*"), ("WebHook-Allowed-Rate", "*")], .init(origin: "*", rate: nil)),
            (
                [("webhook-allowed-origin", " events.example "), ("webhook-allowed-rate", "120")],
                .init(origin: "events.example", rate: 120)
            ),
            ([("webhook-allowed-origin", "*"), ("webhook-allowed-rate", "600000")], .init(origin: "*", rate: 600_000)),
            ([("webhook-allowed-origin", "*"), ("webhook-allowed-rate", "-3")], .init(origin: "*", rate: nil)),
            ([("webhook-allowed-origin", "Events.Example")], .init(origin: "Events.Example", rate: nil)),
            ([("webhook-allowed-origin", "other.example"), ("webhook-allowed-rate", "*")], nil),
            ([("webhook-allowed-origin", "events.example.evil.example")], nil),
            ([("webhook-allowed-rate", "120")], nil), ([], nil),
        ] as [([(String, String)], CallbackOutcome.Permission?)])
    func permission(_ headers: [(String, String)], _ permission: CallbackOutcome.Permission?) async throws {
        for status in [200, 405] {
            let sent = try await send(
                [.handshake, .delivery(isReplay: false)], reply: .status(status, headers: headers))
            #expect(sent[0].outcome.permission == permission)
            #expect(sent[0].outcome.status == status)
            #expect(sent[1].outcome.permission == nil)
        }
    }

    @Test(
        "a receiver can end a delegate or a delivery",
        arguments: [
            ("disable", .disable), ("Abort-Message", .abortMessage), ("  disable ", .disable), ("enable", nil),
            ("", nil),
        ] as [(String, CallbackOutcome.Control?)])
    func control(_ text: String, _ control: CallbackOutcome.Control?) async throws {
        for status in [200, 500] {
            let reply = ReceiverReply.status(status, headers: [("Webhook-Delivery", text)])
            let sent = try await send([.delivery(isReplay: false)], reply: reply)
            #expect(sent[0].outcome.control == control)
        }
    }
}
