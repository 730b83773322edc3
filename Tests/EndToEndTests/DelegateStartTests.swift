import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("How a webhook begins", .timeLimit(.minutes(20)), .serialized)
struct DelegateStartTests {
    @Test("nothing is sent before the challenge succeeded, and no event is lost in the meantime")
    func verification() async throws {
        let herald = try await HeraldProcess.start()
        let gate = ReceiverGate()
        let receiver = try herald.receiver { request in
            request.text.contains("herald.verification")
                ? .held(gate, .status(200, bytes: request.body)) : .status(204)
        }
        defer { gate.open() }
        let delegate = try await herald.register(receiver.url(), #""verification": "challenge""#)
        #expect(delegate.string("status") == "pending_verification")
        let event = try await herald.publish()
        let story = try await herald.deliveries(of: event, "pending")
        #expect(story.first?["reason"]?.string?.contains("pending_verification") == true)
        gate.open()
        _ = try await herald.deliveries(of: event, "delivered")
        #expect(try await herald.get("/v1/delegates/\(delegate.id)").string("status") == "active")
        #expect(try await herald.get("/v1/delegates?status=pending_verification").data.isEmpty)
        // On a busy machine the challenge may have been repeated before this read.
        let areEvents = receiver.requests.map { $0.header("webhook-id") == event }
        #expect(areEvents.first == false)
        #expect(areEvents.last == true && areEvents.count { $0 } == 1)
    }

    @Test("an address that does not agree stays unverified with a reason; without verification it is active")
    func notVerified() async throws {
        let herald = try await HeraldProcess.start()
        let (receiver, id) = try await herald.registerReceiver(#""verification": "challenge""#)
        let event = try await herald.publish()
        let path = "/v1/delegates/\(id)"
        let refused = try await herald.get(path) { $0.string("status_reason")?.contains("challenge") == true }
        #expect(refused.string("status") == "pending_verification")
        let calls = receiver.requests.count
        let test = try await herald.post("\(path)/test", "")
        #expect(test.status == 409)
        #expect(test.problem == "unverified")
        #expect(receiver.requests.dropFirst(calls).allSatisfy { $0.text.contains("herald.verification") })
        #expect(try await herald.send("PATCH", path, #"{"verification": null}"#).string("status") == "active")
        _ = try await herald.deliveries(of: event, "delivered")
    }

    @Test("a new delegate can receive the current state first")
    func currentState() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        _ = try await herald.send("PUT", "/v1/app-state", #"{"state": "idle"}"#)
        _ = try await herald.send("PUT", "/v1/auth/42", #"{"status": "logged_in"}"#)
        let before = try await herald.get("/v1/events").data.count
        _ = try await herald.register(receiver.url(), #""replay_current_state": true, "subjects": ["user:42"]"#)
        _ = try await herald.register(receiver.url("/all"), #""replay_current_state": true"#)
        let requests = await receiver.requests(2)
        let told = try requests.map { request in
            "\(request.path) \(try JSONDocument(parsing: request.body)["type"]?.string ?? "")"
        }
        #expect(told.sorted() == ["/ auth.status_changed", "/all app_state.changed"])
        // No other delegate receives it, and the log does not list it.
        #expect(try await herald.get("/v1/events").data.count == before)
    }
}
