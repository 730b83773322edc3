import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("The live stream of attempts", .timeLimit(.minutes(20)), .serialized)
struct AttemptStreamTests {
    private static let path = "/v1/attempts/stream"

    @Test("attempts appear as they are recorded, with the same data as in the list, filtered by parameters")
    func live() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { $0.path == "/bad" ? .status(500) : .status(204) }
        let good = try await herald.register(receiver.url("/good")).id
        let bad = try await herald.register(receiver.url("/bad"), #""retry_schedule": [600]"#).id
        let port = herald.port
        let listeners = try await RawHTTP.onThread {
            try ["", "?delegate=\(good)", "?outcome=failed", "?event=second"].map {
                Box(try StreamClient(port: port, $0, path: Self.path))
            }
        }
        func next(_ index: Int) async throws -> StreamMessage {
            try #require(try await RawHTTP.onThread { try listeners[index].value.next() })
        }
        #expect(listeners[0].value.head.contains("\r\nContent-Type: text/event-stream\r\n"))
        for index in listeners.indices {
            let ready = try await next(index)
            #expect(ready.name == "ready" && ready.id?.hasPrefix("@") == true)
        }
        try await herald.publish("a.b", #""id": "first""#)
        try await herald.publish("a.b", #""id": "second""#)
        var told: [String: StreamMessage] = [:]
        for _ in 0..<4 {
            let message = try await next(0)
            told[message.id ?? ""] = message
        }
        for (delegate, outcome) in [(good, "succeeded"), (bad, "failed")] {
            let listed = try await herald.get("/v1/delegates/\(delegate)/attempts").data
            #expect(listed.count == 2)
            for record in listed {
                let document = try #require(told[record["id"]?.string ?? ""]?.json)
                #expect(document["delegate"]?.string == delegate && document["outcome"]?.string == outcome)
                for member in record.members { #expect(document[member.key]?.bytes == member.value.bytes) }
                #expect(document.root.count == record.count + 1)
            }
        }
        #expect(try await [next(1), next(1)].allSatisfy { $0.json?["delegate"]?.string == good })
        #expect(try await [next(2), next(2)].allSatisfy { $0.json?["outcome"]?.string == "failed" })
        #expect(try await [next(3), next(3)].allSatisfy { $0.json?["event"]?.string == "second" })

        // What a stream has sent counts until it has heard of it.
        let listed = try await herald.get("/v1/delegates?kind=stream") { answer in
            answer.data.count == 4 && answer.data.allSatisfy { $0["lag"]?["attempts"]?.integer == 0 }
        }.data
        #expect(listed.allSatisfy { $0["log"]?.string == "attempts" && $0["events"]?.count == 0 })
        let id = try #require(listed[0]["id"]?.string)
        #expect(try await herald.get("/v1/delegates/\(id)").string("kind") == "stream")
        #expect(try await herald.get("/v1/delegates?kind=stream&event=a.b").data.isEmpty)
        let metrics = try await herald.get("/metrics").text
        #expect(metrics.contains("\nherald_delegates{kind=\"stream\",status=\"active\"} 4\n"))
        #expect(metrics.contains("\nherald_http_streams 4\n"))
        for listener in listeners { listener.value.leave() }
        _ = try await herald.get("/v1/delegates?kind=stream") { $0.data.isEmpty }
    }

    @Test("it starts at earliest, an id or now; an unknown id is reported")
    func beginnings() async throws {
        let herald = try await HeraldProcess.start()
        let (_, delegate) = try await herald.registerReceiver { _ in .status(204) }
        for _ in 0..<5 { try await herald.publish("a.b") }
        let list = try await herald.get("/v1/delegates/\(delegate)/attempts") { $0.data.count == 5 }
        let ids: [String] = list.data.compactMap { $0["id"]?.string }.reversed()
        let port = herald.port
        try await RawHTTP.onThread {
            func messages(_ query: String, _ count: Int, header: String? = nil) throws -> [StreamMessage] {
                let client = try StreamClient(port: port, query, path: Self.path, lastEventID: header)
                return try (0..<count).compactMap { _ in try client.next() }
            }
            #expect(try messages("?last_event_id=earliest", 6).dropFirst().compactMap(\.id) == ids)
            #expect(try messages("?last_event_id=\(ids[2])", 3).compactMap(\.id) == Array(ids[2...]))
            #expect(try messages("?last_event_id=earliest", 2, header: ids[3]).compactMap(\.id) == Array(ids[3...]))
            let end = try #require(try messages("", 1)[0].id)
            #expect(try end.hasPrefix("@") && messages("", 1, header: end)[0].name == "ready")
            for unknown in ["att_01M7YZ455K0000000000000ZZZ", "not an id"] {
                let lost = try messages("", 1, header: unknown)[0]
                #expect(lost.name == "reset" && lost.id?.hasPrefix("@") == true)
                #expect(lost.json?["detail"]?.string?.contains("/attempts lists those that are left") == true)
            }
        }
    }

    @Test("attempts of erased events are not sent, and are not reported as a loss")
    func erased() async throws {
        let herald = try await HeraldProcess.start()
        let (_, delegate) = try await herald.registerReceiver(#""ordering": "strict""#) { _ in .status(204) }
        for number in 0..<6 {
            try await herald.publish("a.b", number % 2 == 1 ? #""subject": "unwanted""# : #""subject": "wanted""#)
        }
        let list = try await herald.get("/v1/delegates/\(delegate)/attempts") { $0.data.count == 6 }
        let all: [String] = list.data.compactMap { $0["id"]?.string }.reversed()
        #expect(try await herald.send("DELETE", "/v1/subjects/unwanted").status == 200)
        let left: [String] = try await herald.get("/v1/delegates/\(delegate)/attempts").data
            .compactMap { $0["id"]?.string }.reversed()
        #expect(left.count == 3)
        let port = herald.port
        try await RawHTTP.onThread {
            for (id, expected) in [("earliest", left), (all[1], Array(left[1...]))] {
                let client = try StreamClient(port: port, path: Self.path, lastEventID: id)
                let messages = try (0...expected.count).compactMap { _ in try client.next() }
                #expect(messages[0].name == "ready" && messages.dropFirst().compactMap(\.id) == expected)
            }
        }
    }

    @Test("invalid parameters are refused, and HEAD works")
    func refusals() async throws {
        let herald = try await HeraldProcess.start()
        for (query, status) in [
            ("?delegate=dlg_nobody", 404), ("?event=a%20b", 422), ("?outcome=maybe", 422), ("?last_event_id=x", 422),
            ("?last_event_id=2026-01-01T00:00:00Z", 422), ("?events=a.b", 422),
        ] {
            #expect(try await herald.get(Self.path + query).status == status, "\(query)")
        }
        #expect(try await herald.get(Self.path, ["Accept": "application/json"]).status == 406)
        #expect(try await herald.send("HEAD", Self.path).header("content-type") == "text/event-stream")
        #expect(try await herald.get("/v1/delegates?kind=stream").data.isEmpty)
    }
}
