import Glibc
import HeraldJSON
import HeraldRuntime
import HeraldTestSupport
import Testing

@Suite("Access keys", .timeLimit(.minutes(20)))
struct KeyTests {
    @Test("without any key none is required; the first one has all scopes, and from then on every request needs one")
    func first() async throws {
        let herald = try await HeraldProcess.start()
        #expect(try await herald.get("/v1/session")["key_required"]?.bool == false)
        let publisher = try await herald.post("/v1/keys", #"{"name": "The shop", "scopes": ["publish"]}"#)
        #expect(publisher.status == 409 && publisher.problem == "last-admin-key")
        #expect(try await herald.get("/v1/delegates").status == 200)

        let admin = try await herald.makeKey("admin")
        let refused = try await herald.get("/v1/delegates")
        #expect(refused.status == 401 && refused.problem == "unauthorized")
        #expect(refused.header("www-authenticate") == "Bearer")
        #expect(try await herald.get("/v1/delegates", admin.headers).status == 200)
        for path in [
            "/", "/healthz", "/readyz", "/openapi.json", "/docs", "/llms.txt", "/dashboard/app.js",
            "/.well-known/jwks.json",
        ] {
            #expect(try await herald.get(path).status == 200, "\(path)")
        }
        #expect(try await herald.get("/metrics").status == 401)
        #expect(try await herald.get("/v1/session")["key_required"]?.bool == true)
        try await herald.stop()
        #expect(try await herald.restart().get("/v1/delegates").status == 401)
    }

    @Test("a key allows what its scopes include; a refusal names the missing scope")
    func scopes() async throws {
        let herald = try await HeraldProcess.start(["--allow-networks", HeraldProcess.loopback])
        let admin = try await herald.makeKey("admin")
        let event = #"{"type": "order.paid"}"#
        let url = #"{"url": "http://127.0.0.1:9/"}"#
        let requests: [(method: String, path: String, body: String?, scope: String)] = [
            ("POST", "/v1/events", event, "publish"), ("PUT", "/v1/app-state", #"{"state": "idle"}"#, "publish"),
            ("GET", "/v1/events", nil, "read"), ("GET", "/metrics", nil, "read"),
            ("POST", "/v1/events?dry_run=true", event, "publish read"),
            ("POST", "/v1/delegates", url, "manage"), ("DELETE", "/v1/delegates?all=true", nil, "manage"),
            ("GET", "/v1/keys", nil, "admin"), ("POST", "/v1/keys", #"{"scopes": ["read"]}"#, "admin"),
        ]
        let included = ["manage": ["manage", "read"], "admin": ["publish", "read", "manage", "admin"]]
        for given in [["publish"], ["read"], ["manage"], ["publish", "read"], ["admin"]] {
            let key = try await herald.makeKey(given.joined(separator: "\", \""), by: admin)
            let allowed = Set(given.flatMap { included[$0] ?? [$0] })
            for request in requests {
                let needed = request.scope.split(separator: " ").map(String.init)
                let answer = try await herald.send(request.method, request.path, request.body, key.headers)
                let place: Comment = "\(request.method) \(request.path) with \(given): \(answer.text)"
                if allowed.isSuperset(of: needed) {
                    #expect((200..<300).contains(answer.status), place)
                } else {
                    #expect(answer.status == 403 && answer.problem == "forbidden", place)
                    let missing = needed.first { !allowed.contains($0) } ?? ""
                    #expect(answer.string("detail")?.contains("the scope \(missing)") == true, place)
                }
            }
        }
    }

    @Test("the rate limit of a key includes its sessions; other keys are not affected")
    func rate() async throws {
        let herald = try await HeraldProcess.start(["--requests-per-second", "10000"], adminKey: MadeKey.admin.text)
        let slow = try MadeKey(
            try await herald.post("/v1/keys", #"{"scopes": ["publish", "read"], "requests_per_second": 2}"#))
        let quick = try await herald.makeKey("publish")
        #expect(try await herald.get("/v1/keys/\(slow.id)").integer("requests_per_second") == 2)
        #expect(try await herald.get("/v1/keys/\(quick.id)")["requests_per_second"]?.isNull == true)
        let page = ["Sec-Fetch-Site": "same-origin"]
        let stranger = HeraldProcess.stranger(to: herald)
        let session = try await stranger.post("/v1/session", #"{"key": "\#(slow.text)"}"#, page)
        let cookie = try #require(session.header("set-cookie"))
        let headers = page.merging(["Cookie": String(cookie.prefix { $0 != ";" })]) { $1 }
        // One of the key's, one of its session's, until there are none left: however slow this machine is, sooner or later.
        let refused: [Answer] = try await eventually("the key is told to wait") {
            let answers = try (0..<8).map { number in
                let client = try RawHTTPClient(port: herald.port)
                let fields = number % 2 == 0 ? slow.headers : headers
                client.send(
                    "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                        + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n")
                return try client.readResponse().map(Answer.init)
            }
            let refused = answers.compactMap(\.self).filter { $0.status == 429 }
            return refused.count >= 2 ? refused : nil
        }
        for answer in refused {
            #expect(answer.problem == "too-many-requests" && answer.header("retry-after") == "1")
            #expect(answer.string("detail")?.contains("2 requests per second") == true)
        }
        for _ in 0..<5 { #expect(try await herald.post("/v1/events", #"{"type": "a"}"#, quick.headers).status == 202) }
        #expect(try await herald.post("/v1/keys", #"{"scopes": ["read"], "requests_per_second": 0}"#).errors.count == 1)
        _ = try await herald.get("/v1/events", slow.headers) { $0.status == 200 }
    }

    @Test("missing, unknown, mistyped, revoked and expired keys get the same response")
    func refusals() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin")
        let revoked = try await herald.makeKey("read", by: admin)
        #expect(try await herald.get("/v1/events", revoked.headers).status == 200)
        #expect(try await herald.send("DELETE", "/v1/keys/\(revoked.id)", nil, admin.headers).status == 204)
        let other = String(admin.text.dropLast()) + (admin.text.hasSuffix("Z") ? "Y" : "Z")
        var answers: [Answer] = []
        for value in [
            nil, "Bearer hrld_", "Bearer \(admin.text)x", "Bearer \(other)", "Bearer \(revoked.text)",
            "Bearer \(String(repeating: "x", count: 5000))",
        ] {
            answers.append(try await herald.get("/v1/events", value.map { ["Authorization": $0] } ?? [:]))
        }
        #expect(answers[0].status == 401)
        #expect(answers[0].header("www-authenticate") == "Bearer")
        // A missing key is another mistake than a wrong one. Of wrong ones nothing says why.
        #expect(answers[0].string("detail") != answers[1].string("detail"))
        for answer in answers.dropFirst() {
            #expect(answer.status == 401)
            #expect(answer.string("detail") == answers[1].string("detail"))
            #expect(answer.header("www-authenticate") == "Bearer error=\"invalid_token\"")
        }
        for value in ["", "Bearer", "Bearer ", "Basic \(admin.text)", admin.text] {
            let answer = try await herald.get("/v1/events", ["Authorization": value])
            #expect(answer.status == 401 && answer.problem == "unauthorized")
            #expect(answer.string("detail")?.contains("Authorization: Bearer hrld_…") == true, "\(answer.text)")
            #expect(answer.header("www-authenticate") == "Bearer")
        }
        #expect(try await herald.get("/v1/events", ["Authorization": "bEARER \(admin.text)"]).status == 200)
        // The server does not wait for a body that it will not read. (Whether another process has made the key is asked with the body.)
        guard TestStore.isFolder else { return }
        let early = try await herald.sendRaw(
            "POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        )
        #expect(early.status == 401 && early.header("connection") == "close")
    }

    @Test("a key that is revoked between the headers and the body of a request does nothing")
    func revokedMeanwhile() async throws {
        let herald = try await HeraldProcess.start()
        let (open, admin) = try await post(to: herald) { try await herald.makeKey("admin") }
        #expect(open == 401, "no key was needed when it began")
        let key = try await herald.makeKey("publish", by: admin)
        let (good, _) = try await post(to: herald, key) {}
        #expect(good == 202)
        let (late, revoked) = try await post(to: herald, key) {
            try await herald.send("DELETE", "/v1/keys/\(key.id)", nil, admin.headers).status
        }
        #expect(revoked == 204 && late == 401)
        #expect(try await herald.get("/v1/events?type=test.late", admin.headers).data.count == 1)
    }

    /// Posts an event whose body follows when something else was done.
    private func post<Value: Sendable>(
        to herald: HeraldProcess, _ key: MadeKey? = nil, after body: () async throws -> Value
    ) async throws -> (status: Int?, Value) {
        let (isJudged, mayEnd) = (Flag(), Flag())
        let credentials = key.map { "Authorization: Bearer \($0.text)\r\n" } ?? ""
        async let status = RawHTTP.onThread { [port = herald.port] in
            let event = #"{"type": "test.late"}"#
            let client = try RawHTTPClient(port: port)
            // `Expect` makes the server say when it has judged the head.
            client.send(
                "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\(credentials)"
                    + "Expect: 100-continue\r\nContent-Length: \(event.utf8.count)\r\n\r\n")
            #expect(try client.read(until: "\r\n\r\n")?.contains("100") == true)
            isJudged.set()
            try blockUntil("what comes before the body is done") { mayEnd.isSet }
            client.send(event)
            return try client.readResponse()?.status
        }
        defer { mayEnd.set() }
        try await eventually("the head is judged") { isJudged.isSet }
        let value = try await body()
        mayEnd.set()
        return (try await status, value)
    }

    @Test("a stream ends when its key is revoked, and others continue")
    func streams() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin")
        let reader = try await herald.makeKey("read", by: admin)
        let port = herald.port
        let ended = try await RawHTTP.onThread { Box(try StreamClient(port: port, key: reader.text)) }
        let other = try await RawHTTP.onThread { Box(try StreamClient(port: port, key: admin.text)) }
        for each in [ended, other] { #expect(try await RawHTTP.onThread { try each.value.next() }?.name == "ready") }
        #expect(try await herald.send("DELETE", "/v1/keys/\(reader.id)", nil, admin.headers).status == 204)
        #expect(try await RawHTTP.onThread { try ended.value.next() } == nil)
        let event = try await herald.post("/v1/events", #"{"type": "order.paid"}"#, admin.headers).id
        #expect(try await RawHTTP.onThread { try other.value.next() }?.id == event)
    }

    @Test("a key expires at its time")
    func expiry() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin")
        let past = try await herald.post(
            "/v1/keys", #"{"scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"}"#, admin.headers)
        #expect(past.status == 422 && past.errors == ["/expires_at"])
        var distance: Int64 = 350
        var soon: Timestamp
        var answer: Answer
        // It has to be ahead when the server reads it.
        repeat {
            distance *= 2
            soon = Timestamp(milliseconds: Clock.system.wall() + distance)
            answer = try await herald.post(
                "/v1/keys", #"{"scopes": ["read"], "expires_at": "\#(soon)"}"#, admin.headers)
        } while answer.status == 422 && distance < 100_000
        let key = try MadeKey(answer)
        #expect(answer.string("expires_at") == "\(soon)")
        let _: Bool = try await eventually("the key has ended") {
            let client = try RawHTTPClient(port: herald.port)
            client.send("GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(key.text)\r\n\r\n")
            return try client.readResponse()?.status == 401 ? true : nil
        }
        #expect(Clock.system.wall() >= soon.milliseconds)
    }

    @Test("a key is replaced by another while the old one stays valid; the last admin key can't be removed")
    func rotation() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin")
        let last = try await herald.send("DELETE", "/v1/keys/\(admin.id)", nil, admin.headers)
        #expect(last.status == 409 && last.problem == "last-admin-key")

        let new = try await MadeKey(herald.post("/v1/keys/\(admin.id)/rotate", "{}", admin.headers))
        #expect(new.id != admin.id)
        #expect(try await herald.get("/v1/keys", admin.headers).status == 200)
        let old = try await herald.get("/v1/keys/\(admin.id)", new.headers)
        #expect(old["expires_at"]?.timestamp.map { $0.milliseconds > Clock.system.wall() + 80_000_000 } == true)
        #expect(try await herald.get("/v1/keys/\(new.id)", new.headers)["expires_at"]?.isNull == true)

        let newest = try await MadeKey(
            herald.post("/v1/keys/\(new.id)/rotate", #"{"overlap_seconds": 0}"#, new.headers))
        #expect(try await herald.get("/v1/keys", new.headers).status == 401)
        let list = try await herald.get("/v1/keys", newest.headers)
        #expect(list.data.compactMap { $0["id"]?.string } == [newest.id, new.id, admin.id])
        #expect(list.data.allSatisfy { $0["name"]?.string == "A key" && $0["key"] == nil })
        #expect(try await herald.post("/v1/keys/key_unknown/rotate", "{}", newest.headers).status == 404)
    }

    @Test("keys of other apps are read, replaced and revoked by id")
    func othersKeys() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin")
        #expect(try await herald.post("/v1/apps", #"{"name": "shop"}"#, admin.headers).status == 201)
        let made = try await herald.post("/v1/keys", #"{"app": "shop", "scopes": ["read"]}"#, admin.headers)
        let key = try MadeKey(made)
        let shown = try await herald.get("/v1/keys/\(key.id)", admin.headers)
        #expect(shown.status == 200 && shown.string("app") == made.string("app"))
        let new = try await MadeKey(
            herald.post("/v1/keys/\(key.id)/rotate", #"{"overlap_seconds": 600}"#, admin.headers))
        #expect(try await herald.get("/v1/keys/\(new.id)", admin.headers).string("app") == made.string("app"))
        for each in [key, new] {
            #expect(try await herald.get("/v1/events", each.headers).status == 200)
            #expect(try await herald.send("DELETE", "/v1/keys/\(each.id)", nil, admin.headers).status == 204)
            #expect(try await herald.get("/v1/events", each.headers).status == 401)
            #expect(try await herald.send("DELETE", "/v1/keys/\(each.id)", nil, admin.headers).status == 404)
        }
        // The other way round, too: what is named is the key.
        let reader = try await herald.makeKey("read", by: admin)
        let inShop = admin.headers.merging(["Herald-App": "shop"]) { $1 }
        #expect(try await herald.send("DELETE", "/v1/keys/\(reader.id)", nil, inShop).status == 204)
        #expect(try await herald.get("/v1/events", reader.headers).status == 401)
        // A key of the app itself opens no door to keys.
        let own = try MadeKey(
            try await herald.post("/v1/keys", #"{"app": "shop", "scopes": ["manage"]}"#, admin.headers))
        #expect(try await herald.send("DELETE", "/v1/keys/\(admin.id)", nil, own.headers).status == 403)
    }

    @Test("the text of a key is in no file; its last use survives a restart", .enabled(if: TestStore.isFolder))
    func storage() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin", ["Idempotency-Key": "one"])
        #expect(try await herald.get("/v1/keys", admin.headers).status == 200)
        let again = try await herald.post(
            "/v1/keys", #"{"name": "A key", "scopes": ["admin"]}"#,
            admin.headers.merging(["Idempotency-Key": "one"]) { $1 })
        #expect(again.status == 201 && again.id == admin.id && again.string("key") == nil)
        #expect(again.header("idempotent-replayed") == "true")
        try await herald.stop()
        let secret = Array(admin.text.utf8.suffix(32))
        for name in try Files.names(in: herald.folder.path + "/data") {
            let bytes = try Files.read(herald.folder.path + "/data/" + name)
            #expect(!bytes.contains(secret), "\(name)")
        }
        #expect(!herald.process.text.contains(String(decoding: secret, as: UTF8.self)))
        let next = try await herald.restart()
        let key = try await next.get("/v1/keys/\(admin.id)", admin.headers)
        #expect(key["last_used_at"]?.timestamp != nil)
    }

    @Test("all errors of a new key are reported at once")
    func mistakes() async throws {
        let herald = try await HeraldProcess.start()
        let answer = try await herald.post(
            "/v1/keys", #"{"name": 1, "scopes": ["read", "write"], "expires_at": "soon", "app": 1, "x": 2}"#)
        #expect(answer.status == 422)
        #expect(Set(answer.errors).isSuperset(of: ["/name", "/scopes/1", "/expires_at", "/x"]))
        #expect(try await herald.post("/v1/keys", "{}").errors == ["/scopes"])
        #expect(try await herald.post("/v1/keys", #"{"scopes": []}"#).errors == ["/scopes"])
    }

    @Test("the operator's key comes from the environment or from a file")
    func operatorKey() async throws {
        let key = "of-the-operator-0123456789"
        let herald = try await HeraldProcess.start(environment: ["HERALD_ADMIN_KEY": key])
        #expect(try await herald.get("/v1/keys").status == 401)
        #expect(try await herald.get("/v1/keys", ["Authorization": "Bearer \(key)"]).status == 200)
        // With it a first key may be any, and the last admin key may go.
        let reader = try await herald.makeKey("read", by: MadeKey(id: "", text: key))
        #expect(try await herald.get("/v1/events", reader.headers).status == 200)
        #expect(!herald.process.text.contains(key))

        let folder = TemporaryFolder()
        try Files.write(Array((key + "\n").utf8), to: folder.path + "/key")
        let other = try await HeraldProcess.start(["--admin-key-file", folder.path + "/key"])
        #expect(try await other.get("/v1/keys").status == 401)
        #expect(try await other.get("/v1/keys", ["Authorization": "Bearer \(key)"]).status == 200)

        for environment in [
            ["HERALD_ADMIN_KEY": "short"], ["HERALD_ADMIN_KEY": "with a space in its middle"],
            ["HERALD_ADMIN_KEY_FILE": "/nowhere"],
        ] {
            let result = try await Binary.run(["serve"], environment: environment)
            let expected = environment["HERALD_ADMIN_KEY"] == nil ? "No such file" : "20 to 255"
            #expect(result.end == .exited(64) && result.text.contains(expected), "\(result.text)")
            #expect(!result.text.contains("short") && !result.text.contains("with a space"))
        }
    }

    @Test(
        "a start on a public address creates a key, in a file and not in the log; --allow-anonymous needs none",
        .enabled(if: TestStore.isFolder)
    )
    func firstStart() async throws {
        let herald = try await HeraldProcess.start(["--listen", "0.0.0.0:0", "--log-level", "info"])
        let made = herald.log("created an admin key, because other machines can reach this address").first
        let file = try #require(made?["file"]?.string)
        #expect(file == herald.folder.path + "/data/admin-key")
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let line = String(decoding: try Files.read(file), as: UTF8.self)
        #expect(line.hasPrefix("hrld_") && line.hasSuffix("\n") && !herald.process.text.contains("hrld_"))
        let key = ["Authorization": "Bearer \(line.dropLast())"]
        #expect(try await herald.get("/v1/keys").status == 401)
        #expect(try await herald.get("/v1/keys", key).data.count == 1)
        // As the commands take it.
        let list = try await Binary.run(["keys", "list", "--server", herald.url, "--key-file", file])
        #expect(list.end == .exited(0), "\(list.text)")
        try await herald.stop()
        unlink(file)
        let next = try await HeraldProcess.start(folder: herald.folder, ["--listen", "0.0.0.0:0"])
        #expect(!next.process.text.contains("hrld_") && access(file, F_OK) != 0)
        #expect(try await next.get("/v1/keys", key).status == 200)

        let open = try await HeraldProcess.start(["--listen", "0.0.0.0:0", "--allow-anonymous", "true"])
        #expect(
            open.log("no access key is required: every client that reaches this address has full access").count == 1)
        #expect(try await open.get("/v1/keys").status == 200)
        let admin = try await open.makeKey("admin")
        #expect(try await open.get("/v1/keys").status == 401)
        #expect(try await open.get("/v1/keys", admin.headers).status == 200)
    }

    @Test(
        "on a terminal the key of the first start is shown there, and is in no file",
        .enabled(if: ChildProcess.exists("tmux") && TestStore.isFolder))
    func firstStartOnTerminal() async throws {
        let folder = TemporaryFolder()
        let command = "\(try Binary.path()) serve --listen 0.0.0.0:0 --data \(folder.path)/data"
        let screen = try await Screen(command)
        // It is longer than what is left of its line.
        let shown = try await screen.lines(with: "listening").joined()
        let key = try #require(shown.firstMatch(of: #/shown only once: (hrld_[0-9A-Z]{26}_[0-9A-Z]{32})/#)).1
        try await screen.type("C-c")
        _ = try await screen.lines(with: "END 0")
        for name in try Files.names(in: folder.path + "/data") {
            #expect(try !Files.read(folder.path + "/data/" + name).contains(Array(key.utf8)), "\(name)")
        }
        let next = try await HeraldProcess.start(folder: folder, listen: "0.0.0.0:0")
        #expect(try await next.get("/v1/keys").status == 401)
        #expect(try await next.get("/v1/keys", ["Authorization": "Bearer \(key)"]).status == 200)
    }

    @Test("the command line sends its key, and manages keys")
    func commands() async throws {
        let herald = try await HeraldProcess.start()
        let server = ["HERALD_SERVER": herald.url]
        let made = try await Binary.run(["keys", "create", "Mine", "--scope", "admin", "--json"], environment: server)
        let key = try #require(try JSONDocument(parsing: Self.firstLine(made.text))["key"]?.string)
        let ends = "webhooks on the machine of the server get events only if"
        #expect(made.text.contains(ends), "\(made.text)")
        let refused = try await Binary.run(["keys", "list"], environment: server)
        #expect(refused.end != .exited(0) && refused.text.contains("key"))

        let withKey = server.merging(["HERALD_KEY": key]) { $1 }
        let list = try await Binary.run(["keys", "list"], environment: withKey)
        #expect(list.end == .exited(0) && list.text.contains("Mine") && !list.text.contains("hrld_"))
        let folder = TemporaryFolder()
        try Files.write(Array(key.utf8), to: folder.path + "/key")
        let reader = try await Binary.run(
            ["keys", "create", "Theirs", "--scope", "read,publish", "--json", "--key-file", folder.path + "/key"],
            environment: server)
        let id = try #require(try JSONDocument(parsing: Self.firstLine(reader.text))["id"]?.string)
        #expect(!reader.text.contains(ends), "only the first key ends it: \(reader.text)")
        let shown = try await Binary.run(["keys", "show", id], environment: withKey)
        #expect(shown.end == .exited(0) && shown.text.contains("Theirs"), "\(shown.text)")
        let rotated = try await Binary.run(["keys", "rotate", id, "--overlap", "0"], environment: withKey)
        #expect(rotated.end == .exited(0) && rotated.text.contains("hrld_"))
        let revoked = try await Binary.run(["keys", "revoke", id], environment: withKey)
        #expect(revoked.end == .exited(0) && revoked.text.contains(id))
        #expect(try await Binary.run(["events", "list"], environment: withKey).end == .exited(0))
    }

    private static func firstLine(_ text: String) -> String { String(text.prefix { $0 != "\n" }) }
}
