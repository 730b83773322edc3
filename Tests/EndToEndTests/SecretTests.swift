import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Synchronization
import Testing

/// Everything is done that shows, uses or refuses a secret, at the most verbose level of the log; then all that the server has
/// said or written is searched for each of them.
@Suite("No secret is ever revealed", .serialized, .timeLimit(.minutes(20)))
struct SecretTests {
    private static let masterKey = "WmVyYmVydXMgaXMgdGhlIGhvdW5kIG9mIEhhZGVzISE="
    /// 32 bytes: "Zerberus signs with these bytes!".
    private static let signing = "whsec_WmVyYmVydXMgc2lnbnMgd2l0aCB0aGVzZSBieXRlcyE="
    private static let header = "Bearer Zerberus-in-a-header"
    private static let password = "Zerberus-password"
    private static let inQuery = "Zerberus-in-a-query"

    /// Responses and written files: a name for each, and the text.
    private final class Found: Sendable {
        let texts = Mutex<[(place: String, text: String)]>([])

        func add(_ place: String, _ text: String) { texts.withLock { $0.append((place, text)) } }

        func add(_ place: String, _ answer: Answer) {
            let head = answer.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
            add("\(place) → \(answer.status)", head + "\n" + answer.text)
        }

        /// Fails for each place that has the secret.
        func expectNone(of secret: String, _ name: String, in places: (String) -> Bool = { _ in true }) {
            for (place, text) in texts.withLock({ $0 }) where places(place) && text.contains(secret) {
                Issue.record("\(name) is in \(place)")
            }
        }
    }

