import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Lists", .timeLimit(.minutes(20)), .serialized)
struct PagingTests {
    /// Follows `next_cursor` to the end.
    private func allPages(_ herald: HeraldProcess, _ path: String) async throws -> [[String]] {
        var pages: [[String]] = []
        var next: String? = path
        while let address = next {
            let page = try await herald.get(address)
            #expect(page.status == 200)
            pages.append(page.data.compactMap { $0["id"]?.string })
            next = page.header("link").map { String($0.drop { $0 == "<" }.prefix { $0 != ">" }) }
            let cursor = page.string("next_cursor")
            #expect((cursor == nil) == (next == nil))
            if let cursor { #expect(page.header("link")?.contains("cursor=\(cursor)>; rel=\"next\"") == true) }
        }
        return pages
    }

    @Test("the log is listed newest first, page by page, every event once")
    func events() async throws {
        let herald = try await HeraldProcess.start()
        var ids: [String] = []
        for _ in 0..<7 { ids.append(try await herald.publish("paging.test")) }
        let pages = try await allPages(herald, "/v1/events?limit=3&type=paging.*")
        #expect(pages.map(\.count) == [3, 3, 1])
        #expect(pages.flatMap { $0 } == ids.reversed())
        #expect(try await allPages(herald, "/v1/events?limit=7").map(\.count) == [7])
    }

    @Test(
        "a list of a long log in which little matches comes in pieces, some of them empty, and has everything in the end"
    )
    func boundedWork() async throws {
        let herald = try await HeraldProcess.start()
        let rare = try await herald.publish("rare.first")
        let body = "[" + Array(repeating: #"{"type": "a.b"}"#, count: 1_000).joined(separator: ",") + "]"
        for _ in 0..<25 { #expect(try await herald.post("/v1/events", body).status == 202) }
        let last = try await herald.publish("rare.last")
        let pages = try await allPages(herald, "/v1/events?type=rare.*")
        #expect(pages.first == [last])
        #expect(pages.last == [rare])
        #expect(pages.dropFirst().dropLast().contains { $0.isEmpty })
        let all = try await Client(herald).run("events", "list", "--type", "rare.*", "--limit", "10", "--json")
        #expect(all.end == .exited(0))
        #expect(all.text.contains(rare) && all.text.contains(last))
    }

    @Test("a cursor stays valid while events are added")
    func changingLog() async throws {
        let herald = try await HeraldProcess.start()
        var ids: [String] = []
        for _ in 0..<4 { ids.append(try await herald.publish()) }
        let first = try await herald.get("/v1/events?limit=2")
        try await herald.publish()
        let cursor = try #require(first.string("next_cursor"))
        let second = try await herald.get("/v1/events?limit=2&cursor=\(cursor)")
        #expect(second.data.compactMap { $0["id"]?.string } == [ids[1], ids[0]])
        #expect(second["next_cursor"]?.isNull == true)
    }

    @Test("the log is filtered by type, subject and time")
    func eventFilters() async throws {
        let herald = try await HeraldProcess.start()
        let old = try await herald.publish("a.one", #""subject": "s:1", "time": "2020-01-01T00:00:00Z""#)
        let new = try await herald.publish("a.two", #""subject": "s:2""#)
        let other = try await herald.publish("b.one", #""subject": "s 1&2""#)
        func ids(_ query: String) async throws -> [String] {
            try await herald.get("/v1/events?" + query).data.compactMap { $0["id"]?.string }
        }
        #expect(try await ids("type=a.one") == [old])
        #expect(try await ids("type=a.*") == [new, old])
        #expect(try await ids("type=*") == [other, new, old])
        #expect(try await ids("subject=s:2") == [new])
        #expect(try await ids("subject=s+1%262") == [other])
        #expect(try await ids("until=2020-01-01T00:00:00Z") == [old])
        #expect(try await ids("since=2020-01-01T00:00:00.001Z") == [other, new])
        #expect(try await ids("since=2019-12-31T23:00:00-01:00&until=2020-01-01T00:00:00Z") == [old])
    }

    @Test("delegates of both kinds are listed page by page, every one once")
    func delegates() async throws {
        let herald = try await HeraldProcess.start()
        var ids: [String] = []
        for number in 0..<5 { ids.append(try await herald.register("http://127.0.0.1:9/\(number)").id) }
        let webhooks = try await allPages(herald, "/v1/delegates?kind=webhook&limit=2")
        #expect(webhooks.map(\.count) == [2, 2, 1])
        #expect(webhooks.flatMap { $0 } == ids.reversed())
        let inMemory = try await herald.get("/v1/delegates?kind=in_memory").data
        #expect(!inMemory.isEmpty)
        #expect(
            inMemory.allSatisfy { $0["kind"]?.string == "in_memory" && $0["description"]?.string?.isEmpty == false })
        let all = try await allPages(herald, "/v1/delegates?limit=3").flatMap { $0 }
        #expect(all.count == ids.count + inMemory.count)
        #expect(Set(all).count == all.count)
    }
}
