import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Stream tokens", .timeLimit(.minutes(20)))
struct StreamTokenTests {
    /// A server with a key of an app that has an event, and a client without a key.
    private struct Scene {
        let herald: HeraldProcess
        let stranger: HeraldProcess
        let key: MadeKey

        init(_ arguments: [String] = []) async throws {
            herald = try await HeraldProcess.start(arguments, adminKey: MadeKey.admin.text)
            stranger = HeraldProcess.stranger(to: herald)
            _ = try await herald.post("/v1/apps", #"{"name": "shop"}"#)
            key = try await herald.makeKey(#"read", "publish"#, in: "shop")
        }

        func url(_ body: String) async throws -> String {
            let answer = try await stranger.post("/v1/stream-tokens", body, key.headers)
            #expect(answer.status == 201, "\(answer.text)")
            return try #require(answer.string("url"))
        }

        /// The status of a request without a key that reads the header section only.
        func status(_ url: String, _ headers: [String: String] = [:]) async throws -> Int {
            try await stranger.send("HEAD", url, nil, headers).status
        }
    }

    @Test("a URL streams the events of its app that match its filter, and resumes, without a key")
    func events() async throws {
        let scene = try await Scene()
        let url = try await scene.url(#"{"events": "order.*", "subjects": "user:42,user:7"}"#)
        #expect(url.hasPrefix("/v1/events/stream?events=order."))
        for (type, subject, key) in [
            ("order.paid", "user:42", scene.key.headers), ("order.paid", "user:1", scene.key.headers),
            ("user.created", "user:42", scene.key.headers), ("order.sent", "user:7", MadeKey.admin.headers),
            ("order.sent", "user:7", scene.key.headers),
        ] {
            let event = #"{"type": "\#(type)", "subject": "\#(subject)"}"#
            #expect(try await scene.stranger.post("/v1/events", event, key).status == 202)
        }
        let port = scene.herald.port
        let types = try await RawHTTP.onThread {
            let client = try StreamClient(port: port, "&last_event_id=earliest", path: url)
            var types: [String] = []
            while types.count < 2, let message = try client.next() {
                if message.name == nil { types.append(message.json?["type"]?.string ?? "") }
            }
            return types
        }
        #expect(types == ["order.paid", "order.sent"])
    }

    @Test("a token is valid for its path and its filter only, and is no key")
    func bounds() async throws {
        let scene = try await Scene()
        let url = try await scene.url(#"{"events": "order.*"}"#)
        let token = try #require(url.split(separator: "token=").last)
        #expect(try await scene.status(url) == 200)
        #expect(try await scene.status(url + "&last_event_id=now") == 200)
        let first = try #require(token.first)
        let forged = (first == "A" ? "B" : "A") + token.dropFirst()
        let query = url.drop { $0 != "?" }
        for other in [
            "/v1/events/stream?token=\(token)", "/v1/events/stream?events=%2A&token=\(token)", url + "&subjects=user:1",
            url + "&events=%2A", "/v1/attempts/stream\(query)", "/v1/attempts/stream?token=\(token)",
            "/v1/events/stream?events=order.%2A&token=\(forged)", "/v1/events/stream?events=order.%2A&token=",
            url + "&token=\(token)", "/v1/events/stream?events=order.%2A&token=.", url + "x", url + ".x",
            "/v1/events/stream?events=order.%2A&%74oken=\(token)",
        ] {
            #expect(try await scene.status(other) == 401, "\(other)")
        }
        let bearer = ["Authorization": "Bearer \(token)"]
        for path in ["/v1/events", "/v1/events/stream", "/v1/delegates"] {
            #expect(try await scene.status(path, bearer) == 401, "\(path)")
            #expect(try await scene.status("\(path)?token=\(token)") == 401, "\(path)")
            #expect(try await scene.status(path, ["Cookie": "herald_session=\(token)"]) == 401, "\(path)")
        }
        #expect(try await scene.stranger.post("/v1/events?token=\(token)", #"{"type": "a"}"#).status == 401)
        let session = #"{"portal_link": "\#(token)"}"#
        #expect(try await scene.stranger.post("/v1/session", session).status == 401)
        // A key in the header does not repair a wrong token.
        #expect(try await scene.status("/v1/events/stream?token=\(token)", scene.key.headers) == 401)
        #expect(!scene.herald.process.text.contains(token))
    }

    @Test("a token ends with its key, and so does its open stream")
    func revoked() async throws {
        let scene = try await Scene()
        let url = try await scene.url("{}")
        let port = scene.herald.port
        let client = try await RawHTTP.onThread { Box(try StreamClient(port: port, path: url)) }
        let ready = try await RawHTTP.onThread { try client.value.next() }
        #expect(ready?.name == "ready")
        #expect(try await scene.herald.send("DELETE", "/v1/keys/\(scene.key.id)").status == 204)
        let last = try await RawHTTP.onThread { try client.value.next() }
        #expect(last == nil)
        #expect(try await scene.status(url) == 401)
    }

    @Test("a token of a session ends when the session is signed out")
    func signedOut() async throws {
        let scene = try await Scene()
        let fields = ["Sec-Fetch-Site": "same-origin"]
        let session = try await scene.stranger.post("/v1/session", #"{"key": "\#(scene.key.text)"}"#, fields)
        let cookie = try #require(session.header("set-cookie")).prefix { $0 != ";" }
        let own = fields.merging(["Cookie": String(cookie)]) { $1 }
        let url = try #require(try await scene.stranger.post("/v1/stream-tokens", "{}", own).string("url"))
        #expect(try await scene.status(url) == 200)
        #expect(try await scene.stranger.send("DELETE", "/v1/session", nil, own).status == 204)
        #expect(try await scene.status(url) == 401)
    }

    @Test("a token of a server without keys is for its app, and ends when there is a key")
    func anonymous() async throws {
        let herald = try await HeraldProcess.start()
        let answer = try await herald.post("/v1/stream-tokens", "")
        let url = try #require(answer.string("url"), "\(answer.text)")
        #expect(try await herald.send("HEAD", url).status == 200)
        _ = try await herald.makeKey("admin")
        #expect(try await herald.send("HEAD", url).status == 401)
    }

    @Test("another server on the same database accepts the token")
    func nodes() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        defer { try? PostgresServer.shared().drop(url) }
        let command = ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url]
        let first = try await HeraldProcess.start(command: command, adminKey: MadeKey.admin.text)
        let second = try await HeraldProcess.start(command: command, adminKey: MadeKey.admin.text)
        let key = try await first.makeKey("read", in: "default")
        let token = try await first.post("/v1/stream-tokens", "{}", key.headers)
        let target = try #require(token.string("url"), "\(token.text)")
        #expect(try await HeraldProcess.stranger(to: second).send("HEAD", target).status == 200)
    }

    @Test("a token survives a restart, and counts towards the limit of its key")
    func limits() async throws {
        let scene = try await Scene(["--requests-per-second", "1"])
        let url = try await scene.url("{}")
        var statuses: Set<Int> = []
        for _ in 0..<100 where !statuses.contains(429) { statuses.insert(try await scene.status(url)) }
        #expect(statuses.contains(429))
        try await scene.herald.stop()
        let again = try await HeraldProcess.start(folder: scene.herald.folder, adminKey: MadeKey.admin.text)
        #expect(try await HeraldProcess.stranger(to: again).send("HEAD", url).status == 200)
    }

    @Test("a filter that the stream would refuse is refused, with the member of the body")
    func refused() async throws {
        let herald = try await HeraldProcess.start()
        for (body, pointer) in [
            (#"{"events": "a b"}"#, "/events"), (#"{"events": 1}"#, "/events"), (#"{"events": ""}"#, "/events"),
            (#"{"stream": "logs"}"#, "/stream"), (#"{"expires_in": 9}"#, "/expires_in"),
            (#"{"expires_in": 3601}"#, "/expires_in"), (#"{"delegate": "a"}"#, "/delegate"),
            (#"{"stream": "attempts", "events": "a"}"#, "/events"),
            (#"{"stream": "attempts", "outcome": "a"}"#, "/outcome"),
            (#"{"token": "a"}"#, "/token"), (#"{"subjects": ""# + String(repeating: "a,", count: 4_000) + #""}"#, ""),
        ] as [(String, String)] {
            let answer = try await herald.post("/v1/stream-tokens", body)
            #expect(answer.status == 422, "\(answer.text)")
            #expect(answer["errors"]?.elements.contains { $0["pointer"]?.string == pointer } == true, "\(answer.text)")
        }
    }
}
