import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Sessions of the dashboard", .timeLimit(.minutes(20)))
struct SessionTests {
    private let sameOrigin = ["Sec-Fetch-Site": "same-origin"]

    private func signIn(_ herald: HeraldProcess, _ key: MadeKey) async throws -> [String: String] {
        let answer = try await herald.post("/v1/session", #"{"key": "\#(key.text)"}"#, sameOrigin)
        #expect(answer.status == 204)
        let cookie = try #require(answer.header("set-cookie"))
        #expect(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict") && cookie.contains("Path=/"))
        #expect(!cookie.contains(key.text))
        return ["Cookie": String(cookie.prefix { $0 != ";" })]
    }

    @Test("a key opens a session with the same rights, until it is closed or the key is revoked")
    func session() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin")
        let reader = try await herald.makeKey("read", by: admin)
        #expect(try await herald.post("/v1/session", #"{"key": "hrld_x"}"#, sameOrigin).status == 401)
        let cookie = try await signIn(herald, reader)
        let own = cookie.merging(sameOrigin) { $1 }
        #expect(try await herald.get("/v1/events", own).status == 200)
        #expect(try await herald.post("/v1/events", #"{"type": "a"}"#, own).status == 403)
        let session = try await herald.get("/v1/session", own)
        #expect(session["signed_in"]?.bool == true)
        #expect(session["scopes"]?.elements.compactMap(\.string) == ["read"])

        let other = try await signIn(herald, reader).merging(sameOrigin) { $1 }
        let closed = try await herald.send("DELETE", "/v1/session", nil, own)
        #expect(closed.status == 204 && closed.header("set-cookie")?.contains("Max-Age=0") == true)
        #expect(try await herald.get("/v1/events", own).status == 401)
        #expect(try await herald.get("/v1/events", other).status == 200)
        #expect(try await herald.send("DELETE", "/v1/keys/\(reader.id)", nil, admin.headers).status == 204)
        #expect(try await herald.get("/v1/events", other).status == 401)
    }

    @Test("of several session cookies the valid one counts, and signing out ends all of them")
    func several() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin")
        let valid = try #require(try await signIn(herald, admin)["Cookie"])
        for cookies in [
            "herald_session=stale; \(valid)", "\(valid); herald_session=stale", "a=b; herald_session=; \(valid)",
        ] {
            let answer = try await herald.get("/v1/events", sameOrigin.merging(["Cookie": cookies]) { $1 })
            #expect(answer.status == 200, "\(cookies)")
        }
        let own = sameOrigin.merging(["Cookie": "herald_session=stale; \(valid)"]) { $1 }
        #expect(try await herald.send("DELETE", "/v1/session", nil, own).status == 204)
        #expect(try await herald.get("/v1/events", sameOrigin.merging(["Cookie": valid]) { $1 }).status == 401)
    }

    @Test("a session is valid for the pages of this server only")
    func origin() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin")
        let cookie = try await signIn(herald, admin)
        let own = herald.url
        let event = #"{"type": "order.paid"}"#
        let cases: [(headers: [String: String], get: Int, post: Int)] = [
            (["Sec-Fetch-Site": "same-origin"], 200, 202), (["Origin": own], 200, 202),
            (["Sec-Fetch-Site": "same-site"], 401, 403), (["Sec-Fetch-Site": "cross-site"], 401, 403),
            (["Sec-Fetch-Site": "cross-site", "Origin": own], 401, 403),
            (["Origin": "http://127.0.0.1:1"], 401, 403), (["Origin": "null"], 401, 403),
            (["Origin": "https://evil.example"], 401, 403),
            // The person, and not the dashboard.
            (["Sec-Fetch-Site": "none"], 401, 401),
            // No browser: what changes something needs to be known to come from here.
            ([:], 200, 401),
        ]
        for each in cases {
            let headers = cookie.merging(each.headers) { $1 }
            #expect(try await herald.get("/v1/events", headers).status == each.get, "\(each.headers)")
            #expect(try await herald.post("/v1/events", event, headers).status == each.post, "\(each.headers)")
        }
        // A wrong key is not made good by a session.
        let both = cookie.merging(["Sec-Fetch-Site": "same-origin", "Authorization": "Bearer hrld_x"]) { $1 }
        #expect(try await herald.get("/v1/events", both).status == 401)
        let foreign = try await herald.post(
            "/v1/session", #"{"key": "\#(admin.text)"}"#, ["Origin": "https://evil.example"])
        #expect(foreign.status == 403 && foreign.problem == "foreign-origin")
        let secure = try await herald.post(
            "/v1/session", #"{"key": "\#(admin.text)"}"#,
            ["Origin": "https://127.0.0.1:\(herald.port)", "Sec-Fetch-Site": "same-origin"])
        #expect(secure.header("set-cookie")?.hasSuffix("; Secure") == true)
    }
}
