import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("The feed of events", .timeLimit(.minutes(20)), .serialized)
struct FeedTests {
    private static func path(_ parameters: [(String, String)]) -> String {
        "/v1/events?" + parameters.map { "\($0)=\($1.replacing("+", with: "%2B"))" }.joined(separator: "&")
    }

    /// A request that waits, once the server counts it as waiting.
    private static func waiting(
        on herald: HeraldProcess, _ path: String, _ headers: [String: String] = [:], count: Int = 1
    ) async throws -> Task<Answer, any Error> {
        let task = Task { try await herald.get(path, headers) }
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_http_requests_waiting \(count)\n") }
        return task
    }

    @Test("pages have the events after a position, oldest first, and the position to continue from")
    func pages() async throws {
        let herald = try await HeraldProcess.start()
        var ids: [String] = []
        for number in 0..<5 { ids.append(try await herald.publish("a.b", "\"data\": \(number)")) }
        var found: [String] = []
        var after = "earliest"
        for isMore in [true, true, false] {
            let page = try await herald.get(Self.path([("after", after), ("limit", "2")]))
            #expect(page.status == 200 && page["more"]?.bool == isMore && page["truncated"]?.bool == false)
            #expect(page["next_cursor"]?.isNull == true)
            after = try #require(page.string("next"))
            #expect(page.header("link")?.contains("after=%40") == true)
            found += page.data.compactMap { $0["id"]?.string }
        }
        #expect(found == ids)
        #expect(try await herald.get(Self.path([("after", after)])).data.isEmpty)
        let listed = try await herald.get("/v1/events?limit=1").data
        let first = try await herald.get(Self.path([("after", ids[3])])).data
        #expect(first.map(\.bytes) == listed.map(\.bytes))
        #expect(try await herald.get(Self.path([("after", "2020-01-01T00:00:00Z")])).data.count == 5)
        #expect(try await herald.get(Self.path([("after", "now")])).data.isEmpty)
        // After a restart the position is valid.
        let last = try await herald.publish("a.c")
        try await herald.stop()
        let again = try await herald.restart()
        #expect(try await again.get(Self.path([("after", after)])).data.map { $0["id"]?.string } == [last])
    }

