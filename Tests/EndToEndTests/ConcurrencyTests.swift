import HeraldJSON
import HeraldTestSupport
import Synchronization
import Testing

@Suite("Many at once", .timeLimit(.minutes(20)), .serialized)
struct ConcurrencyTests {
    @Test("pausing, resuming and changing under load loses nothing and repeats nothing")
    func changesUnderLoad() async throws {
        // Two threads that serve requests, and ten that deliver.
        let herald = try await HeraldProcess.start(["--threads", "12"])
        let book = Book()
        let receiver = try herald.receiver { book.record($0) }
        let path = "/v1/delegates/" + (try await herald.register(receiver.url()).id)
        let load = Load(port: herald.port, most: 2_500, prefix: "p")
        for round in 1...40 {
            #expect(try await herald.send("POST", path + "/pause").status == 200)
            #expect(try await herald.send("PATCH", path, #"{"max_in_flight": \#(round)}"#).status == 200)
            #expect(try await herald.send("POST", path + "/resume").status == 200)
        }
        try await eventually("there is load") { load.result.acknowledged.count > 100 }
        let acknowledged = try await load.stop().acknowledged
        try await eventually("everything arrives") { acknowledged.isSubset(of: book.ids) }
        _ = try await herald.deliveries(of: try await herald.publish(), "delivered")
        #expect(book.duplicates == 0)
    }

    @Test("receivers that fail at times get every event, each with one success")
    func flaky() async throws {
        let herald = try await HeraldProcess.start()
        let book = Book()
        let seen = Mutex((count: 0, attempts: [:] as [String: Int]))
        let receiver = try herald.receiver { request in
            let id = request.header("webhook-id") ?? ""
            let number = seen.withLock { seen in
                seen.count += 1
                seen.attempts[id, default: 0] += 1
                // Chance must not use up the schedule of an event.
                return seen.attempts[id, default: 0] > 5 ? 1 : seen.count
            }
            switch number % 6 {
            case 0: return .status(500)
            case 3: return .close
            default: return book.record(request)
            }
        }
        _ = try await herald.register(
            receiver.url(), #""retry_schedule": [0.01, 0.02, 0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]"#)
        let load = Load(port: herald.port, prefix: "f")
        try await eventually("there is load") { load.result.acknowledged.count >= 500 }
        let acknowledged = try await load.stop().acknowledged
        try await eventually("everything arrives") { acknowledged.isSubset(of: book.ids) }
        #expect(book.duplicates == 0)
    }

    @Test("after DELETE returns, only requests in flight arrive")
    func deleteUnderLoad() async throws {
        let herald = try await HeraldProcess.start()
        let (receiver, id) = try await herald.registerReceiver(#""max_in_flight": 4"#)
        let load = Load(port: herald.port, prefix: "d")
        _ = await receiver.requests(50)
        #expect(try await herald.send("DELETE", "/v1/delegates/\(id)").status == 204)
        let count = receiver.requests.count
        let before = load.result.acknowledged.count
        try await eventually("there is more load") { load.result.acknowledged.count > before + 200 }
        _ = try await load.stop()
        #expect(receiver.requests.count <= count + 8)
    }

    @Test("concurrent equal registrations create one delegate")
    func sameRegistration() async throws {
        let herald = try await HeraldProcess.start()
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<16 {
                group.addTask { try await herald.post("/v1/delegates", #"{"url": "http://127.0.0.1:9/"}"#) }
            }
            return try await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        #expect(answers.map(\.status).sorted() == Array(repeating: 200, count: 15) + [201])
        #expect(Set(answers.map(\.id)).count == 1)
        #expect(answers.count { $0["secret"] != nil } == 1)
    }

    @Test("overlapping patterns notify a delegate once, and several delegates once each")
    func overlap() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        _ = try await herald.register(receiver.url("/1"), #""events": ["*", "a.*", "a.b", "a.b.*"]"#)
        _ = try await herald.register(receiver.url("/2"), #""events": ["a.*", "a.b"]"#)
        let events = (0..<500).map { _ in #"{"type": "a.b"}"# }.joined(separator: ",")
        #expect(try await herald.post("/v1/events", "[\(events)]").status == 202)
        _ = try await herald.deliveries(of: try await herald.publish("a.b.c"), "delivered", "delivered")
        let requests = await receiver.requests(1002)
        #expect(requests.count == 1002)
        for path in ["/1", "/2"] {
            let ids = requests.filter { $0.path == path }.compactMap { $0.header("webhook-id") }
            #expect(ids.count == 501)
            #expect(Set(ids).count == 501)
        }
    }

    @Test("clients that disconnect do not affect others")
    func rudeClients() async throws {
        let herald = try await HeraldProcess.start()
        _ = try await RawHTTP.onThread { [port = herald.port] in
            let body = #"{"type": "rude.test"}"#
            let request =
                "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            for number in 0..<200 {
                let client = try RawHTTPClient(port: port)
                client.send(Array(request.utf8.prefix(number % 2 == 0 ? request.utf8.count : number)))
                client.reset()
            }
        }
        try await herald.publish()
        #expect(try await herald.get("/readyz").status == 200)
        #expect(try await herald.stop() == .exited(0))
    }
}
