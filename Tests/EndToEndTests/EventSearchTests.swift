import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Searching the log", .timeLimit(.minutes(5)))
struct EventSearchTests {
    @Test("events are found by several types, by the beginning of their id, and by their content, page by page")
    func conditions() async throws {
        let herald = try await HeraldProcess.start()
        for number in 1...6 {
            let type = ["a.b", "a.c", "d.e"][number % 3]
            let body = #"{"type": "\#(type)", "id": "n-\#(number)", "data": {"amount": \#(number * 100)}}"#
            #expect(try await herald.post("/v1/events", body).status == 202)
        }
        func found(_ query: String, limit: Int) async throws -> [String] {
            var ids: [String] = []
            var cursor = ""
            repeat {
                let page = try await herald.get("/v1/events?\(query)&limit=\(limit)\(cursor)")
                #expect(page.status == 200, "\(page.text)")
                ids += page.data.compactMap { $0["id"]?.string }
                cursor = page.string("next_cursor").map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            return ids
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
            server: "http://127.0.0.1:\(herald.port)")
        #expect(listed.lines.count == 1 && listed.text.contains(#""n-6""#), "\(listed.text)")
    }
}
