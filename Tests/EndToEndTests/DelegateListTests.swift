import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("The list of delegates", .timeLimit(.minutes(20)))
struct DelegateListTests {
    @Test("it is searched and sorted on the server, and every delegate is on one of its pages")
    func searching() async throws {
        let herald = try await HeraldProcess.start()
        var ids: [String] = []
        for number in 0..<7 {
            let name = number == 1 ? "Billing é" : "Desk \(9 - number)"
            ids.append(
                try await herald.register(
                    "http://127.0.0.1:9/\(number)",
                    #""events": ["a.b\#(number)"], "description": "\#(name)", "metadata": {"team": "blue\#(number % 2)"}"#
                ).id)
        }
        for id in [ids[0], ids[4]] {
            #expect(try await herald.send("POST", "/v1/delegates/\(id)/pause").status == 200)
        }
        func list(_ query: String) async throws -> [String?] {
            try await herald.get("/v1/delegates?kind=webhook&" + query).data.map { $0["id"]?.string }
        }
        #expect(try await list("search=BILLING%20%C3%89") == [ids[1]], "in the description")
        #expect(try await list("search=a.b3") == [ids[3]], "in the patterns")
        #expect(try await list("search=Blue1") == [ids[5], ids[3], ids[1]], "in the metadata")
        #expect(try await list("search=127.0.0.1:9/6") == [ids[6]], "in the URL")
        #expect(try await list("search=\(ids[2])") == [ids[2]], "in the id")
        #expect(try await list("search=nowhere") == [])
        #expect(try await list("status=failing,paused") == [ids[4], ids[0]])
        #expect(try await list("sort=status") == [4, 0, 6, 5, 3, 2, 1].map { ids[$0] })
        #expect(try await list("sort=name") == [1, 6, 5, 4, 3, 2, 0].map { ids[$0] })
        for sort in ["newest", "status", "name", "lag"] {
            var found: [String?] = []
            var cursor: String?
            repeat {
                let page = try await herald.get(
                    "/v1/delegates?kind=webhook&limit=2&sort=\(sort)" + (cursor.map { "&cursor=\($0)" } ?? ""))
                found += page.data.map { $0["id"]?.string }
                cursor = page.string("next_cursor")
            } while cursor != nil && found.count < 20
            #expect(found == (try await list("sort=\(sort)")), "\(sort)")
        }
        #expect(try await herald.get("/v1/delegates?sort=color").errors == ["sort"])
        #expect(try await herald.get("/v1/delegates?search=").errors == ["search"])
        #expect(try await herald.get("/v1/delegates?status=failing,").errors == ["status"])
        for cursor in ["x", "name.x.dlg_1", "name.!.\(ids[0])", "name._w.\(ids[0])"] {
            #expect(try await herald.get("/v1/delegates?sort=name&cursor=\(cursor)").errors == ["cursor"], "\(cursor)")
        }
        let byName = try #require(try await herald.get("/v1/delegates?sort=name&limit=2").string("next_cursor"))
        for sort in ["newest", "status", "lag"] {
            #expect(try await herald.get("/v1/delegates?sort=\(sort)&cursor=\(byName)").errors == ["cursor"], "\(sort)")
        }
    }
}