    @Test("an idempotency key returns a secret to the key of the first request, and to no other one")
    func idempotency() async throws {
        let herald = try await HeraldProcess.start()
        let admin = try await herald.makeKey("admin")
        let (one, two) = (
            try await herald.makeKey("manage", by: admin), try await herald.makeKey("manage", by: admin)
        )
        let body = #"{"url": "https://example.com/hook"}"#
        func register(_ key: MadeKey) async throws -> Answer {
            try await herald.post("/v1/delegates", body, key.headers.merging(["Idempotency-Key": "same"]) { $1 })
        }
        let first = try await register(one)
        let secret = try #require(first.string("secret"))
        #expect(first.status == 201)
        let repeated = try await register(one)
        #expect(repeated.header("idempotent-replayed") == "true" && repeated.string("secret") == secret)
        let other = try await register(two)
        #expect(other.status == 422 || other.status == 409, "\(other.status)")
        #expect(!other.text.contains(secret))
        // The user of a link has no access to what the key that made the link has requested.
        let rotate = "/v1/delegates/\(first.id)/secret/rotate"
        let idempotent = ["Idempotency-Key": "rotated"]
        let rotated = try await herald.post(rotate, "", admin.headers.merging(idempotent) { $1 })
        let rotatedSecret = try #require(rotated.string("secret"))
        let link = try await herald.post("/v1/portal-links", "{}", admin.headers)
        let token = try #require(link.string("url")?.split(separator: "/").last)
        let page = ["Sec-Fetch-Site": "same-origin"]
        let opened = try await herald.post("/v1/session", #"{"portal_link": "\#(token)"}"#, page)
        let cookie = try #require(opened.header("set-cookie")).prefix { $0 != ";" }
        let user = page.merging(idempotent) { $1 }.merging(["Cookie": String(cookie)]) { $1 }
        let guessed = try await herald.post(rotate, "", user)
        #expect(guessed.status == 422 && !guessed.text.contains(rotatedSecret), "\(guessed.status)")
    }

    @Test(
        "in responses, errors, lists, metrics, streams, the audit log, the log and the files",
        .enabled(if: TestStore.isFolder))
    func all() async throws {
        let clients = try CertificateAuthority()
        let identity = try clients.makeIdentity()
        let herald = try await HeraldProcess.start(
            ["--log-level", "debug"], environment: ["HERALD_MASTER_KEY": Self.masterKey], adminKey: MadeKey.admin.text)
        let receiver = try herald.receiver { request in
            request.path.hasPrefix("/broken") ? .status(500, body: "no") : .status(204)
        }
        let found = Found()
        var secrets = [
            "the admin key": MadeKey.admin.text, "the master key": Self.masterKey, "a signing secret": Self.signing,
            "a signing secret's bytes": "Zerberus signs with these", "a header's value": "Zerberus-in-a-header",
            "a password": Self.password,
            "a client's private key": identity.key.split(separator: "\n").dropFirst().first.map(String.init) ?? "?",
        ]
        let port = herald.port
        let streams = try await RawHTTP.onThread {
            try ["/v1/events/stream?events=*,herald.*", "/v1/attempts/stream"].map {
                Box(
                    try StreamClient(
                        port: port, String($0.drop { $0 != "?" }), path: String($0.prefix { $0 != "?" }),
                        key: MadeKey.admin.text))
            }
        }

        // Delegates, good and bad, with secrets that are brought and made.
        func register(_ url: String, _ fields: String, _ headers: [String: String] = [:]) async throws -> Answer {
            try await herald.post("/v1/delegates", "{\"url\": \"\(url)\"\(fields)}", headers)
        }
        let good = try await register(
            receiver.url("/good?token=\(Self.inQuery)"),
            #", "secret": "\#(Self.signing)", "headers": {"x-token": "\#(Self.header)"}"#
                + #", "request": {"auth": {"basic": {"user": "ada", "password": "\#(Self.password)"}}}"#,
            ["Idempotency-Key": "good"])
        try #require(good.status == 201, "\(good.text)")
        let broken = try await register(
            receiver.url("/broken?token=\(Self.inQuery)"), #", "retry_schedule": [0.1, 0.1], "signature": "v1a""#)
        let refusing = try await register("http://127.0.0.1:1/?token=\(Self.inQuery)", #", "retry_schedule": [600]"#)
        let lines = identity.key.replacing("\n", with: "\\n")
        let certificate = identity.certificate.replacing("\n", with: "\\n")
        let tls = #", "tls": {"client_certificate": "\#(certificate)", "client_key": "\#(lines)"}"#
        let mutual = try await register("https://127.0.0.1:1/?token=\(Self.inQuery)", tls)
        for (name, answer) in ["v1a": broken, "v1": refusing, "mTLS": mutual] {
            #expect(answer.status == 201, "\(answer.text)")
            secrets["a made secret, \(name)"] = answer.string("secret") ?? ""
        }
        let rotated = try await herald.post("/v1/delegates/\(good.id)/secret/rotate", "")
        secrets["a rotated secret"] = rotated.string("secret") ?? ""

        // Keys, a session, a link.
        let key = try await herald.makeKey("manage")
        secrets["a key"] = key.text
        secrets["the secret part of a key"] = String(key.text.suffix(32))
        let next = try await herald.post("/v1/keys/\(key.id)/rotate", "")
        secrets["a rotated key"] = next.string("key") ?? ""
        let page = ["Sec-Fetch-Site": "same-origin"]
        let stranger = HeraldProcess.stranger(to: herald)
        let session = try await stranger.post("/v1/session", #"{"key": "\#(key.text)"}"#, page)
        let cookie = try #require(session.header("set-cookie")).prefix { $0 != ";" }
        secrets["a session"] = String(cookie.drop { $0 != "=" }.dropFirst())
        let link = try await herald.post("/v1/portal-links", "{}")
        let token = try #require(link.string("url")?.split(separator: "/").last)
        secrets["a link"] = String(token)
        found.add("sign-in by link", try await stranger.post("/v1/session", #"{"portal_link": "\#(token)x"}"#, page))

        // What is refused must not say what was sent.
        let refused: [(String, String, String, [String: String])] = [
            ("POST", "/v1/delegates", #"{"url": "http://user:\#(Self.password)@127.0.0.1:9/"}"#, [:]),
            ("POST", "/v1/delegates", #"{"url": "x", "secret": "\#(Self.signing.dropLast(5))"}"#, [:]),
            ("POST", "/v1/delegates", #"{"url": "x", "secret": "\#(Self.signing)", "signature": "v1a"}"#, [:]),
            ("POST", "/v1/delegates", #"{"url": "x", "headers": {"authorization": "\#(Self.header)\n"}}"#, [:]),
            ("POST", "/v1/delegates", #"{"url": "x", "headers": {"host": "\#(Self.header)"}}"#, [:]),
            ("POST", "/v1/delegates", #"{"url": "http://127.0.0.1:9/"\#(tls)}"#, [:]),
            ("POST", "/v1/delegates", #"{"url": "https://127.0.0.1:9/", "tls": {"client_key": "\#(lines)"}}"#, [:]),
            ("POST", "/v1/delegates", #"{"headers": {"authorization": "\#(Self.header)"#, [:]),
            ("PATCH", "/v1/delegates/\(good.id)", #"{"headers": {"x-a": "\#(Self.header)"}, "unknown": 1}"#, [:]),
            ("POST", "/v1/session", #"{"key": "\#(key.text)", "unknown": 1}"#, [:]),
            ("POST", "/v1/session", #"{"key": "\#(key.text.dropLast())x"}"#, page),
            ("GET", "/v1/events", "", ["Authorization": "Bearer \(key.text)x"]),
            ("GET", "/v1/events?key=\(key.text)", "", [:]), ("GET", "/\(key.text)", "", [:]),
            ("POST", "/v1/delegates", #"{"url": "\#(receiver.url("/broken?token=\(Self.inQuery)"))"}"#, [:]),
        ]
        for (method, path, body, headers) in refused {
            let answer = try await herald.send(method, path, body.isEmpty ? nil : body, headers)
            #expect((400..<500).contains(answer.status), "\(path) \(body): \(answer.text)")
            // A query that is unknown, or a path, is repeated in the response: a client that puts a key there has shown it already.
            found.add("the refusal of \(method) \(path.replacing(key.text, with: "KEY"))", answer)
        }

        // Deliveries that work and fail, a test call, a pause.
        let event = try await herald.publish("order.paid", #""data": 1"#)
        _ = try await herald.deliveries(of: event, "delivered", "exhausted", "retrying", "retrying")
        for id in [good.id, broken.id, refusing.id, mutual.id] {
            found.add("a test call", try await herald.post("/v1/delegates/\(id)/test", ""))
            found.add("a pause", try await herald.post("/v1/delegates/\(id)/pause", ""))
        }

        // Everything that can be read.
        let specification = try await herald.get("/openapi.json").json
        for (path, item) in try #require(specification["paths"]).members {
            guard let operation = item["get"] else { continue }
            if operation["responses"]?["200"]?["content"]?["text/event-stream"] != nil { continue }
            let ids = [
                "delegates": [good.id, broken.id, refusing.id, mutual.id], "events": [event], "keys": [key.id],
                "apps": ["default"],
            ]
            let collection = path.split(separator: "/").dropFirst().first.map(String.init) ?? ""
            for id in path.contains("{id}") ? ids[collection] ?? ["x"] : [""] {
                let target = path.replacing("{id}", with: id).replacing("{type}", with: "order.paid")
                    .replacing("{user_id}", with: "42")
                found.add("GET \(target)", try await herald.get(target))
            }
        }
        found.add("GET /v1/deliveries?state=retrying", try await herald.get("/v1/deliveries?state=retrying"))
        for stream in streams {
            let texts = try await RawHTTP.onThread {
                try (0..<3).map { _ in try stream.value.next().map { "\($0.id ?? "") \($0.data)" } ?? "" }
            }
            found.add("a stream", texts.joined(separator: "\n"))
            stream.value.leave()
        }
        for file in ["herald.db", "herald.db-wal"] {
            let bytes = try Files.read(herald.folder.path + "/data/" + file)
            found.add("the file \(file)", String(decoding: bytes, as: UTF8.self))
        }
        try await herald.stop()
        for file in try Files.names(in: herald.folder.path + "/data") {
            let bytes = try Files.read(herald.folder.path + "/data/" + file)
            found.add("the file \(file) after the end", String(decoding: bytes, as: UTF8.self))
        }
        found.add("the log", herald.process.text)

        #expect(found.texts.withLock { $0.count } > 50)
        for (name, secret) in secrets {
            #expect(secret.utf8.count >= 10)
            found.expectNone(of: secret, name)
        }
        // Only the owner of a delegate sees its whole URL.
        found.expectNone(of: Self.inQuery, "the query of a URL") {
            ["the log", "a stream"].contains($0) || $0.hasPrefix("the file")
                || $0.hasPrefix("GET /metrics") || $0.hasPrefix("GET /v1/audit")
        }
    }
}