    @Test("type and subject select, and the position moves on although nothing matches")
    func selection() async throws {
        let herald = try await HeraldProcess.start()
        for _ in 0..<3 { try await herald.publish("a.b", #""subject": "x*""#) }
        let none = try await herald.get(Self.path([("after", "earliest"), ("type", "other.*")]))
        #expect(none.data.isEmpty && none["more"]?.bool == false)
        let next = try #require(none.string("next"))
        let wanted = try await herald.publish("other.one", #""subject": "x*""#)
        try await herald.publish("other.one", #""subject": "xy""#)
        let page = try await herald.get(Self.path([("after", next), ("subject", "x*")]))
        #expect(page.data.map { $0["id"]?.string } == [wanted])
        #expect(try await herald.get(Self.path([("after", next)])).data.count == 2)
        // Herald's own events belong to the log.
        let login = try await herald.publish("auth.logged_in", #""data": {"user": {"id": 1}}"#)
        let types = try await herald.get(Self.path([("after", next), ("type", "auth.*")])).data
        #expect(types.first?["id"]?.string == login && types.count == 2)
    }

    @Test("a request that waits gets the next matching event as soon as it is published, and no other")
    func waits() async throws {
        let herald = try await HeraldProcess.start()
        let path = Self.path([("after", "now"), ("wait", "60"), ("type", "order.*")])
        let waiting = try await Self.waiting(on: herald, path)
        for _ in 0..<20 { try await herald.publish("a.b") }
        let wanted = try await herald.publish("order.paid")
        let answer = try await waiting.value
        #expect(answer.status == 200 && answer.data.map { $0["id"]?.string } == [wanted])
        // Nothing is left behind it.
        let next = try #require(answer.string("next"))
        #expect(try await herald.get(Self.path([("after", next)])).data.isEmpty)
        // What is there already is returned at once.
        let seen = try await herald.get(Self.path([("after", "earliest"), ("wait", "60"), ("type", "order.*")]))
        #expect(seen.data.map { $0["id"]?.string } == [wanted])
    }

    @Test("when the time is up, the response has no events and a position behind those that did not match")
    func timeIsUp() async throws {
        let herald = try await HeraldProcess.start()
        let path = Self.path([("after", "now"), ("wait", "1"), ("type", "order.*")])
        let answer = try await herald.get(path)
        #expect(answer.status == 200 && answer.data.isEmpty && answer["more"]?.bool == false)
        let next = try #require(answer.string("next"))
        let id = try await herald.publish("order.paid")
        #expect(try await herald.get(Self.path([("after", next)])).data.map { $0["id"]?.string } == [id])
    }

    @Test("a request that waits with a key that is revoked gets no events")
    func revoked() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let key = try await herald.makeKey("read")
        let waiting = try await Self.waiting(
            on: herald, Self.path([("after", "now"), ("wait", "60")]), key.headers)
        #expect(try await herald.send("DELETE", "/v1/keys/\(key.id)").status == 204)
        try await herald.publish("a.b")
        let answer = try await waiting.value
        #expect(answer.status == 401 && !answer.text.contains("a.b"))
    }

    @Test("invalid parameters are refused, each by name")
    func refusals() async throws {
        let herald = try await HeraldProcess.start()
        let id = try await herald.publish("a.b")
        for (parameters, errors) in [
            ([("wait", "5")], ["wait"]), ([("after", "a%20b")], ["after"]), ([("after", "@3")], ["after"]),
            ([("after", "nobody-knows")], ["after"]), ([("after", id), ("wait", "61")], ["wait"]),
            ([("after", id), ("wait", "-1")], ["wait"]), ([("after", id), ("limit", "201")], ["limit"]),
            ([("after", id), ("since", "2026-01-01T00:00:00Z")], ["since"]),
            ([("after", id), ("until", "2026-01-01T00:00:00Z")], ["until"]),
            ([("after", id), ("cursor", "x")], ["cursor"]), ([("after", id), ("type", "a:b")], ["type"]),
        ] {
            let answer = try await herald.get(Self.path(parameters))
            #expect(answer.status == 422 && answer.errors == errors, "\(parameters): \(answer.text)")
        }
    }

    @Test("a position of another app is refused")
    func foreign() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        #expect(try await herald.post("/v1/apps", #"{"name": "other"}"#).status == 201)
        try await herald.publish("a.b")
        let next = try #require(try await herald.get(Self.path([("after", "earliest")])).string("next"))
        let other = ["Herald-App": "other"]
        #expect(try await herald.get(Self.path([("after", next)]), other).status == 422)
        let empty = try await herald.get(Self.path([("after", "earliest")]), other)
        #expect(empty.status == 200 && empty.data.isEmpty)
    }

    @Test("requests that wait hold half of the connections at most, those of one app three quarters of these")
    func bounded() async throws {
        // 8 connections.
        let herald = try await HeraldProcess.start(
            adminKey: MadeKey.admin.text, prefix: ["sh", "-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        #expect(try await herald.post("/v1/apps", #"{"name": "other"}"#).status == 201)
        let path = Self.path([("after", "now"), ("wait", "60")])
        // A connection that has just ended may still be counted: then the next one is closed without a response.
        @Sendable func send(_ body: @Sendable () async throws -> Answer) async throws -> Answer {
            for _ in 0..<500 {
                if let answer = try? await body() { return answer }
                await Task.yield()
            }
            return try await body()
        }
        @Sendable func expectRefused(_ app: String) async throws {
            for path in [path, "/v1/app-state?wait=60"] {
                let refused = try await send { try await herald.get(path, ["Herald-App": app]) }
                #expect(refused.status == 503 && refused.header("retry-after") == "1")
            }
            // A state that the client does not have is there at once.
            let changed = try await send {
                try await herald.get("/v1/app-state?wait=60&if_none_match=other", ["Herald-App": app])
            }
            #expect(changed.status == 200)
        }
        func wait(_ count: Int, _ app: String) -> [Task<Answer, any Error>] {
            (0..<count).map { _ in Task { try await send { try await herald.get(path, ["Herald-App": app]) } } }
        }
        let waiting = wait(3, "default")
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_http_requests_waiting 3\n") }
        try await expectRefused("default")
        let other = wait(1, "other")
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_http_requests_waiting 4\n") }
        try await expectRefused("default")
        try await expectRefused("other")
        for (app, tasks) in [("default", waiting), ("other", other)] {
            let posted = try await send {
                try await herald.post("/v1/events", #"{"type": "a.b"}"#, ["Herald-App": app])
            }
            for task in tasks { #expect(try await task.value.data.map { $0["id"]?.string } == [posted.id]) }
        }
        // They have ended.
        #expect(try await send { try await herald.get(Self.path([("after", "now"), ("wait", "1")])) }.status == 200)
    }

    @Test("each event arrives once, in order, at every reader, while many are published at once")
    func concurrent() async throws {
        let herald = try await HeraldProcess.start()
        try await FeedReaders.check(publishing: [herald], reading: [herald, herald, herald])
    }
}

/// Readers of the feed beside publishers.
enum FeedReaders {
    /// 3 publishers of 100 events each; each reader has its node.
    static func check(publishing: [HeraldProcess], reading: [HeraldProcess]) async throws {
        let readers = reading.enumerated().map { number, herald in
            // One reader selects.
            Task { try await ids(herald, type: number == 1 ? "wanted.*" : nil) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<3 {
                let herald = publishing[number % publishing.count]
                group.addTask {
                    for round in 0..<50 {
                        let posted = try await herald.post(
                            "/v1/events", #"[{"type": "wanted.a"}, {"type": "unwanted.\#(round)"}]"#)
                        #expect(posted.status == 202)
                    }
                }
            }
            try await group.waitForAll()
        }
        try await publishing[0].publish("wanted.last")
        var log: [(id: String, type: String)] = []
        var cursor: String?
        repeat {
            let page = try await publishing[0].get("/v1/events?limit=200" + (cursor.map { "&cursor=\($0)" } ?? ""))
            log += page.data.map { ($0["id"]?.string ?? "", $0["type"]?.string ?? "") }
            cursor = page.string("next_cursor")
        } while cursor != nil
        log.reverse()
        #expect(log.count == 301)
        for (number, reader) in readers.enumerated() {
            let wanted = number == 1 ? log.filter { $0.type.hasPrefix("wanted.") } : log
            #expect(try await reader.value == wanted.map(\.id))
        }
    }

    private static func ids(_ herald: HeraldProcess, type: String?) async throws -> [String] {
        var ids: [String] = []
        var after = "earliest"
        while true {
            let page = try await herald.get(
                "/v1/events?limit=7&wait=60&after=\(after)" + (type.map { "&type=\($0)" } ?? ""))
            guard page.status == 200, let next = page.string("next") else {
                throw HeraldFailure(what: "no page: \(page.text)")
            }
            #expect(page["truncated"]?.bool == false)
            ids += page.data.compactMap { $0["id"]?.string }
            after = next
            if page.data.last?["type"]?.string == "wanted.last" { return ids }
        }
    }
}
