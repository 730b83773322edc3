import Glibc
import HeraldAPI
import HeraldJSON
import HeraldReceiver
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The command line with a server", .timeLimit(.minutes(20)))
struct ClientTests {
    @Test("a delegate is added, listed, changed, paused, resumed, tested, given a new secret, and removed")
    func delegates() async throws {
        let receiver = try Receiver()
        let client = Client(try await HeraldProcess.start())
        let added = try await client.run(
            "delegates", "add", receiver.url(), "--events", "order.*,auth.logged_in", "--metadata=team=web",
            "--retry-schedule", "1,2.5", "--max-in-flight=4", "--header", "X-Key: s3cret",
            "--filter", #"{"data": {"plan": ["pro"]}}"#, "--json")
        #expect(added.end == .exited(0), "\(added.text)")
        let delegate = try #require(added.json.first)
        let id = delegate.text("id")
        #expect(delegate["events"]?.plainText == "order.*, auth.logged_in")
        #expect(delegate["metadata"]?["team"]?.string == "web")
        #expect(delegate["retry_schedule"]?.plainText == "1, 2.5")
        #expect(delegate["max_in_flight"]?.integer == 4)
        #expect(delegate["header_names"]?.plainText == "X-Key")
        #expect(delegate["filter"]?.compactText == #"{"data":{"plan":["pro"]}}"#)
        #expect(delegate.text("secret").hasPrefix("whsec_"))

        let table = try await client.run("delegates", "list", "--kind", "webhook")
        #expect(table.lines.count == 2)
        #expect(table.lines[0].hasPrefix("ID    ") && table.lines[0].hasSuffix("URL"))
        #expect(table.lines[1].hasPrefix("\(id)  webhook  active  ") && table.lines[1].hasSuffix("  \(receiver.url())"))
        #expect(!table.text.contains("\u{1b}"), "no colours where there is no terminal")

        let changed = try await client.run(
            "delegates", "change", id, "--rate-limit", "7", "--filter", "default", "--events=*", "--json")
        #expect(changed.json.first?["rate_limit"]?.integer == 7)
        #expect(changed.json.first?["filter"]?.isNull == true)
        #expect(try await client.run("delegates", "pause", id).text == "\(id) is paused.")
        #expect(try await client.run("delegates", "resume", id).text == "\(id) is active.")
        let shown = try await client.run("delegates", "show", id)
        #expect(shown.lines.contains { $0.hasPrefix("rate limit  ") && $0.hasSuffix(" 7") }, "\(shown.text)")
        #expect(shown.lines.contains { $0.hasPrefix("flow  ") && $0.contains(" circuit closed") }, "\(shown.text)")

        let tested = try await client.run("delegates", "test", id)
        #expect(tested.end == .exited(0))
        #expect(tested.lines.contains { $0.hasPrefix("outcome ") && $0.hasSuffix("succeeded") }, "\(tested.text)")
        let rotated = try await client.run("delegates", "rotate", id, "--overlap", "0", "--json")
        #expect(rotated.json.first?.text("secret").hasPrefix("whsec_") == true)
        #expect(rotated.json.first?.text("secret") != delegate.text("secret"))
        let words = try await client.run("delegates", "stats", id)
        #expect(words.lines.contains("attempts in the last hour  delivered 0, failed 0"), "\(words.text)")
        let stats = try await client.run("delegates", "stats", id, "--json")
        #expect(stats.json.first?.text("delegate") == id)

        #expect(try await client.run("delegates", "remove", id).text == "Removed \(id).")
        #expect(try await client.run("delegates", "list", "--kind=webhook").text == "No delegates.")
        #expect(try await client.run("delegates", "remove", "--all", "--yes").text == "Removed 0.")
        #expect(try await client.run("delegates", "remove").end == .exited(64))
    }

    @Test("an event's story is shown, and the event is sent again")
    func events() async throws {
        let receiver = try Receiver()
        let client = Client(try await HeraldProcess.start())
        let delegate = try await client.herald.register(receiver.url(), "\"description\": \"Billing\"").id
        let id = try await client.run("publish", "order.paid", "--subject", "order:1", "--data", #"{"amount": 12.5}"#)
            .text
        _ = try await client.herald.deliveries(of: id, "delivered")

        let list = try await client.run("events", "list", "--type", "order.*", "--limit=1")
        #expect(list.lines.count == 2)
        #expect(list.lines[1].hasSuffix("  \(id)  order.paid  order:1  {\"amount\": 12.5}"), "\(list.text)")
        let story = try await client.run("events", "show", id)
        #expect(story.lines.contains { $0.hasPrefix("\(delegate)  delivered  1 ") }, "\(story.text)")
        #expect(story.lines.contains { $0.contains("  \(delegate)  1 ") && $0.contains("succeeded") }, "\(story.text)")
        #expect(story.text.contains(#"data  {"amount": 12.5}"#))

        let again = try await client.run("events", "redeliver", id, "--delegate", delegate)
        #expect(again.text == "Deliveries to repeat: 1.")
        _ = try await client.herald.get("/v1/delegates/\(delegate)/attempts") { $0.data.count == 2 }
        let attempts = try await client.run("delegates", "attempts", delegate, "--json", "--all")
        #expect(attempts.json.map { $0.text("event") } == [id, id])
    }

    @Test("exhausted deliveries are listed and sent again")
    func deliveries() async throws {
        let receiver = try Receiver { _ in .status(500) }
        let client = Client(try await HeraldProcess.start())
        let delegate = try await client.herald.register(receiver.url(), "\"retry_schedule\": []").id
        let event = try await client.herald.publish()
        _ = try await client.herald.deliveries(of: event, "exhausted")
        let list = try await client.run("deliveries", "list", "--state", "exhausted")
        #expect(list.lines.count == 2 && list.lines[1].contains("\(delegate)  exhausted  1 "), "\(list.text)")
        let dry = try await client.run("deliveries", "redeliver", "--delegate", delegate, "--dry-run")
        #expect(dry.text == "Deliveries to repeat: 1 (dry run).")
        #expect(
            try await client.run("deliveries", "redeliver", "--event=\(event)", "--json").document()["deliveries"]?
                .integer
                == 1)
        // Before that it might be cancelled.
        _ = await receiver.requests(2)
        _ = try await client.herald.deliveries(of: event, "exhausted")
        #expect(
            try await client.run("deliveries", "cancel", "--state=retrying", "--yes").text
                .hasPrefix("Deliveries cancelled: "))
        let refused = try await client.run("deliveries", "redeliver", "--status=exhausted")
        #expect(refused.end == .exited(64) && refused.text.contains("use --yes"), "\(refused.text)")
        let found = try await client.run(
            "deliveries", "list", "--since", "1h", "--status", "exhausted", "--error", "500")
        #expect(found.lines.count == 2, "\(found.text)")
        let counts = try await client.run("deliveries", "counts", "--type", "*", "--error", "500,timeout")
        #expect(counts.lines.last == "1 in all.", "\(counts.text)")
        let repeated = try await client.run("deliveries", "redeliver", "--failed-since", "1h", "--yes")
        #expect(repeated.text == "Deliveries to repeat: 1.")
        let failed = try await client.run("delegates", "test", delegate)
        #expect(failed.end == .exited(1))
        #expect(failed.lines.contains { $0.hasPrefix("outcome ") && $0.hasSuffix("failed") }, "\(failed.text)")
    }

