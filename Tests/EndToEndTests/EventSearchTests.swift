import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Synchronization
import Testing

@Suite("Searching the log", .timeLimit(.minutes(20)))
struct EventSearchTests {
    /// The ids of the events of all pages.
    private static func ids(_ herald: HeraldProcess, _ query: String) async throws -> [String] {
        var ids: [String] = []
        var cursor = ""
        repeat {
            let page = try await herald.get("/v1/events?\(query)\(cursor)")
            #expect(page.status == 200, "\(page.text)")
            ids += page.data.compactMap { $0["id"]?.string }
            cursor = page.string("next_cursor").map { "&cursor=\($0)" } ?? ""
        } while !cursor.isEmpty
        return ids
    }

    @Test("events are found by several types, by the beginning of their id, and by their content, page by page")
    func conditions() async throws {
        let herald = try await HeraldProcess.start()
        for number in 1...6 {
            let type = ["a.b", "a.c", "d.e"][number % 3]
            let body = #"{"type": "\#(type)", "id": "n-\#(number)", "data": {"amount": \#(number * 100)}}"#
            #expect(try await herald.post("/v1/events", body).status == 202)
        }
        func found(_ query: String, limit: Int) async throws -> [String] {
            try await Self.ids(herald, "\(query)&limit=\(limit)")
        }
        let large = "%7B%22data%22%3A%7B%22amount%22%3A%5B%7B%22numeric%22%3A%5B%22%3E%22%2C200%5D%7D%5D%7D%7D"
        for limit in [1, 2, 50] {
            #expect(try await found("type=a.c,d.e", limit: limit) == ["n-5", "n-4", "n-2", "n-1"])
            #expect(try await found("type=a.*,d.e", limit: limit).count == 6)
            #expect(try await found("id_prefix=n-4", limit: limit) == ["n-4"])
            #expect(try await found("filter=\(large)", limit: limit) == ["n-6", "n-5", "n-4", "n-3"])
            #expect(try await found("filter=\(large)&type=a.c,d.e", limit: limit) == ["n-5", "n-4"])
        }
        #expect(try await found("id_prefix=m", limit: 50) == [])
        for (query, place) in [
            ("type=a.b,", "type"), ("filter=x", "filter"), ("filter=%7B%22data%22%3A1%7D", "filter"),
            ("after=now&filter=\(large)", "filter"), ("after=now&id_prefix=n", "id_prefix"),
        ] {
            #expect(try await herald.get("/v1/events?\(query)").errors == [place], "\(query)")
        }
        let feed = try await herald.get("/v1/events?after=earliest&type=a.c,d.e")
        #expect(feed.data.compactMap { $0["id"]?.string } == ["n-1", "n-2", "n-4", "n-5"])
        let listed = try await Client.run(
            ["events", "list", "--filter", #"{"data": {"amount": [600]}}"#, "--json"],
            server: herald.url)
        #expect(listed.lines.count == 1 && listed.text.contains(#""n-6""#), "\(listed.text)")
    }

    @Test("events are found by the state of a delivery, each once, with other conditions, page by page")
    func outcomes() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { $0.path.hasPrefix("/broken") ? .status(500) : .status(204) }
        for number in 1...3 {
            let url = receiver.url("/broken/\(number)")
            let body = #"{"url": "\#(url)", "events": ["bad.*"], "retry_schedule": []}"#
            #expect(try await herald.post("/v1/delegates", body).status == 201)
        }
        for number in 1...6 {
            let type = ["good.a", "bad.a", "bad.b"][number % 3]
            let body = #"{"type": "\#(type)", "id": "n-\#(number)", "data": {"amount": \#(number * 100)}}"#
            #expect(try await herald.post("/v1/events", body).status == 202)
        }
        _ = try await herald.get("/v1/deliveries/counts") { $0.integer("deliveries") == 12 }
        func found(_ query: String, limit: Int) async throws -> [String] {
            try await Self.ids(herald, "delivery=exhausted\(query)&limit=\(limit)")
        }
        let large = "%7B%22data%22%3A%7B%22amount%22%3A%5B%7B%22numeric%22%3A%5B%22%3E%22%2C200%5D%7D%5D%7D%7D"
        for limit in [1, 2, 50] {
            #expect(try await found("", limit: limit) == ["n-5", "n-4", "n-2", "n-1"])
            #expect(try await found("&type=bad.b", limit: limit) == ["n-5", "n-2"])
            #expect(try await found("&filter=\(large)", limit: limit) == ["n-5", "n-4"])
            #expect(try await found("&id_prefix=n-2", limit: limit) == ["n-2"])
        }
        #expect(try await herald.get("/v1/events?delivery=dropped").data.isEmpty)
        for query in ["delivery=delivered", "delivery=exhausted&after=now"] {
            #expect(try await herald.get("/v1/events?\(query)").errors == ["delivery"], "\(query)")
        }
    }

    @Test("attempts are found by error, status and time, page by page")
    func attempts() async throws {
        let herald = try await HeraldProcess.start()
        let count = Atomic(0)
        let receiver = try herald.receiver { _ in
            let number = count.add(1, ordering: .relaxed).newValue
            return number % 3 == 0 ? .status(204) : .status(number % 3 == 1 ? 500 : 404)
        }
        let url = receiver.url("/some")
        let body = #"{"url": "\#(url)", "retry_schedule": [], "max_in_flight": 1, "ordering": "strict"}"#
        let id = try #require(try await herald.post("/v1/delegates", body).string("id"))
        for _ in 1...3 { #expect(try await herald.post("/v1/events", #"{"type": "a"}"#).status == 202) }
        let all = try await herald.get("/v1/delegates/\(id)/attempts") { $0.data.count == 3 }
        func found(_ query: String) async throws -> [Int] {
            var codes: [Int] = []
            var cursor = ""
            repeat {
                let page = try await herald.get("/v1/delegates/\(id)/attempts?limit=1&\(query)\(cursor)")
                #expect(page.status == 200, "\(page.text)")
                codes += page.data.compactMap { $0["status_code"]?.integer.map(Int.init) }
                cursor = page.string("next_cursor").map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            return codes
        }
        let times = all.data.compactMap { $0["started_at"]?.string }
        for (query, codes) in [
            ("error=4xx", [404]), ("error=500,timeout", [500]), ("error=timeout", []), ("error=5xx,4xx", [404, 500]),
            ("since=\(times[2])", [204, 404, 500]), ("until=2020-01-01T00:00:00Z", []),
            ("since=2100-01-01T00:00:00Z", []), ("until=\(times[0])&outcome=succeeded", [204]),
        ] {
            #expect(try await found(query) == codes, "\(query)")
        }
        for (query, place) in [
            ("error=none", "error"), ("error=5xx&outcome=succeeded", "error"), ("since=x", "since"),
            ("since=\(times[0])&until=2020-01-01T00:00:00Z", "until"),
        ] {
            #expect(try await herald.get("/v1/delegates/\(id)/attempts?\(query)").errors == [place], "\(query)")
        }
    }
}
