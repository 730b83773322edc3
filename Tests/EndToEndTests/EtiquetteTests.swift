import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("The meaning of a receiver's response", .timeLimit(.minutes(20)), .serialized)
struct EtiquetteTests {
    /// How long after its last attempt the next one of the event's only delivery is due, in milliseconds.
    private func pause(_ herald: HeraldProcess, _ event: String) async throws -> Int64 {
        let delivery = try #require(try await herald.deliveries(of: event, "retrying").first)
        let last = try #require(delivery["last_attempt_at"]?.timestamp?.milliseconds)
        let next = try #require(delivery["next_attempt_at"]?.timestamp?.milliseconds)
        return next - last
    }

    @Test(
        "Retry-After of every failure is honored, in seconds and as a date, up to a day")
    func retryAfter() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { request in
            switch request.path {
            case "/429": .status(429, headers: [("retry-after", "7200")])
            case "/503": .status(503, headers: [("retry-after", "Fri, 31 Dec 2100 23:59:59 GMT")])
            case "/cap": .status(429, headers: [("retry-after", "99999999")])
            default: .status(500, headers: [("retry-after", "7200")])
            }
        }
        for (path, range) in [
            ("/429", 7_199_000...7_800_000), ("/503", 86_399_000...87_000_000), ("/cap", 86_399_000...87_000_000),
            ("/500", 7_199_000...7_800_000),
        ] as [(String, ClosedRange<Int64>)] {
            let id = try await herald.register(receiver.url(path), #""retry_schedule": [10]"#).id
            let pause = try await pause(herald, try await herald.publish())
            #expect(range.contains(pause), "\(path): \(pause) ms")
            #expect(try await herald.send("DELETE", "/v1/delegates/\(id)").status == 204)
        }
    }

    @Test("400, 413 and 415 are ordinary failures; so is a redirect, with a hint")
    func failures() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { request in
            guard request.header("herald-attempt") == "1" else { return .status(200) }
            let status = Int(request.path.dropFirst()) ?? 500
            return .status(status, headers: [("location", "http://127.0.0.1:9/")])
        }
        for status in [400, 413, 415, 302] {
            let settings = #""retry_schedule": [0.05], "events": ["test.s\#(status)"]"#
            let id = try await herald.register(receiver.url("/\(status)"), settings).id
            _ = try await herald.deliveries(of: try await herald.publish("test.s\(status)"), "delivered")
            let attempts = try await herald.get("/v1/delegates/\(id)/attempts").data
            #expect(attempts.map { $0["status_code"]?.integer } == [200, Int64(status)])
            let hint = attempts.last?["detail"]?.string
            #expect(hint?.contains(status == 302 ? "redirects are never followed" : "200 to 299") == true)
        }
    }

    @Test("410 ends the deliveries: the delegate is `gone` until it is resumed")
    func gone() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try Receiver { $0.header("webhook-id") == "last" ? .status(200) : .status(410) }
        defer { receiver.close() }
        let watcher = try herald.receiver()
        let id = try await herald.register(receiver.url()).id
        _ = try await herald.register(watcher.url(), #""events": ["herald.delegate.*"]"#)
        let event = try await herald.publish()
        _ = try await herald.deliveries(of: event, "dropped")
        let shown = try await herald.get("/v1/delegates/\(id)") { $0.string("status") == "gone" }
        #expect(shown.string("status_reason")?.contains("410") == true)
        let requests: [(String, String?)] = [
            ("/v1/events/\(event)/redeliver", #"{"delegate": "\#(id)"}"#),
            ("/v1/deliveries/redeliver?delegate=\(id)", nil),
            ("/v1/deliveries/redeliver?delegate=\(id)&dry_run=true", nil),
            ("/v1/delegates/\(id)/replay?dry_run=true", #"{"from": "earliest"}"#),
            ("/v1/delegates/\(id)/replay", #"{"from": "earliest"}"#),
        ]
        for (path, body) in requests {
            let refused = try await herald.send("POST", path, body)
            #expect(refused.status == 409 && refused.problem == "delegate-gone", "\(path): \(refused.text)")
        }
        let told = await watcher.requests(1)
        #expect(told.first.map { String(decoding: $0.body, as: UTF8.self) }?.contains(id) == true)
        let later = try await herald.publish()
        #expect(try await herald.get("/v1/events/\(later)")["deliveries"]?.count == 0)
        try await herald.stop()
        let again = try await herald.restart()
        #expect(try await again.get("/v1/delegates/\(id)").string("status") == "gone")
        #expect(try await again.send("POST", "/v1/delegates/\(id)/resume").status == 200)
        let last = try await again.publish("test.last", #""id": "last""#)
        _ = try await again.deliveries(of: last, "delivered")
        #expect(receiver.requests.map { $0.header("webhook-id") } == [event, "last"])
    }

    @Test("the response header webhook-delivery ends one delivery, or all of them")
    func control() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { request in
            switch request.header("webhook-id") {
            case "abort": .status(500, headers: [("webhook-delivery", "abort-message")])
            case "disable": .status(500, headers: [("webhook-delivery", "disable")])
            default: .status(200)
            }
        }
        let id = try await herald.register(receiver.url(), #""retry_schedule": [3600]"#).id
        _ = try await herald.deliveries(of: try await herald.publish("test.a", #""id": "abort""#), "dropped")
        _ = try await herald.deliveries(of: try await herald.publish("test.a", #""id": "disable""#), "retrying")
        let shown = try await herald.get("/v1/delegates/\(id)") { $0.string("status") == "disabled" }
        #expect(shown.string("status_reason")?.contains("webhook-delivery: disable") == true)
        let waiting = try await herald.publish("test.a", #""id": "waiting""#)
        _ = try await herald.deliveries(of: waiting, "pending")
        #expect(try await herald.send("POST", "/v1/delegates/\(id)/resume").status == 200)
        _ = try await herald.deliveries(of: waiting, "delivered")
        #expect(receiver.requests.map { $0.header("webhook-id") } == ["abort", "disable", "waiting"])
    }

    @Test("a delegate that fails is announced, probed, and announced again when it recovers")
    func failing() async throws {
        let herald = try await HeraldProcess.start()
        let isWell = Flag()
        let receiver = try herald.receiver { _ in isWell.isSet ? .status(200) : .status(500) }
        let watcher = try herald.receiver()
        let id = try await herald.register(
            receiver.url(), #""retry_schedule": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 3600]"#
        ).id
        _ = try await herald.register(watcher.url(), #""events": ["herald.delegate.*"]"#)
        // Five deliveries have to fail over two seconds.
        for _ in 1...5 { try await herald.publish() }
        let failing = try await herald.get("/v1/delegates/\(id)") { $0.string("status") == "failing" }
        #expect(failing["failing_since"]?.timestamp != nil)
        // Otherwise it may recover before the callback about the failure.
        _ = await watcher.requests(1)
        isWell.set()
        // The next probe comes within a few seconds.
        try await herald.publish()
        _ = try await herald.get("/v1/delegates/\(id)") { $0.string("status") == "active" }
        let told = await watcher.requests(2).map { String(decoding: $0.body, as: UTF8.self) }
        #expect(told.first?.contains(#""type":"herald.delegate.failing""#) == true)
        #expect(told.last?.contains(#""type":"herald.delegate.recovered""#) == true)
        #expect(try await herald.get("/v1/delegates/\(id)")["failing_since"]?.isNull != false)
    }
}
