import Foundation
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

/// The operations of Svix's server that Herald serves with `--svix-api`.
@Suite("Svix's API", .timeLimit(.minutes(20)))
struct SvixTests {
    static let root = "/api/v1"
    private static let folder = #filePath.replacing("EndToEndTests/SvixTests.swift", with: "")
    private static var venv: String? { getenv("HERALD_VENV").map { String(cString: $0) } }
    private static let all = "read\", \"publish\", \"manage"

    static func start() async throws -> HeraldProcess {
        try await HeraldProcess.start(["--svix-api", "true"], adminKey: MadeKey.admin.text)
    }

    private static func python(_ arguments: String..., input: [UInt8] = []) async throws -> (
        end: ChildProcess.End, text: String
    ) {
        try await ChildProcess.run(try #require(venv) + "/bin/python3", ["-B"] + arguments, input: input)
    }

    // MARK: With Svix's package

    @Test(
        "Svix's package runs every supported operation, and its models validate the responses",
        .enabled("needs the tools of script/requirements.txt") { venv != nil })
    func calls() async throws {
        let herald = try await Self.start()
        let receiver = try herald.receiver()
        let result = try await Self.python(
            Self.folder + "Svix/calls.py", herald.url, MadeKey.admin.text, receiver.url("/hook"))
        #expect(result.end == .exited(0), "\(result.text)")
        #expect(result.text == "112 calls", "\(result.text)")
    }

    @Test(
        "svix.Webhook verifies the callbacks of an endpoint that the API made, and of an imported one",
        .enabled("needs the tools of script/requirements.txt") { venv != nil })
    func verification() async throws {
        let herald = try await Self.start()
        let receiver = try herald.receiver()
        _ = try await herald.post(Self.root + "/app", #"{"name": "Acme", "uid": "acme"}"#)
        let made = try await herald.post(
            Self.root + "/app/acme/endpoint", #"{"url": "\#(receiver.url("/made"))", "uid": "first"}"#)
        #expect(made.status == 201, "\(made.text)")
        try await Self.imported(receiver.url("/imported"), to: herald)

        for (app, uid, path) in [("acme", "first", "/made"), ("tenant-0", "uid-0", "/imported")] {
            let secret = try await herald.get(Self.root + "/app/\(app)/endpoint/\(uid)/secret")
            for number in 0..<200 {
                let message = #"{"eventType": "order.paid", "payload": {"number": \#(number), "who": "Zoë"}}"#
                let answer = try await herald.post(Self.root + "/app/\(app)/msg", message)
                try #require(answer.status == 202, "\(answer.text)")
            }
            let got = await receiver.requests { $0.count { $0.path == path } >= 200 }.filter { $0.path == path }
            var lines: [UInt8] = []
            for request in got {
                var json = JSONWriter()
                json.array {
                    for name in ["svix-id", "svix-timestamp", "svix-signature"] {
                        $0.element(request.header(name) ?? "")
                    }
                    $0.element(String(decoding: request.body, as: UTF8.self))
                }
                lines += json.bytes + [UInt8(ascii: "\n")]
            }
            let verdict = try await Self.python(
                Self.folder + "Svix/verify.py", try #require(secret.string("key")), input: lines)
            #expect(verdict.text == "200 0 200", "\(path): \(verdict.text)")
        }
    }

    private static func imported(_ hook: String, to herald: HeraldProcess) async throws {
        let server = try ChildProcess(
            try #require(venv) + "/bin/python3", ["-B", folder + "Import/svix_server.py", "1", "1", hook])
        defer { server.signal(SIGKILL) }
        let url = "http://127.0.0.1:" + (try await eventually("the server's port") { server.lines.first })
        let token = try herald.folder.write("testsk_a-token-of-a-test-server\n", to: "token")
        let result = try await Client.run(
            ["import", "svix", "--from", url, "--token-file", token, "--key-file", try herald.keyFile()],
            server: herald.url)
        #expect(result.end == .exited(0), "\(result.text)")
    }

    // MARK: Rules

    @Test("an endpoint is found by its uid, which is unique; PUT creates, replaces and resumes")
    func endpoints() async throws {
        let herald = try await Self.start()
        _ = try await herald.post(Self.root + "/app", #"{"name": "Acme", "uid": "acme"}"#)
        let path = Self.root + "/app/acme/endpoint"
        let first = try await herald.post(
            path, #"{"url": "https://one.example/", "uid": "first", "disabled": true, "description": "d"}"#)
        #expect(first.status == 201 && first["disabled"]?.bool == true, "\(first.text)")
        #expect(try await herald.get("\(path)/first")["disabled"]?.bool == true)

        let taken = try await herald.post(path, #"{"url": "https://two.example/", "uid": "first"}"#)
        #expect(taken.status == 409 && taken["detail"] != nil, "\(taken.text)")
        let second = try await herald.send("PUT", "\(path)/second", #"{"url": "https://two.example/"}"#)
        #expect(second.status == 201 && second.string("uid") == "second", "\(second.text)")
        let moved = try await herald.send("PATCH", "\(path)/second", #"{"uid": "first"}"#)
        #expect(moved.status == 409, "\(moved.text)")

        let put = try await herald.send("PUT", "\(path)/first", #"{"url": "https://one.example/"}"#)
        #expect(put.status == 200 && put["disabled"]?.bool == false && put.string("uid") == "first", "\(put.text)")
        #expect(put.string("description") == "" && put.id == first.id)
        #expect(try await herald.send("PUT", "\(path)/dlg_00000000000000000000000000", "{}").status == 404)
        #expect(try await herald.get(path).data.count == 2)
        let bare = "wh" + String(repeating: "A", count: 41) + "="
        _ = try await herald.post(path, #"{"url": "https://three.example/", "uid": "3", "secret": "\#(bare)"}"#)
        #expect(try await herald.get("\(path)/3/secret").string("key") == "whsec_" + bare)
    }

    @Test("an error names the field that the request has")
    func fieldNames() async throws {
        let herald = try await Self.start()
        #expect(try await herald.post(Self.root + "/app", #"{"name": "Acme", "uid": "acme"}"#).status == 201)
        let url = #""url": "http://127.0.0.1:9/""#
        let endpoints = "/app/acme/endpoint"
        let made = try await herald.post(Self.root + endpoints, "{\(url), \"uid\": \"one\"}")
        #expect(made.status == 201, "\(made.text)")
        let cases = [
            ("/app", #"{"name": "\#(String(repeating: "x", count: 65))", "uid": "x"}"#, #""body","name""#),
            (endpoints, "{\(url), \"eventTypes\": [\"a b\"]}", #""body","eventTypes""#),
            (endpoints, "{\(url), \"filterTypes\": [\"a b\"]}", #""body","filterTypes""#),
            (endpoints, "{\(url), \"rateLimit\": -1}", #""body","rateLimit""#),
            (endpoints, "{\(url), \"throttleRate\": -1}", #""body","throttleRate""#),
            (
                endpoints + "/one/recover", #"{"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}"#,
                "is before since"
            ),
            (
                "/event-type", #"{"name": "a.b", "description": "", "schemas": {"1": {"type": "nothing"}}}"#,
                #""body","schemas","1""#
            ),
        ]
        for (path, body, place) in cases {
            let response = try await herald.post(Self.root + path, body)
            #expect(response.status == 422 && response.text.contains(place), "\(path) \(body): \(response.text)")
        }
    }

    @Test("a repeated idempotency key makes one application")
    func repetition() async throws {
        let herald = try await Self.start()
        let (path, key) = (Self.root + "/app", ["Idempotency-Key": "once"])
        let first = try await herald.post(path, #"{"name": "Acme", "uid": "acme"}"#, key)
        let again = try await herald.post(path, #"{"name": "Acme", "uid": "acme"}"#, key)
        #expect(first.status == 201 && again.status == 201 && first.id == again.id, "\(again.text)")
        #expect(again.header("idempotent-replayed") == "true")
        let other = try await herald.post(path, #"{"name": "Other", "uid": "other"}"#, key)
        #expect((400...499).contains(other.status) && other["detail"] != nil, "\(other.text)")
    }

    @Test("a message that is refused for its idempotency key creates no application")
    func refusedMessage() async throws {
        let herald = try await Self.start()
        let body = #"{"eventType": "order.paid", "payload": {}, "application": {"name": "New", "uid": "new"}}"#
        let path = Self.root + "/app/new/msg"
        let refused = try await herald.post(path, body, ["Idempotency-Key": String(repeating: "k", count: 256)])
        #expect(refused.status == 422, "\(refused.text)")
        #expect(try await herald.get(Self.root + "/app/new").status == 404)
        #expect(try await herald.post(path, body, ["Idempotency-Key": "k"]).status == 202)
        #expect(try await herald.get(Self.root + "/app/new").status == 200)
    }

    @Test("a message may have as many values as an event")
    func values() async throws {
        let herald = try await Self.start()
        _ = try await herald.post(Self.root + "/app", #"{"name": "One", "uid": "one"}"#)
        let numbers = [String](repeating: "1", count: 20_000).joined(separator: ",")
        let sent = try await herald.post(
            Self.root + "/app/one/msg", #"{"eventType": "a.b", "payload": {"numbers": [\#(numbers)]}}"#)
        #expect(sent.status == 202, "\(sent.text.prefix(300))")
    }

    @Test("an event of Herald whose id has a slash is read as a message")
    func slash() async throws {
        let herald = try await Self.start()
        _ = try await herald.post(Self.root + "/app", #"{"name": "One", "uid": "one"}"#)
        let sent = try await herald.post("/v1/events", #"{"id": "a/1", "type": "a.b"}"#, ["Herald-App": "one"])
        #expect(sent.status == 202, "\(sent.text)")
        let message = try await herald.get(Self.root + "/app/one/msg/a%2F1")
        #expect(message.status == 200 && message.id == "a/1", "\(message.text)")
        #expect(try await herald.get(Self.root + "/app/one%2Fx/msg/a%2F1").status == 404)
    }

    @Test("an example is sent to one endpoint, and not stored")
    func example() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let herald = try await Self.scene(receiver)
        let app = ["Herald-App": "one"]
        let described = try await herald.send(
            "PUT", "/v1/event-types/order.paid",
            #"{"description": "Paid", "schema": {"examples": [{"amount": 1}, {"amount": 2}]}, "check": "enforce"}"#, app
        )
        #expect(described.status == 201, "\(described.text)")
        let other = try await herald.post(
            Self.root + "/app/one/endpoint", #"{"url": "\#(receiver.url("/other"))", "uid": "other"}"#)
        #expect(other.status == 201)
        let path = Self.root + "/app/one/endpoint/other/send-example"
        for (body, payload) in [
            (#"{"eventType": "order.paid"}"#, #"{"amount":1}"#),
            (#"{"eventType": "order.paid", "exampleIndex": 1}"#, #"{"amount":2}"#),
            (#"{"eventType": "order.new", "payload": {"amount": 3}}"#, #"{"amount":3}"#),
        ] {
            let sent = try await herald.post(path, body)
            #expect(sent.status == 202, "\(sent.text)")
            #expect(sent["payload"].map { String(decoding: $0.bytes, as: UTF8.self) }?.filter { $0 != " " } == payload)
            let got = await receiver.requests { $0.contains { $0.header("svix-id") == sent.id } }
            #expect(got.last?.path == "/other")
            #expect(String(decoding: got.last?.body ?? [], as: UTF8.self).filter { $0 != " " } == payload)
            #expect(try await herald.get("\(Self.root)/app/one/msg/\(sent.id)").status == 404)
        }
        let beyond = try await herald.post(path, #"{"eventType": "order.paid", "exampleIndex": 2}"#)
        #expect(beyond.status == 422 && beyond.text.contains("exampleIndex"), "\(beyond.text)")
    }

    @Test("an operator sees the event types of all apps, and a patch keeps what it does not name")
    func types() async throws {
        let herald = try await Self.start()
        for app in ["one", "two"] {
            _ = try await herald.post(Self.root + "/app", #"{"name": "\#(app)", "uid": "\#(app)"}"#)
            let described = try await herald.send(
                "PUT", "/v1/event-types/\(app).made",
                #"{"description": "of \#(app)", "schema": {"type": "object"}, "check": "report", "example": {}}"#,
                ["Herald-App": app])
            #expect(described.status == 201, "\(described.text)")
        }
        let path = Self.root + "/event-type"
        func names(_ headers: [String: String] = [:]) async throws -> [String] {
            try await herald.get(path, headers).data.compactMap { $0["name"]?.string }
        }
        #expect(try await names() == ["one.made", "two.made"])
        #expect(try await herald.get("\(path)/two.made").string("description") == "of two")
        let key = try await herald.makeKey(Self.all, in: "one")
        #expect(try await names(key.headers) == ["one.made"])
        #expect(try await herald.get("\(path)/two.made", key.headers).status == 404)

        let patched = try await herald.send("PATCH", "\(path)/one.made", #"{"description": "other"}"#, key.headers)
        #expect(patched.status == 200 && patched.string("description") == "other", "\(patched.text)")
        let own = try await herald.get("/v1/event-types/one.made", key.headers)
        #expect(own.string("check") == "report" && own["example"] != nil && own["schema"]?.kind == .object)
        let none = try await herald.send("PATCH", "\(path)/one.made", #"{"schemas": null}"#, key.headers)
        #expect(none.status == 200 && none["schemas"]?.isNull == true, "\(none.text)")
        #expect(try await herald.send("PATCH", "\(path)/two.made", #"{"description": "x"}"#, key.headers).status == 404)
    }

    @Test("two nodes that give one uid at once give it to one endpoint")
    func twoNodes() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        defer { try? PostgresServer.shared().drop(url) }
        func start() async throws -> HeraldProcess {
            try await HeraldProcess.start(
                command: [
                    "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url, "--svix-api", "true",
                ],
                adminKey: MadeKey.admin.text)
        }
        let (first, second) = (try await start(), try await start())
        _ = try await first.post(Self.root + "/app", #"{"name": "One", "uid": "one"}"#)
        let path = Self.root + "/app/one/endpoint"
        let one = try await first.post(path, #"{"url": "https://one.example/"}"#).id
        let two = try await first.post(path, #"{"url": "https://two.example/"}"#).id
        for round in 0..<20 {
            let uid = #""uid": "u\#(round)""#
            let (method, rest) = round.isMultiple(of: 2) ? ("PATCH", "") : ("PUT", #", "url": "https://URL.example/""#)
            async let left = first.send(
                method, "\(path)/\(one)", "{\(uid)\(rest.replacing("URL", with: "one"))}")
            async let right = second.send(
                method, "\(path)/\(two)", "{\(uid)\(rest.replacing("URL", with: "two"))}")
            let answers = try await [left, right]
            #expect(answers.map(\.status).sorted() == [200, 409], "\(answers.map(\.text))")
        }
        for round in 0..<10 {
            async let left = first.send("PUT", "\(path)/new-\(round)", #"{"url": "https://left.example/\#(round)"}"#)
            async let right = second.send("PUT", "\(path)/new-\(round)", #"{"url": "https://right.example/\#(round)"}"#)
            let statuses = try await [left.status, right.status]
            #expect(statuses.contains(201) && statuses.allSatisfy { [200, 201, 409].contains($0) }, "\(statuses)")
        }
        let uids = try await first.get(path).data.compactMap { $0["uid"]?.string }
        #expect(uids.count == Set(uids).count && uids.count >= 11)
    }

    @Test("without the setting there is nothing below /api/v1")
    func off() async throws {
        let herald = try await HeraldProcess.start()
        for path in ["/app", "/health", "/app/default/msg"] {
            #expect(try await herald.get(Self.root + path).status == 404)
        }
    }

    // MARK: Every operation

    /// The operations of Svix's open-source server.
    private static func operations() throws -> [(method: String, path: String)] {
        try String(contentsOfFile: folder + "Svix/operations.txt", encoding: .utf8).split(separator: "\n").map {
            let words = $0.split(separator: " ")
            return (String(words[0]), String(words[1]))
        }
    }

    private static func path(_ template: String, attempt: String = "att_0", app: String = "one") -> String {
        template.replacing("{app_id}", with: app).replacing("{endpoint_id}", with: "first")
            .replacing("{msg_id}", with: "m1").replacing("{attempt_id}", with: attempt)
            .replacing("{event_type_name}", with: "order.paid")
    }

    private static func body(_ path: String) -> String {
        if path.hasSuffix("/headers") { return #"{"headers": {"X-Mark": "changed"}}"# }
        if path.hasSuffix("/msg") { return #"{"eventType": "order.paid", "payload": {"mark": "changed"}}"# }
        if path.hasSuffix("/recover") { return #"{"since": "2020-01-01T00:00:00Z"}"# }
        if path.hasSuffix("/app") || path.hasSuffix("{app_id}") && path.contains("/app/") {
            return #"{"name": "changed", "uid": "changed"}"#
        }
        if path.contains("event-type") { return #"{"name": "order.paid", "description": "changed"}"# }
        return path.contains("/secret") || path.contains("/auth/") ? "{}" : #"{"url": "https://changed.example/"}"#
    }

    /// An app with one of everything.
    static func scene(_ receiver: Receiver) async throws -> HeraldProcess {
        let herald = try await start()
        for (path, body) in [
            ("/app", #"{"name": "One", "uid": "one"}"#), ("/app", #"{"name": "Two", "uid": "two"}"#),
            ("/app/one/endpoint", #"{"url": "\#(receiver.url("/hook"))", "uid": "first"}"#),
            ("/app/one/msg", #"{"eventType": "order.paid", "eventId": "m1", "payload": {"mark": "secret-mark"}}"#),
        ] {
            let answer = try await herald.post(root + path, body)
            try #require([201, 202].contains(answer.status), "\(path): \(answer.text)")
        }
        _ = try await herald.get(root + "/app/one/attempt/msg/m1") { $0.data.count == 1 }
        return herald
    }

    @Test("a key of another app sees and changes nothing, by any operation")
    func crossings() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let herald = try await Self.scene(receiver)
        let stranger = try await herald.makeKey(Self.all, in: "two")
        let kept = [
            "/app/one", "/app/one/endpoint", "/app/one/endpoint/first/secret", "/app/one/endpoint/first/headers",
            "/app/one/msg", "/app/one/attempt/msg/m1", "/event-type",
        ]
        func snapshot() async throws -> [String] {
            var texts: [String] = []
            for path in kept { texts.append(try await herald.get(Self.root + path).text) }
            return texts
        }
        let before = try await snapshot()
        let attempt = try await herald.get(Self.root + "/app/one/attempt/msg/m1").data[0]["id"]?.string ?? ""
        for (method, template) in try Self.operations() where !template.contains("health") {
            let body = ["POST", "PUT", "PATCH"].contains(method) ? Self.body(template) : nil
            let path = Self.path(template, attempt: attempt)
            let answer = try await herald.send(method, path, body, stranger.headers)
            let shown: Comment = "\(method) \(path): \(answer.status) \(answer.text)"
            // The types of an event are those of the key's own app.
            let isOwn = template.contains("/event-type")
            #expect(isOwn || [403, 404, 501].contains(answer.status), shown)
            #expect(!answer.text.contains("secret-mark") && !answer.text.contains(receiver.url("/hook")), shown)
            // Responses to wrong keys take longer each time: these two suffice.
            guard template.hasSuffix("/secret") || template.hasSuffix("/rotate") else { continue }
            let none = try await herald.send(method, path, body, ["Authorization": "Bearer a-wrong-key-of-a-stranger"])
            #expect(none.status == 401 && none["detail"] != nil, "\(method) \(path): \(none.text)")
        }
        #expect(try await snapshot() == before)
        #expect(await receiver.requests(1).count == 1)
    }

    @Test("a key that reads changes nothing and sees no secret, one that publishes does nothing else; apps need admin")
    func scopes() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let herald = try await Self.scene(receiver)
        let (reader, publisher) = (
            try await herald.makeKey("read", in: "one"), try await herald.makeKey("publish", in: "one")
        )
        let manager = try await herald.makeKey("manage", in: "one")
        var refused = 0
        for (method, template) in try Self.operations() where !template.contains("health") {
            let body = ["POST", "PUT", "PATCH"].contains(method) ? Self.body(template) : nil
            let publishes = method == "POST" && template.hasSuffix("/{app_id}/msg")
            let ofOperator =
                template.hasSuffix("/app") || template.hasSuffix("/app/{app_id}") && method != "GET"
                || template.hasSuffix("/secret") || template.contains("/app-portal-access/")
            for (key, isAllowed) in [
                (reader, method == "GET" && !ofOperator), (publisher, publishes),
                (manager, !publishes && !ofOperator),
            ] where !isAllowed {
                let answer = try await herald.send(method, Self.path(template), body, key.headers)
                // What Herald lacks, it lacks for every key.
                #expect([403, 501].contains(answer.status), "\(method) \(template): \(answer.status) \(answer.text)")
                if answer.status == 403 { refused += 1 }
            }
        }
        #expect(refused > 60)
    }

    @Test("hostile input is refused in Svix's form, by every operation")
    func hostile() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let herald = try await Self.scene(receiver)
        let huge = String(repeating: "a", count: 100_000)
        let fields = [
            "name", "uid", "url", "eventType", "eventId", "payload", "headers", "since", "key", "metadata", "expiry",
            "description", "filterTypes", "channels", "throttleRate", "disabled", "schemas", "tags",
            "payloadRetentionPeriod", "version", "featureFlag", "exampleIndex",
        ]
        var bodies = ["{", "[]", "1", #""x""#, "null", #"{"nope": 1}"#, #"{"uid": "\#(huge)", "eventId": "\#(huge)"}"#]
        // Each field as a number below zero and as a list of lists; only those that the operation has are read.
        bodies += ["-1", "[[1]]"].map { value in
            "{" + fields.map { "\"\($0)\": \(value)" }.joined(separator: ", ") + "}"
        }
        func check(_ method: String, _ path: String, _ body: String?) async throws {
            let answer = try await herald.send(method, path, body)
            let shown: Comment =
                "\(method) \(path.prefix(200)) \(body?.prefix(60) ?? ""): \(answer.status) \(answer.text)"
            #expect((400...499).contains(answer.status) || answer.status == 501, shown)
            #expect(answer["detail"] != nil, shown)
        }
        for (method, template) in try Self.operations() where !template.contains("health") {
            let path = Self.path(template)
            if ["POST", "PUT", "PATCH"].contains(method), !template.hasSuffix("/resend") {
                for body in bodies { try await check(method, path, body) }
            }
            try await check(method, path + "?nope=1", Self.body(template))
            let parts = template.split(separator: "/")
            guard method == "GET",
                ["app", "msg", "endpoint", "event-type"].contains(parts.last) || template.contains("/attempt/")
            else { continue }
            for query in [
                "iterator=!", "iterator=~", "iterator=~!", "iterator=%00", "iterator=\(huge.prefix(300))", "limit=0",
                "limit=x",
            ] {
                try await check(method, path + "?" + query, nil)
            }
        }
        for path in ["/app/one/nothing", "/ingest/api/v1/source", "/a/b/c/d/e/f/g/h"] {
            #expect(try await herald.get(Self.root + path).status == 501)
        }
        #expect(try await herald.get(Self.root + "/app/one/endpoint").data.count == 1)
    }
}
