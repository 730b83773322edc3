import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Registering delegates", .timeLimit(.minutes(20)), .serialized)
struct RegistrationTests {
    @Test("a registration returns all settings, its path, and once the secret")
    func register() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register("http://127.0.0.1:9/hook")
        #expect(created.id.hasPrefix("dlg_"))
        #expect(created.header("location") == "/v1/delegates/\(created.id)")
        #expect(created.string("kind") == "webhook")
        #expect(created.string("status") == "active")
        #expect(created["status_reason"]?.isNull == true)
        #expect(created.string("url") == "http://127.0.0.1:9/hook")
        #expect(created["events"]?.bytes == Array(#"["*"]"#.utf8))
        #expect(created.integer("max_in_flight") == 32)
        #expect(created.integer("timeout_seconds") == 15)
        #expect(created["retry_schedule"]?.count == 13)
        #expect(created["lag"]?["events"]?.integer == 0)
        #expect(created["created_at"]?.timestamp != nil)
        #expect(created.string("secret")?.hasPrefix("whsec_") == true)

        let shown = try await herald.get("/v1/delegates/\(created.id)")
        #expect(shown.status == 200)
        #expect(shown["secret"] == nil)
        #expect(shown.string("created_at") == created.string("created_at"))
    }

    @Test("a secret and header values are never returned again, in any response")
    func secrecy() async throws {
        let herald = try await HeraldProcess.start()
        let secret = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"
        let created = try await herald.register(
            "http://127.0.0.1:9/", #""secret": "\#(secret)""#, #""headers": {"Authorization": "Bearer hush-hush"}"#,
            #""retry_schedule": []"#)
        #expect(created.string("secret") == secret)
        #expect(created["header_names"]?.bytes == Array(#"["Authorization"]"#.utf8))
        let id = created.id
        let event = try await herald.publish()
        _ = try await herald.deliveries(of: event, "exhausted")
        for path in [
            "/v1/delegates", "/v1/delegates/\(id)", "/v1/delegates/\(id)/attempts", "/v1/events/\(event)", "/metrics",
        ] {
            let answer = try await herald.get(path)
            #expect(!answer.text.contains("hush-hush") && !answer.text.contains(secret), "\(path)")
        }
        for body in [#"{"description": "x"}"#, #"{"headers": {"X-Other": "y", "Authorization": null}}"#] {
            let changed = try await herald.send("PATCH", "/v1/delegates/\(id)", body)
            #expect(!changed.text.contains("hush-hush") && !changed.text.contains(secret))
        }
        let conflict = try await herald.post(
            "/v1/delegates", #"{"url": "http://127.0.0.1:9/", "headers": {"X-Other": "y"}, "max_in_flight": 2}"#)
        #expect(conflict.status == 409)
        #expect(!conflict.text.contains("hush-hush"))
        #expect(!herald.process.text.contains("hush-hush") && !herald.process.text.contains(secret))
    }

    @Test("the same URL with the same settings changes nothing, and with others is a conflict that names the delegate")
    func again() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register("http://127.0.0.1:9/a", #""events": ["auth.*"]"#)
        let same = try await herald.post("/v1/delegates", #"{"events": ["auth.*"], "url": "http://127.0.0.1:9/a"}"#)
        #expect(same.status == 200)
        #expect(same.id == created.id)
        #expect(same["secret"] == nil)
        // Many languages write an object in another order at each start.
        let settings = [
            #""headers": {"X-A": "1", "X-B": "2"}, "metadata": {"a": "1", "b": "2"}"#,
            #""filter": {"type": ["x"], "data": {"a": [1], "b": [2]}}, "request": {"body": {"v": "{{ data }}"}}"#,
        ].joined(separator: ", ")
        let reordered = [
            #""metadata": {"b": "2", "a": "1"}, "headers": {"X-B": "2", "X-A": "1"}"#,
            #""request": {"body":{"v":"{{ data }}"}}, "filter": {"data": {"b": [2], "a": [1]}, "type": ["x"]}"#,
        ].joined(separator: ", ")
        let first = try await herald.register("http://127.0.0.1:9/b", settings)
        let second = try await herald.post("/v1/delegates", #"{"url": "http://127.0.0.1:9/b", \#(reordered)}"#)
        #expect(second.status == 200 && second.id == first.id, "\(second.text)")
        let patched = try await herald.send("PATCH", "/v1/delegates/\(first.id)", "{\(reordered)}")
        #expect(patched.status == 200 && patched.header("etag") == first.header("etag"), "\(patched.text)")
        #expect(patched.string("updated_at") == first.string("updated_at"))
        let other = try await herald.post("/v1/delegates", #"{"url": "http://127.0.0.1:9/a"}"#)
        #expect(other.status == 409)
        #expect(other.problem == "conflict")
        #expect(other.errors == ["/url"])
        #expect(other.string("detail")?.contains(created.id) == true)
        #expect(try await herald.get("/v1/delegates?kind=webhook").data.count == 2)
    }

    @Test("delegates with one URL each get their events in their own requests, also after a crash")
    func neighbors() async throws {
        var herald = try await HeraldProcess.start()
        let receiver = try Receiver()
        defer { receiver.close() }
        let url = receiver.url("/hook")
        let chat = #""events": ["order.*"], "request": {"body": {"text": "{{ type }} for a chat"}}"#
        var ids = [try await herald.register(url, #""events": ["order.*"]"#).id]
        ids.append(try await herald.register(url, chat).id)
        ids.append(try await herald.register(url, #""events": ["user.joined"], "format": "cloudevents""#).id)
        for (fields, wanted) in [(#""events": ["order.*"]"#, 200), (chat, 200), (#""events": ["order.paid"]"#, 409)] {
            let again = try await herald.post("/v1/delegates", #"{"url": "\#(url)", \#(fields)}"#)
            #expect(again.status == wanted, "\(again.text)")
        }
        let change = try await herald.send("PATCH", "/v1/delegates/\(ids[1])", #"{"request": null}"#)
        #expect(change.status == 409 && change.string("detail")?.contains(ids[0]) == true, "\(change.text)")
        try await herald.kill()
        herald = try await herald.restart()
        try await herald.publish("order.paid")
        try await herald.publish("user.joined")
        let bodies = await receiver.requests(3).map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.count { $0 == #"{"text":"order.paid for a chat"}"# } == 1, "\(bodies)")
        #expect(bodies.count { $0.hasPrefix(#"{"type":"order.paid","#) } == 1, "\(bodies)")
        #expect(bodies.count { $0.hasPrefix(#"{"specversion":"1.0","#) } == 1, "\(bodies)")
        // Those that are left do not hinder a new one.
        _ = try await herald.send("DELETE", "/v1/delegates/\(ids[0])")
        #expect(try await herald.send("PATCH", "/v1/delegates/\(ids[1])", #"{"request": null}"#).status == 200)
    }

    @Test("URLs are compared in libcurl's normalized form")
    func normalisedURLs() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register("HTTP://LocalHost:80/a/../b?q=1")
        #expect(created.string("url") == "http://localhost/b?q=1")
        let same = try await herald.post("/v1/delegates", #"{"url": "http://localhost/b?q=1"}"#)
        #expect(same.status == 200)
        #expect(same.id == created.id)
    }

    @Test("an invalid URL, or one with parts that callbacks don't need, is refused")
    func badURLs() async throws {
        let herald = try await HeraldProcess.start()
        for url in [
            "", "nonsense", "ftp://127.0.0.1/", "file:///etc/passwd", "http://user@127.0.0.1/", "http://u:p@127.0.0.1/",
            "http://127.0.0.1/#f", "http:///x", "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://a..b/",
            #"http://127.0.0.1/\\"#, "javascript:alert(1)", "//127.0.0.1/",
        ] {
            let answer = try await herald.post("/v1/delegates", #"{"url": "\#(url)"}"#)
            #expect(answer.status == 422 && answer.errors == ["/url"], "\(url): \(answer.text)")
        }
    }

    @Test("a forbidden address is refused in every notation, and the response names the rule")
    func refusedAddresses() async throws {
        let herald = try await HeraldProcess.start()
        for (url, rule) in [
            ("http://169.254.169.254/latest/meta-data", "metadata"), ("http://10.0.0.1/", "10.0.0.0/8"),
            ("http://192.168.1.1:8080/", "192.168.0.0/16"), ("http://172.16.0.1/", "172.16.0.0/12"),
            ("http://0.0.0.0/", "0.0.0.0/8"), ("http://100.64.0.1/", "100.64.0.0/10"),
            ("http://[fd00:ec2::254]/", "metadata"), ("http://[::ffff:10.0.0.1]/", "10.0.0.0/8"),
            ("http://0x0a000001/", "10.0.0.0/8"), ("http://2852039166/", "metadata"),
            ("http://127.0.0.1:\(herald.port)/v1/events", "own address"),
        ] {
            let answer = try await herald.post("/v1/delegates", #"{"url": "\#(url)"}"#)
            #expect(answer.status == 422, "\(url)")
            #expect(answer.errors == ["/url"], "\(url)")
            #expect(answer.text.contains(rule), "\(url): \(answer.text)")
        }
    }

    @Test("--allow-networks opens exactly what it names; --deny-networks closes loopback")
    func networks() async throws {
        let herald = try await HeraldProcess.start([
            "--allow-networks", "10.1.0.0/16", "--deny-networks", "127.0.0.0/8",
        ])
        func status(_ url: String) async throws -> Int {
            try await herald.post("/v1/delegates", #"{"url": "\#(url)"}"#).status
        }
        #expect(try await status("http://10.1.2.3/") == 201)
        #expect(try await status("http://10.2.0.1/") == 422)
        #expect(try await status("http://127.0.0.1:9/") == 422)
        #expect(try await status("http://169.254.169.254/") == 422)
    }

    @Test("a refusal names the setting that allows the address")
    func namedSetting() async throws {
        let herald = try await HeraldProcess.start()
        for (url, network) in [
            ("http://10.0.0.1/", "10.0.0.0/8"), ("http://[fd00::1]/", "fc00::/7"),
            ("http://169.254.169.254/", "169.254.169.254/32"),
        ] {
            let answer = try await herald.post("/v1/delegates", #"{"url": "\#(url)"}"#)
            #expect(answer.text.contains("--allow-networks \(network)"), "\(answer.text)")
            let opened = try await HeraldProcess.start(["--allow-networks", network])
            #expect(try await opened.post("/v1/delegates", #"{"url": "\#(url)"}"#).status == 201, "\(url)")
        }
    }

    @Test("callbacks reach loopback without a setting only until there is a key")
    func loopback() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { _ in .status(200) }
        let id = try await herald.register(receiver.url("/first")).id
        _ = try await herald.post("/v1/events", #"{"type": "a"}"#)
        try await eventually("it is delivered") { receiver.requests.count == 1 }
        let admin = try await herald.makeKey("admin")
        let refused = try await herald.post(
            "/v1/delegates", #"{"url": "\#(receiver.url("/second"))"}"#, admin.headers)
        #expect(refused.status == 422)
        #expect(refused.text.contains("--allow-networks 127.0.0.0/8"))
        #expect(try await herald.post("/v1/events", #"{"type": "a"}"#, admin.headers).status == 202)
        let attempts = try await herald.get("/v1/delegates/\(id)/attempts", admin.headers) {
            $0.text.contains("address_refused")
        }
        #expect(attempts.text.contains("--allow-networks 127.0.0.0/8"))
        #expect(receiver.requests.count == 1)
        let keyed = try await HeraldProcess.start(
            environment: ["HERALD_ALLOW_NETWORKS": "10.0.0.0/8"], adminKey: MadeKey.admin.text)
        let body = #"{"url": "\#(receiver.url())"}"#
        #expect(try await keyed.post("/v1/delegates", body).status == 422)
        let open = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        #expect(try await open.post("/v1/delegates", body).status == 201)
    }

    @Test("addresses of cloud metadata stay closed in any wider network; each opens by its own")
    func metadata() async throws {
        let herald = try await HeraldProcess.start([
            "--allow-networks", "169.254.0.0/16,fd00::/8,169.254.170.23",
        ])
        for (url, status) in [
            ("http://169.254.170.2/", 422), ("http://[fd00:ec2::23]/", 422), ("http://169.254.169.254/", 422),
            ("http://169.254.170.23/", 201), ("http://169.254.170.3/", 201), ("http://[fd00:ec2::24]/", 201),
        ] {
            #expect(try await herald.post("/v1/delegates", #"{"url": "\#(url)"}"#).status == status, "\(url)")
        }
    }

    @Test("an idempotency key makes a registration repeatable, with the secret")
    func idempotency() async throws {
        let herald = try await HeraldProcess.start()
        let body = #"{"url": "http://127.0.0.1:9/"}"#
        let first = try await herald.post("/v1/delegates", body, ["Idempotency-Key": "k1"])
        let again = try await herald.post("/v1/delegates", body, ["Idempotency-Key": "k1"])
        #expect(first.status == 201)
        #expect(again.status == 201)
        #expect(again.header("idempotent-replayed") == "true")
        #expect(again.header("location") == first.header("location"))
        #expect(again.body == first.body)
    }
}
