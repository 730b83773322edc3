import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("A subject is erased", .timeLimit(.minutes(20)), .serialized)
struct ErasureTests {
    @Test(
        "its data is removed from the log, the attempts, the statuses and the files; the receipt counts it",
        .enabled(if: TestStore.isFolder))
    func erasure() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { request in
            .status(500, body: request.text.contains("Zerberus") ? "I know Zerberus" : "Who is that?")
        }
        _ = try await herald.register(receiver.url(), #""retry_schedule": [3600]"#)
        let login = #"{"type": "auth.logged_in", "data": {"user": {"id": 42, "name": "Zerberus"}}}"#
        let event = try await herald.post("/v1/events", login, ["Idempotency-Key": "login"]).id
        let other = try await herald.publish("a.b", #""subject": "user:43", "data": 1"#)
        for event in [event, other] { _ = try await herald.deliveries(of: event, "retrying") }
        // With the event about the status.
        _ = try await herald.get("/v1/deliveries?state=retrying") { $0.data.count == 3 }

        let receipt = try await herald.send("DELETE", "/v1/subjects/user:42")
        #expect(receipt.status == 200)
        #expect(receipt.string("subject") == "user:42")
        // The login, and the change of the status that it made.
        #expect(receipt.integer("events") == 2)
        #expect(receipt.integer("attempts") == 2)
        #expect(receipt.integer("deliveries") == 2)
        #expect(receipt.integer("auth_statuses") == 1)
        #expect(receipt.integer("remembered_answers") == 1)
        #expect(receipt["erased_at"]?.timestamp != nil)

        let story = try await herald.get("/v1/events/\(event)")
        #expect(story["data"]?.isNull == true && story["subject"]?.isNull == true)
        #expect(story["deliveries"]?.count == 0)
        #expect(try await herald.get("/v1/auth/42").string("status") == "unknown")
        _ = try await herald.deliveries(of: other, "retrying")
        #expect(try await herald.get("/v1/events/\(other)")["data"]?.integer == 1)
        let again = try await herald.send("DELETE", "/v1/subjects/user:42")
        #expect(again.integer("events") == 0)
        try await herald.stop()
        for name in try Files.names(in: herald.folder.path + "/data") {
            let bytes = try Files.read(herald.folder.path + "/data/" + name)
            #expect(!String(decoding: bytes, as: UTF8.self).contains("Zerberus"), "\(name)")
        }
    }

    @Test("erasures that run at the same time all end, and events are published in between")
    func concurrent() async throws {
        let herald = try await HeraldProcess.start()
        for subject in 0..<8 {
            let event = #"{"type": "a.b", "subject": "user:\#(subject)", "data": "x"}"#
            _ = try await herald.post(
                "/v1/events", "[" + Array(repeating: event, count: 300).joined(separator: ",") + "]")
        }
        try await withThrowingTaskGroup(of: Int64?.self) { group in
            for subject in 0..<8 {
                group.addTask { try await herald.send("DELETE", "/v1/subjects/user:\(subject)").integer("events") }
            }
            for _ in 0..<20 {
                group.addTask { Int64(try await herald.post("/v1/events", #"{"type": "free"}"#).status) }
            }
            var results: [Int64?] = []
            for try await result in group { results.append(result) }
            #expect(results.filter { $0 == 300 }.count == 8 && results.filter { $0 == 202 }.count == 20)
        }
        #expect(try await herald.get("/v1/events?type=a.b&subject=user:3").data.isEmpty)
    }

    @Test("more events than fit in one transaction, and a subject that a path can't contain")
    func many() async throws {
        let herald = try await HeraldProcess.start()
        let event = #"{"type": "a.b", "subject": "orders/1", "data": "x"}"#
        let posted = try await herald.post(
            "/v1/events", "[" + Array(repeating: event, count: 1000).joined(separator: ",") + "]")
        #expect(posted.status == 202)
        try await herald.publish("a.b", #""subject": "orders/1""#)
        let receipt = try await herald.send("DELETE", "/v1/subjects?subject=orders%2F1")
        #expect(receipt.integer("events") == 1001)
        #expect(try await herald.get("/v1/events?subject=orders%2F1").data.isEmpty)
        #expect(try await herald.send("DELETE", "/v1/subjects").errors == ["subject"])
    }
}
