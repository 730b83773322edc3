import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Sessions and links outlive a restart, and end with what they come from", .timeLimit(.minutes(20)))
struct PassTests {
    private static let page = ["Sec-Fetch-Site": "same-origin"]

    /// Signs in.
    /// - Returns: the headers of the session.
    private func signIn(_ herald: HeraldProcess, _ body: String) async throws -> [String: String] {
        let answer = try await HeraldProcess.stranger(to: herald).post("/v1/session", body, Self.page)
        #expect(answer.status == 204, "\(answer.text)")
        let cookie = try #require(answer.header("set-cookie"))
        return Self.page.merging(["Cookie": String(cookie.prefix { $0 != ";" })]) { $1 }
    }

    private func token(_ herald: HeraldProcess, _ app: String, _ headers: [String: String] = [:]) async throws -> String
    {
        let link = try await herald.post("/v1/portal-links", #"{"app": "\#(app)"}"#, headers)
        return String(try #require(link.string("url")?.split(separator: "/").last))
    }

    private func status(_ herald: HeraldProcess, _ headers: [String: String]) async throws -> Int {
        try await HeraldProcess.stranger(to: herald).get("/v1/events", headers).status
    }

    @Test("after a kill, a session and a link are still valid; signing out and revoking the key end them")
    func restart() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        _ = try await herald.post("/v1/apps", #"{"name": "shop"}"#)
        let key = try await herald.makeKey("read")
        let admin = try await herald.makeKey("admin")
        let kept = try await signIn(herald, #"{"key": "\#(key.text)"}"#)
        let left = try await signIn(herald, #"{"key": "\#(key.text)"}"#)
        let operators = try await signIn(herald, #"{"key": "\#(MadeKey.admin.text)"}"#)
        let link = try await token(herald, "shop")
        let linkOfKey = try await token(herald, "shop", admin.headers)
        let visitor = try await signIn(herald, #"{"portal_link": "\#(link)"}"#)
        let visitorOfKey = try await signIn(herald, #"{"portal_link": "\#(linkOfKey)"}"#)
        #expect(try await herald.send("DELETE", "/v1/session", nil, left).status == 204)
        #expect(try await status(herald, left) == 401)
        try await herald.kill()
        let second = try await HeraldProcess.start(folder: herald.folder, adminKey: MadeKey.admin.text)
        for headers in [kept, operators, visitor, visitorOfKey] { #expect(try await status(second, headers) == 200) }
        #expect(try await status(second, left) == 401)
        _ = try await signIn(second, #"{"portal_link": "\#(link)"}"#)

        #expect(try await second.send("DELETE", "/v1/keys/\(key.id)").status == 204)
        #expect(try await second.send("DELETE", "/v1/keys/\(admin.id)").status == 204)
        for headers in [kept, visitorOfKey] { #expect(try await status(second, headers) == 401) }
        let late = try await HeraldProcess.stranger(to: second).post(
            "/v1/session", #"{"portal_link": "\#(linkOfKey)"}"#)
        #expect(late.status == 401)
        #expect(try await status(second, visitor) == 200)
        try await second.stop()
        // Another admin key: what came from the old one has ended.
        let third = try await HeraldProcess.start(folder: herald.folder, adminKey: "another-admin-of-these-tests")
        for headers in [kept, visitorOfKey, operators, visitor] { #expect(try await status(third, headers) == 401) }
    }

    @Test("signing out ends a session's streams, and revoking a key those of its links")
    func streams() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let admin = try await herald.makeKey("admin")
        let link = try await token(herald, "default", admin.headers)
        let port = herald.port
        var streams: [Box] = []
        let (own, visitor) = (
            try await signIn(herald, #"{"key": "\#(admin.text)"}"#),
            try await signIn(herald, #"{"portal_link": "\#(link)"}"#)
        )
        for headers in [own, visitor, admin.headers] {
            let stream = try await RawHTTP.onThread { Box(try StreamClient(port: port, headers: headers)) }
            #expect(try await RawHTTP.onThread { try stream.value.next() }?.name == "ready")
            streams.append(stream)
        }
        let (first, second, third) = (streams[0], streams[1], streams[2])
        #expect(try await herald.send("DELETE", "/v1/session", nil, own).status == 204)
        #expect(try await RawHTTP.onThread { try first.value.next() } == nil)
        let event = try await herald.post("/v1/events", #"{"type": "order.paid"}"#).id
        for stream in [second, third] {
            #expect(try await RawHTTP.onThread { try stream.value.next() }?.id == event)
        }
        #expect(try await herald.send("DELETE", "/v1/keys/\(admin.id)").status == 204)
        for stream in [second, third] { #expect(try await RawHTTP.onThread { try stream.value.next() } == nil) }
    }

    @Test("an app is deleted with its links and their sessions, and a link counts towards its key")
    func ends() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        _ = try await herald.post("/v1/apps", #"{"name": "shop"}"#)
        let limited = try MadeKey(
            try await herald.post("/v1/keys", #"{"scopes": ["admin"], "requests_per_second": 3}"#))
        let link = try await token(herald, "shop", limited.headers)
        let visitor = try await signIn(herald, #"{"portal_link": "\#(link)"}"#)
        let port = herald.port
        let refused: RawHTTPResponse = try await eventually("the link has used up its key's requests") {
            for _ in 0..<8 {
                let client = try RawHTTPClient(port: port)
                let fields = visitor.map { "\($0): \($1)\r\n" }.joined()
                client.send("GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\(fields)\r\n")
                if let answer = try client.readResponse(), answer.status == 429 { return answer }
            }
            return nil
        }
        #expect(Answer(refused).problem == "too-many-requests")
        #expect(try await herald.send("DELETE", "/v1/apps/shop").status == 204)
        #expect(try await status(herald, visitor) == 401)
    }

    @Test("the audit log contains event types, deliveries, erasures and test calls, and not the erased subject")
    func audit() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let key = try await herald.makeKey("publish\", \"manage")
        let delegate = try await herald.post(
            "/v1/delegates", #"{"url": "http://127.0.0.1:1/", "retry_schedule": [600]}"#, key.headers
        ).id
        let event = try await herald.post("/v1/events", #"{"type": "a.b", "subject": "Zerberus"}"#, key.headers).id
        _ = try await herald.deliveries(of: event, "retrying")
        #expect(
            try await herald.send("PUT", "/v1/event-types/a.b", #"{"description": "x"}"#, key.headers).status == 201)
        #expect(try await herald.send("DELETE", "/v1/event-types/a.b", nil, key.headers).status == 204)
        #expect(try await herald.send("DELETE", "/v1/event-types/a.b", nil, key.headers).status == 404)
        #expect(try await herald.post("/v1/delegates/\(delegate)/test", "", key.headers).status == 200)
        let replay = #"{"from": "\#(event)"}"#
        #expect(try await herald.post("/v1/delegates/\(delegate)/replay", replay, key.headers).status == 202)
        #expect(try await herald.post("/v1/events/\(event)/redeliver", "", key.headers).status == 202)
        #expect(try await herald.post("/v1/deliveries/cancel?delegate=\(delegate)", "", key.headers).status == 200)
        // An attempt that was open when its delivery was cancelled may set the row to "retrying" for a moment. Requests that
        // change nothing are not in the audit log.
        var dropped: Answer
        repeat {
            dropped = try await herald.post("/v1/deliveries/redeliver?state=dropped", "", key.headers)
        } while dropped["deliveries"]?.integer == 0
        #expect(dropped.status == 200)
        #expect(try await herald.post("/v1/deliveries/redeliver?state=exhausted", "", key.headers).status == 200)
        #expect(try await herald.send("DELETE", "/v1/subjects/Zerberus", nil, key.headers).status == 200)
        let log = try await herald.get("/v1/audit")
        let lines = log.data.filter { $0["actor"]?.string == key.id }.reversed().dropFirst().map { entry in
            (entry["action"]?.string ?? "") + " " + (entry["target"]?.string ?? "-")
        }
        #expect(
            Array(lines) == [
                "PUT /v1/event-types/{type} a.b", "DELETE /v1/event-types/{type} a.b",
                "POST /v1/delegates/{id}/test \(delegate)", "POST /v1/delegates/{id}/replay \(delegate)",
                "POST /v1/events/{id}/redeliver \(event)", "POST /v1/deliveries/cancel \(delegate)",
                "POST /v1/deliveries/redeliver -", "DELETE /v1/subjects/{subject} -",
            ])
        #expect(!log.text.contains("Zerberus"))
    }
}