    @Test("state and auth are set and read")
    func state() async throws {
        let client = Client(try await HeraldProcess.start())
        #expect(try await client.run("state", "get").text == "No state has been set yet.")
        #expect(try await client.run("state", "set", "idle", "--json").document().text("state") == "idle")
        #expect(try await client.run("state", "set", #"{"sync": "on"}"#).lines[0] == "state     sync on")
        #expect(try await client.run("state", "get", "--json").document()["state"]?["sync"]?.string == "on")
        let login = try await client.run(
            "auth", "login", "ä b", "--user", #"{"id": "ä b", "name": "Ada"}"#, "--json")
        #expect(try login.document()["user"]?["name"]?.string == "Ada", "\(login.text)")
        #expect(try await client.run("auth", "logout", "ä b").lines[1] == "status    logged_out")
        #expect(try await client.run("auth", "get", "ä b", "--json").document().text("status") == "logged_out")
        #expect(try await client.run("auth", "get", "nobody").lines[1] == "status   unknown")
    }

    @Test("lists are read page by page, and --json prints one document per line, for any data")
    func pages() async throws {
        let client = Client(try await HeraldProcess.start())
        let input = (1...450).map { #"{"type": "n.counted", "data": {"n": \#($0)}}"# }.joined(separator: "\n")
        #expect(try await client.run("publish", "--ndjson", input: input).end == .exited(0))
        let all = try await client.run("events", "list", "--type", "n.*", "--all", "--json")
        #expect(all.lines.count == 450)
        #expect(all.json.compactMap { $0["data"]?["n"]?.integer } == (1...450).reversed())
        #expect(try await client.run("events", "list", "--limit", "201", "--json").lines.count == 201)
        let first = try await client.run("events", "list").lines
        #expect(first.count == 52 && first.contains("The first 50. There are more: --all, or --limit NUMBER."))
        _ = try await client.herald.post("/v1/events", "{\"type\": \"a\", \"data\": {\n\"b\":\r\n[1,\n2]}}")
        let broken = try await client.run("events", "list", "--type=a", "--json")
        #expect(try broken.lines.count == 1 && broken.document()["data"]?["b"]?.count == 2)
    }

    @Test("control characters are not printed")
    func escaping() async throws {
        let client = Client(try await HeraldProcess.start())
        let data = "{\"type\": \"a\", \"subject\": \"\\u001b[2J\u{202e}x\"}"
        #expect(try await client.herald.post("/v1/events", data).status == 202)
        let list = try await client.run("events", "list")
        #expect(list.text.contains(#"\u{1b}[2J\u{202e}x"#), "\(list.text)")
    }

    @Test("a refusal is printed as a sentence, with each field, and exit code 1")
    func refusals() async throws {
        let client = Client(try await HeraldProcess.start())
        let add = try await client.run("delegates", "add", "ftp://x", "--max-in-flight", "0", "--format", "xml")
        #expect(add.end == .exited(1))
        #expect(add.lines[0] == "herald: Nothing was done:", "\(add.text)")
        for given in ["URL", "--max-in-flight", "--format"] {
            #expect(add.lines.contains { $0.hasPrefix("  \(given) must ") && $0.hasSuffix(".") }, "\(add.text)")
        }
        let none = try await client.run("events", "show", "evt_none")
        #expect(none.end == .exited(1))
        #expect(none.text == "herald: Not found: There is no event with the id evt_none.")
        #expect(try await client.run("delegates", "remove", "..").end == .exited(1))
    }

    @Test("remove --all requires --yes without a terminal")
    func removalOfAll() async throws {
        let client = Client(try await HeraldProcess.start())
        for port in 1...2 { _ = try await client.herald.register("http://127.0.0.1:\(port)/") }
        let refused = try await client.run("delegates", "remove", "--all")
        #expect(refused.end == .exited(64))
        #expect(refused.text.contains("Remove all 2 webhooks of http://127.0.0.1:"), "\(refused.text)")
        #expect(refused.text.hasSuffix("use --yes."), "\(refused.text)")
        _ = try await client.herald.post("/v1/delegates", #"{"kind": "pull"}"#)
        let more = try await client.run("delegates", "remove", "--all")
        #expect(
            more.text.contains("Remove all 2 webhooks and the only pull delegate of http://127.0.0.1:"), "\(more.text)")
        #expect(try await client.run("delegates", "list", "--kind=webhook").lines.count == 3)
        #expect(try await client.run("delegates", "remove", "--all", "--yes").text == "Removed 3.")
    }

    @Test("apps delete requires --yes without a terminal")
    func deletionOfAnApp() async throws {
        let client = Client(try await HeraldProcess.start())
        _ = try await client.run("apps", "create", "shop")
        let refused = try await client.run("apps", "delete", "shop")
        #expect(refused.end == .exited(64))
        #expect(refused.text.contains("Delete the app shop of http://127.0.0.1:"), "\(refused.text)")
        #expect(try await client.run("apps", "delete", "shop", "--yes").end == .exited(0))
    }

    @Test("a time may be a duration: 1h is an hour ago, or in an hour for times in the future")
    func durations() async throws {
        let receiver = try Receiver()
        let client = Client(try await HeraldProcess.start())
        for (type, time) in [("a.old", "3h"), ("a.young", "30m")] {
            let posted = try await client.run("publish", type, "--time", time)
            #expect(posted.end == .exited(0), "\(posted.text)")
        }
        let times = try await client.run("events", "list", "--type=a.*", "--json").json.map {
            try #require($0["time"]?.timestamp).milliseconds
        }
        // The second was posted after the first, and 150 minutes younger.
        try #require(times.count == 2)
        #expect((0..<600_000).contains(times[0] - times[1] - 150 * 60_000), "\(times)")

        for (flag, type) in [("--since", "a.young"), ("--until", "a.old")] {
            let list = try await client.run("events", "list", "--type=a.*", flag, "1h", "--json")
            #expect(list.json.map { $0.text("type") } == [type], "\(list.text)")
        }
        #expect(try await client.run("delegates", "add", receiver.url(), "--start", "1d").end == .exited(0))
        #expect(await receiver.requests(2).count == 2)
        let id = try #require(
            try await client.run("delegates", "list", "--kind=webhook", "--json").document()["id"]?.string)
        let replayed = try await client.run("delegates", "replay", id, "--from", "1d", "--until", "1s", "--json")
        #expect(replayed.end == .exited(0), "\(replayed.text)")

        let listening = try await ListenTests.start(["listen", "--after", "1d", "--json"], at: client.herald)
        try await eventually("both are shown") { listening.lines.count { $0.contains(#""type":"a."#) } == 2 }
        listening.signal(SIGTERM)
        _ = try await listening.ended()

        let key = try await client.run("keys", "create", "x", "--scope=admin", "--expires-at", "90d", "--json")
        let ends = try #require(try key.document()["expires_at"]?.timestamp).milliseconds
        #expect((89 * 86_400_000..<91 * 86_400_000).contains(ends - Clock.system.wall()), "\(key.text)")
    }

    @Test("openapi prints the description of the given server")
    func openapi() async throws {
        let description = #"{"openapi": "3.1.0", "info": {"title": "Another Herald"}}"#
        let other = try Receiver { request in
            request.path.hasSuffix("/openapi.yaml")
                ? .status(200, body: "# Of another version\nopenapi: 3.1.0\n")
                : request.path.hasSuffix("/openapi.json") ? .status(200, body: description) : .status(404)
        }
        let json = try await Client.run(["openapi", "--server", other.url()])
        #expect(json.end == .exited(0) && json.text == description, "\(json.text)")
        #expect(try await Client.run(["openapi"], server: other.url()).text == description)
        let yaml = try await Client.run(["openapi", "--yaml", "--server=\(other.url())"])
        #expect(yaml.text.hasPrefix("# Of another version"), "\(yaml.text)")
        let none = try await Client.run(["openapi", "--server=\(other.url())/nothing-here"])
        #expect(none.end == .exited(0), "the path before it is kept: \(none.text)")
        let herald = try await HeraldProcess.start()
        let own = try await Client.run(["openapi", "--server", "127.0.0.1:\(herald.port)"])
        #expect(own.text == (try await Client.run(["openapi"]).text))

        let silent = try Receiver { _ in .status(200, body: "{}") }
        #expect(try await Client.run(["openapi", "--server", silent.url()]).end == .exited(69))
        #expect(try await Client.run(["openapi", "--yaml", "--server", silent.url()]).end == .exited(69))
    }

    @Test("every problem is described in terms of the command line, not of HTTP")
    func words() async throws {
        let problems = Self.problems
        #expect(problems.count > 20)
        // The delegate's id says which of them is answered.
        let receiver = try Receiver { request in
            let name = request.path.split(separator: "/").last.map(String.init) ?? ""
            return problems[name].map {
                .status(
                    Int($0["status"]?.integer ?? 400), headers: [("Content-Type", "application/problem+json")],
                    body: $0.compactText)
            } ?? .status(500)
        }
        for name in problems.keys.sorted() {
            let result = try await Client.run(
                ["delegates", "change", name, "--lease", "5", "--server", receiver.url()])
            #expect([.exited(1), .exited(70), .exited(75)].contains(result.end), "\(name): \(result.text)")
            #expect(result.text.count > 20)
            let ofHTTP =
                #/\b(GET|POST|PUT|PATCH|DELETE|HTTP|Authorization|Bearer|Accept|If-Match|Content-Type|Idempotency-Key|[Hh]eader|[Bb]ody|[Rr]equest|parameter|pointer)\b|/v1/|lease_seconds|max_stored_bytes/#
            #expect(result.text.firstMatch(of: ofHTTP) == nil, "\(name): \(result.text)")
        }
    }

    /// The problems in openapi.yaml, by the last segment of their type.
    private static var problems: [String: JSONValue] {
        func below(_ value: JSONValue) -> [JSONValue] {
            if value.kind == .array { return value.elements.flatMap(below) }
            guard value.kind == .object else { return [] }
            return (value["type"]?.string?.hasPrefix("/problems/") == true ? [value] : [])
                + value.members.flatMap { below($0.value) }
        }
        guard let root = try? JSONDocument(parsing: APIDescription.json, limits: JSONLimits(values: 200_000)).root
        else { return [:] }
        return Dictionary(
            below(root).map { ($0.text("type").split(separator: "/").last.map(String.init) ?? "", $0) },
            uniquingKeysWith: { one, _ in one })
    }

    @Test("refusals name commands and flags that help")
    func help() async throws {
        let client = Client(try await HeraldProcess.start())
        let id = try await client.herald.register("http://127.0.0.1:9/").id
        let other = try await client.run("delegates", "add", "http://127.0.0.1:9/", "--rate-limit=5")
        #expect(other.text.contains("`herald delegates change \(id)` changes"), "\(other.text)")
        let lease = try await client.run("delegates", "renew", id)
        #expect(lease.text.contains("`herald delegates change \(id) --lease SECONDS`"), "\(lease.text)")
        let listening = try await ListenTests.start(["listen", "--after", "evt_none"], at: client.herald)
        try await eventually("that is told") { listening.text.contains("`herald events list` lists those") }
        listening.signal(SIGTERM)
        _ = try await listening.ended()
        let overlap = try await client.run("delegates", "add", "http://127.0.0.1:9/x", "--lease", "1")
        #expect(overlap.text.hasPrefix("herald: --lease must "), "\(overlap.text)")
        let filter = try await client.run(
            "delegates", "add", "http://127.0.0.1:9/x", "--filter", #"{"data": {"a": [{"nope": 1}]}}"#)
        #expect(filter.text.hasPrefix("herald: --filter, at /data/a"), "\(filter.text)")
        let since = try await client.run("events", "list", "--since", "yesterday")
        #expect(since.end == .exited(64) && since.text.hasSuffix("or 1h for an hour ago."), "\(since.text)")
        let empty = try await client.run("delegates", "show", "")
        #expect(empty.end == .exited(64) && empty.text.hasPrefix("herald: ID is empty"), "\(empty.text)")

        let key = try await client.run("keys", "create", "x", "--scope=admin", "--json")
        #expect(key.end == .exited(0))
        let none = try await client.run("delegates", "list")
        #expect(
            none.text.hasSuffix("needs an access key. Give one with --key-file FILE, or in HERALD_KEY."), "\(none.text)"
        )
    }

    @Test("a missing server, or a server that is not Herald, is reported with exit code 69")
    func unreachable() async throws {
        let port = try unusedPort()
        let nobody = try await Client.run(["events", "list", "--server", "127.0.0.1:\(port)"])
        #expect(nobody.end == .exited(69))
        #expect(nobody.text.hasPrefix("herald: http://127.0.0.1:\(port) was not reached: "), "\(nobody.text)")
        let other = try Receiver { _ in .status(200) }
        let answer = try await Client.run(["events", "list", "--server=\(other.url())"])
        #expect(answer.end == .exited(69))
        #expect(answer.text.contains("is not a Herald server"), "\(answer.text)")
        #expect(try await Client.run(["events", "list", "--server", "ftp://127.0.0.1"]).end == .exited(64))
        #expect(try await Client.run(["events", "list", "--server", "http://a b"]).end == .exited(64))
    }

    @Test("an https server is trusted with the given authority, and with no other")
    func tls() async throws {
        let authority = try CertificateAuthority()
        let folder = TemporaryFolder()
        let file = try folder.write(authority.pem, to: "ca.pem")
        var configuration = Receiver.Configuration()
        configuration.tls = ReceiverTLS(authority, names: ["localhost"])
        let receiver = try Receiver(configuration) { _ in .status(200, body: #"{"state": "idle"}"#) }
        let port = try #require(receiver.url().split(separator: ":").last?.prefix { $0.isNumber })
        let server = "https://localhost:\(port)/behind/a/proxy/"
        let good = try await Client.run(["state", "get", "--server", server, "--certificate-authorities", file])
        #expect(good.end == .exited(0))
        #expect(good.text == "state  idle")
        #expect(receiver.requests.last?.path == "/behind/a/proxy/v1/app-state")
        let bad = try await Client.run(["state", "get", "--server", server])
        #expect(bad.end == .exited(69))
        #expect(bad.text.contains("certificate"), "\(bad.text)")
    }

    @Test("a busy or failing server is distinguished from one that refuses")
    func busy() async throws {
        let receiver = try Receiver { request in
            request.path.hasPrefix("/v1/auth") ? .status(500) : .status(503, headers: [("Retry-After", "7")])
        }
        let busy = try await Client.run(["state", "get", "--server", receiver.url()])
        #expect(busy.end == .exited(75))
        #expect(busy.text.hasSuffix("Try again in 7 s."), "\(busy.text)")
        #expect(try await Client.run(["auth", "get", "1", "--server", receiver.url()]).end == .exited(70))
    }
}
