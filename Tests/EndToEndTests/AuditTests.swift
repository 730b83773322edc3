import HeraldJSON
import HeraldRuntime
import HeraldTestSupport
import Testing

@Suite("The audit log, and links for the people of an app", .timeLimit(.minutes(20)))
struct AuditTests {
    @Test("changes of delegates, keys and apps are logged with their author; refused requests are not")
    func audit() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let app = try await herald.post("/v1/apps", #"{"name": "shop"}"#).id
        let key = try await herald.makeKey("manage", in: "shop")
        let delegate = try await herald.post("/v1/delegates", #"{"url": "http://127.0.0.1:9/"}"#, key.headers).id
        #expect(try await herald.post("/v1/delegates", #"{"url": "http://127.0.0.1:9/"}"#, key.headers).status == 200)
        #expect(try await herald.post("/v1/delegates/\(delegate)/pause", "", key.headers).status == 200)
        #expect(try await herald.post("/v1/delegates/\(delegate)/pause", "", key.headers).status == 200)
        #expect(try await herald.send("DELETE", "/v1/delegates?all=true", nil, key.headers).status == 200)
        #expect(try await herald.send("DELETE", "/v1/delegates/\(delegate)", nil, key.headers).status == 404)
        #expect(try await herald.get("/v1/audit", key.headers).status == 403)
        #expect(try await herald.send("DELETE", "/v1/keys/\(key.id)", nil, ["Herald-App": "shop"]).status == 204)
        let expected = [
            "operator POST /v1/apps \(app)", "operator POST /v1/keys \(key.id)",
            "\(key.id) POST /v1/delegates \(delegate)",
            "\(key.id) POST /v1/delegates/{id}/pause \(delegate)", "\(key.id) DELETE /v1/delegates \(delegate)",
            "operator DELETE /v1/keys/{id} \(key.id)",
        ]
        func lines(_ answer: Answer) -> [String] {
            answer.data.map { entry in
                ["actor", "action", "target"].map { entry[$0]?.string ?? "" }.joined(separator: " ")
            }
        }
        let log = try await herald.get("/v1/audit")
        #expect(lines(log) == expected.reversed())
        #expect(log.data.allSatisfy { $0["address"]?.string == "127.0.0.1" && $0["app"]?.string == app })
        let page = try await herald.get("/v1/audit?limit=4")
        let cursor = try #require(page.string("next_cursor"))
        #expect(lines(try await herald.get("/v1/audit?limit=4&cursor=\(cursor)")) == Array(expected[..<2].reversed()))
        try await herald.kill()
        let next = try await HeraldProcess.start(folder: herald.folder, adminKey: MadeKey.admin.text)
        #expect(lines(try await next.get("/v1/audit")) == expected.reversed())
    }

    @Test("a link opens a session in one app, until the link or the app ends")
    func portal() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        for name in ["shop", "other"] { _ = try await herald.post("/v1/apps", #"{"name": "\#(name)"}"#) }
        let asked = Clock.system.wall()
        let link = try await herald.post("/v1/portal-links", #"{"app": "shop", "expires_in": 600}"#)
        #expect(link.status == 201)
        let noted = try #require(try await herald.get("/v1/audit").data.first)
        #expect(noted["action"]?.string == "POST /v1/portal-links" && noted["actor"]?.string == "operator")
        let end = try #require(link["expires_at"]?.timestamp).milliseconds
        #expect((asked + 600_000...Clock.system.wall() + 600_000).contains(end))
        #expect(try await herald.post("/v1/portal-links", #"{"app": "x", "expires_in": 1}"#).errors.count == 2)
        let token = try #require(link.string("url")?.split(separator: "/").last)
        let stranger = HeraldProcess.stranger(to: herald)
        let wrong = try await stranger.post("/v1/session", #"{"portal_link": "x"}"#)
        #expect(wrong.status == 401)
        let session = try await stranger.post("/v1/session", #"{"portal_link": "\#(token)"}"#)
        let cookie = try #require(session.header("set-cookie"))
        let headers = ["Cookie": String(cookie.prefix { $0 != ";" }), "Sec-Fetch-Site": "same-origin"]
        let url = #"{"url": "http://127.0.0.1:9/"}"#
        let delegate = try await stranger.post("/v1/delegates", url, headers)
        #expect(delegate.status == 201)
        #expect(try await stranger.get("/v1/session", headers).string("app") == "shop")
        #expect(
            try await herald.get("/v1/delegates", ["Herald-App": "shop"]).data.map { $0["id"]?.string } == [delegate.id]
        )
        let other = headers.merging(["Herald-App": "other"]) { $1 }
        #expect(try await stranger.get("/v1/delegates", other).status == 404)
        for path in ["/v1/keys", "/v1/apps", "/v1/audit", "/metrics"] {
            #expect(try await stranger.get(path, headers).status == 403, "\(path)")
        }
        #expect(try await stranger.post("/v1/events", #"{"type": "a"}"#, headers).status == 403)
        #expect(try await herald.get("/v1/audit").data.first?["actor"]?.string == "portal")
        let environment = ["HERALD_SERVER": herald.url, "HERALD_KEY": MadeKey.admin.text]
        func run(_ arguments: String...) async throws -> String {
            let result = try await Binary.run(arguments, environment: environment)
            #expect(result.end == .exited(0), "\(arguments): \(result.text)")
            return result.text
        }
        #expect(try await run("delegates", "list", "--app", "shop").contains(delegate.id))
        let inShop = environment.merging(["HERALD_APP": "shop"]) { $1 }
        #expect(try await Binary.run(["delegates", "list"], environment: inShop).text.contains(delegate.id))
        #expect(try await run("audit").contains("portal"))
        #expect(try await run("apps", "link", "shop").contains("127.0.0.1:\(herald.port)/?portal=app_"))
        _ = try await run("apps", "create", "third", "--max-delegates", "7")
        _ = try await run("apps", "change", "third", "--name", "fourth", "--max-delegates", "default")
        #expect(try await run("apps", "list").contains("fourth"))
        _ = try await run("apps", "delete", "fourth", "--yes")
        #expect(try await herald.send("DELETE", "/v1/apps/shop").status == 204)
        #expect(try await stranger.get("/v1/delegates", headers).status == 401)
        #expect(!herald.process.text.contains(token))
    }
}
