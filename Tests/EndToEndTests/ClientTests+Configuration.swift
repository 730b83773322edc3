import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The command line: configuration as code", .timeLimit(.minutes(20)))
struct ClientConfigurationTests {
    @Test("what is exported can be applied to another server, and applying it again does nothing")
    func roundTrip() async throws {
        let source = Client(try await HeraldProcess.start(adminKey: nil))
        for arguments in [
            [
                "delegates", "add", "https://one.example/", "--events", "order.*,a.b", "--rate-limit", "7",
                "--metadata=team=web",
            ],
            [
                "delegates", "add", "https://two.example/", "--filter", #"{"data": {"plan": ["pro"]}}"#,
                "--retry-schedule", "1,2.5",
            ],
            [
                "event-types", "set", "order.paid", "--example", #"{"amount": 12.50}"#, "--check", "report", "--schema",
                #"{"type": "object"}"#,
            ],
        ] {
            let done = try await Client.run(arguments, server: "http://127.0.0.1:\(source.herald.port)")
            #expect(done.end == .exited(0), "\(done.text)")
        }
        let file = try await source.run("export").text
        let target = Client(try await HeraldProcess.start())
        let dry = try await target.run("apply", "-", "--dry-run", input: file)
        #expect(dry.lines.filter { $0.hasPrefix("Would create the ") }.count == 3, "\(dry.text)")
        #expect(try await target.run("delegates", "list", "--kind=webhook").text == "No delegates.")
        let applied = try await target.run("apply", "-", input: file)
        #expect(applied.end == .exited(0) && applied.lines.count == 4, "\(applied.text)")
        #expect(applied.lines.contains("Created the event type order.paid."), "\(applied.text)")
        #expect(try await target.run("apply", "-", input: file).text == "Unchanged: 3.")
        #expect(Self.sorted(try await target.run("export").text) == Self.sorted(file))
        #expect(!file.contains("whsec_"))
    }

    @Test("what a server can have can be applied: a long file, and a schema that is nested as deep as one may be")
    func limits() async throws {
        let (source, target) = (Client(try await HeraldProcess.start()), Client(try await HeraldProcess.start()))
        let nested = String(repeating: "[", count: 62) + String(repeating: "]", count: 62)
        let set = try await source.run("event-types", "set", "a.b", "--example", nested)
        #expect(set.end == .exited(0), "\(set.text)")
        let exported = try await source.run("export").text
        let folder = TemporaryFolder()
        let file = try folder.write(exported + String(repeating: " ", count: 17 << 20), to: "herald.json")
        let applied = try await target.run("apply", file)
        #expect(applied.lines == ["Created the event type a.b.", "Unchanged: 0."], "\(applied.text.prefix(1_000))")
        let empty = try await target.run("apply", "-")
        #expect(empty.end == .exited(65) && empty.text.contains("The standard input is not JSON"), "\(empty.text)")
    }

    @Test("only what differs is changed, and what the file does not name stays")
    func changes() async throws {
        let client = Client(try await HeraldProcess.start())
        _ = try await client.run(
            "delegates", "add", "https://one.example/", "--rate-limit", "7", "--description", "One")
        let described = try await client.run(
            "event-types", "set", "a.b", "--description", "Old", "--check", "report", "--schema", "{}")
        #expect(described.end == .exited(0), "\(described.text)")
        let file =
            #"{"delegates": [{"url": "https://one.example/", "rate_limit": 9}], "event_types": [{"type": "a.b", "description": "New"}]}"#
        let applied = try await client.run("apply", "-", input: file)
        #expect(
            applied.lines == [
                "Changed the event type a.b: description.", "Changed the delegate https://one.example/: rate_limit.",
                "Unchanged: 0.",
            ], "\(applied.text)")
        let delegate = try #require(try await client.run("delegates", "list", "--kind=webhook", "--json").json.first)
        #expect(delegate["rate_limit"]?.integer == 9 && delegate.text("description") == "One")
        let type = try await client.run("event-types", "show", "a.b", "--json").document()
        #expect(type.text("description") == "New" && type.text("check") == "report")
        let json = try await client.run(
            "apply", "-", "--json", input: #"{"delegates": [{"url": "https://one.example/", "max_in_flight": 2}]}"#)
        #expect(try json.document()["settings"]?.plainText == "max_in_flight", "\(json.text)")
    }

    @Test("of several webhooks with one URL, a file changes the most similar one, and adds those that are missing")
    func neighbors() async throws {
        let client = Client(try await HeraldProcess.start())
        func file(_ rate: Int) -> String {
            #"""
            {"delegates": [
              {"url": "https://one.example/", "events": ["user.*"], "request": {"preset": "slack", "body": {"text": "{{ type }}"}}},
              {"url": "https://one.example/", "events": ["order.*"], "rate_limit": \#(rate)},
              {"url": "https://one.example/", "events": ["user.*"], "rate_limit": 1}]}
            """#
        }
        for arguments in [["--events", "user.*", "--rate-limit", "1"], ["--events", "order.*"]] {
            let added = try await Client.run(
                ["delegates", "add", "https://one.example/"] + arguments,
                server: "http://127.0.0.1:\(client.herald.port)")
            #expect(added.end == .exited(0), "\(added.text)")
        }
        let applied = try await client.run("apply", "-", input: file(5))
        #expect(
            applied.lines == [
                "Created the delegate https://one.example/.", "Changed the delegate https://one.example/: rate_limit.",
                "Unchanged: 1.",
            ], "\(applied.text)")
        #expect(try await client.run("apply", "-", input: file(5)).text == "Unchanged: 3.")
        let changed = try await client.run("apply", "-", input: file(6))
        #expect(changed.lines.first == "Changed the delegate https://one.example/: rate_limit.", "\(changed.text)")
        #expect(try await client.run("delegates", "list", "--kind=webhook", "--json").json.count == 3)
    }

    @Test("null resets a setting, once; the secret of a new webhook is shown if wanted")
    func resets() async throws {
        let client = Client(try await HeraldProcess.start())
        _ = try await client.run(
            "delegates", "add", "https://one.example/", "--timeout", "7", "--metadata=team=web", "--rate-limit", "3")
        let settings = ConfigurationKind.delegates.settings.filter { $0 != "signature" }
        let members = settings.map { "\"\($0)\": null" }.joined(separator: ", ")
        let file = #"{"delegates": [{"url": "https://one.example/", \#(members)}]}"#
        let applied = try await client.run("apply", "-", input: file)
        #expect(
            applied.lines.first == "Changed the delegate https://one.example/: metadata, rate_limit, timeout_seconds.",
            "\(applied.text)")
        #expect(try await client.run("apply", "-", input: file).text == "Unchanged: 1.")
        let type = #"{"event_types": [{"type": "a.b", "check": null, "description": null, "schema": null}]}"#
        _ = try await client.run("apply", "-", input: type)
        #expect(try await client.run("apply", "-", input: type).text == "Unchanged: 1.")

        let new = #"{"delegates": [{"url": "https://two.example/"}]}"#
        let made = try await client.run("apply", "-", "--show-secrets", input: new)
        #expect(made.lines.first?.contains("Its secret: whsec_") == true, "\(made.text)")
        let hidden = try await client.run(
            "apply", "-", input: new.replacing("two", with: "three"))
        #expect(hidden.end == .exited(0) && !hidden.text.contains("whsec_"), "\(hidden.text)")
    }

    @Test("of the metadata, members that the file does not name stay")
    func metadata() async throws {
        let client = Client(try await HeraldProcess.start())
        _ = try await client.run(
            "delegates", "add", "https://one.example/", "--metadata=team=web", "--metadata=tier=1")
        let file = #"{"delegates": [{"url": "https://one.example/", "metadata": {"team": "shop", "tier": null}}]}"#
        let applied = try await client.run("apply", "-", input: file)
        #expect(applied.lines.first == "Changed the delegate https://one.example/: metadata.", "\(applied.text)")
        #expect(try await client.run("apply", "-", input: file).text == "Unchanged: 1.")
        let other = file.replacing(#""team": "shop", "tier": null"#, with: #""stage": "test""#)
        #expect(try await client.run("apply", "-", input: other).lines.first == applied.lines.first)
        #expect(try await client.run("apply", "-", input: other).text == "Unchanged: 1.")
        #expect(try await client.run("export").text.contains(#""metadata":{"stage":"test","team":"shop"}"#))
    }

    @Test("apps are exported and made with an admin key")
    func apps() async throws {
        let client = Client(try await HeraldProcess.start())
        let file = #"{"apps": [{"name": "shop", "max_delegates": 5}]}"#
        let made = try await client.run("apply", "-", input: file)
        #expect(made.lines.first == "Created the app shop.", "\(made.text)")
        #expect(try await client.run("apply", "-", input: file).text == "Unchanged: 1.")
        let more = try await client.run("apply", "-", input: file.replacing("5", with: "6"))
        #expect(more.lines.first == "Changed the app shop: max_delegates.", "\(more.text)")
        #expect(try await client.run("export").text.contains(#"{"name":"shop","max_delegates":6}"#))
        let titled = #"{"apps": [{"name": "shop", "portal": {"title": "Shop"}}]}"#
        let portal = try await client.run("apply", "-", input: titled)
        #expect(portal.lines.first == "Changed the app shop: portal.", "\(portal.text)")
        #expect(try await client.run("apply", "-", input: titled).text == "Unchanged: 1.")
        #expect(!(try await client.run("export", "--app", "shop").text.contains("\"apps\"")))
    }

    @Test("a file that is wrong is refused before anything is done")
    func wrong() async throws {
        let client = Client(try await HeraldProcess.start())
        for (file, reason) in [
            ("{", "is not JSON"), ("[]", "must be an object"), (#"{"webhooks": []}"#, "webhooks is not a member"),
            (#"{"delegates": {}}"#, "must be an array"), (#"{"delegates": [{"rate_limit": 1}]}"#, "\"url\""),
            (#"{"delegates": [{"url": "https://a.example/", "secret": "x"}]}"#, "\"secret\""),
            (#"{"delegates": [{"url": "https://a.example/"}, {"url": "https://a.example/"}]}"#, "twice"),
        ] {
            let text = file.replacing(#"{"delegates": ["#, with: #"{"event_types": [{"type": "a.b"}], "delegates": ["#)
            let result = try await client.run("apply", "-", input: text)
            #expect(result.end == .exited(65) && result.text.contains(reason), "\(result.text)")
        }
        #expect(try await client.run("event-types", "list").text == "No types have a description.")
    }

    @Test("a refused request names what it was for")
    func refused() async throws {
        let client = Client(try await HeraldProcess.start())
        let file = #"{"event_types": [{"type": "a.b"}], "delegates": [{"url": "ftp://a.example/"}]}"#
        let result = try await client.run("apply", "-", input: file)
        #expect(result.end == .exited(1) && result.text.contains("delegate ftp://a.example/: "), "\(result.text)")
        #expect(try await client.run("event-types", "show", "a.b").end == .exited(0))
    }

    @Test("pull delegates are exported and made, found by their description, and changed")
    func pulls() async throws {
        let source = Client(try await HeraldProcess.start())
        for arguments in [
            ["--events", "order.*", "--description", "Orders", "--ack", "90", "--metadata=team=web"],
            ["--ordering", "strict"],
        ] {
            let added = try await Client.run(
                ["delegates", "add", "--kind", "pull"] + arguments, server: "http://127.0.0.1:\(source.herald.port)")
            #expect(added.end == .exited(0), "\(added.text)")
        }
        let file = try await source.run("export").text
        let target = Client(try await HeraldProcess.start())
        let dry = try await target.run("apply", "-", "--dry-run", input: file)
        #expect(dry.end == .exited(0) && dry.text.contains("Only compared: pull delegates. "), "\(dry.text)")
        let applied = try await target.run("apply", "-", input: file)
        #expect(applied.end == .exited(0), "\(applied.text)")
        #expect(
            applied.lines.sorted() == [
                "Created the pull delegate Orders.", "Created the pull delegate.", "Unchanged: 0.",
            ], "\(applied.text)")
        #expect(try await target.run("apply", "-", input: file).text == "Unchanged: 2.")
        #expect(Self.sorted(try await target.run("export").text) == Self.sorted(file))

        let change =
            #"{"pull_delegates": [{"description": "Orders", "ack_seconds": null, "metadata": null}, {"ordering": "none"}]}"#
        let changed = try await target.run("apply", "-", input: change)
        #expect(
            changed.lines.sorted() == [
                "Changed the pull delegate Orders: metadata, ack_seconds.", "Changed the pull delegate: ordering.",
                "Unchanged: 0.",
            ], "\(changed.text)")
        #expect(try await target.run("apply", "-", input: change).text == "Unchanged: 2.")
        let delegates = try await target.run("delegates", "list", "--kind=pull", "--json").json
        #expect(delegates.count == 2)
        #expect(delegates.allSatisfy { $0["ack_seconds"]?.integer == 60 && $0.text("ordering") == "none" })
        #expect(delegates.contains { $0.text("description") == "Orders" && $0.text("events") == "order.*" })
    }

    @Test("a dry run refuses a webhook that the server would refuse, and names the kinds that it only compares")
    func dryRun() async throws {
        let client = Client(try await HeraldProcess.start())
        for url in ["http://10.0.0.1/", "http://192.168.1.1:8080/", "ftp://a.example/"] {
            let file = #"{"delegates": [{"url": "\#(url)"}]}"#
            let dry = try await client.run("apply", "-", "--dry-run", input: file)
            #expect(dry.end == .exited(1) && dry.text.contains("delegate \(url): "), "\(dry.text)")
            #expect(try await client.run("apply", "-", input: file).text == dry.text)
        }
        _ = try await client.run("delegates", "add", "https://one.example/")
        func change(_ setting: String) async throws -> Client.Result {
            let file =
                #"{"event_types": [{"type": "a.b"}], "delegates": [{"url": "https://one.example/", \#(setting)}]}"#
            return try await client.run("apply", "-", "--dry-run", input: file)
        }
        let wrong = try await change(#""request": {"preset": "unknown"}"#)
        #expect(wrong.end == .exited(1) && wrong.text.contains("delegate https://one.example/: "), "\(wrong.text)")
        let right = try await change(#""rate_limit": 5"#)
        #expect(right.end == .exited(0), "\(right.text)")
        #expect(right.lines.contains("Would change the delegate https://one.example/: rate_limit."), "\(right.text)")
        #expect(right.text.contains("Only compared: event types. "), "\(right.text)")
        let delegate = try #require(try await client.run("delegates", "list", "--kind=webhook", "--json").json.first)
        #expect(delegate["rate_limit"]?.isNull == true)
    }

    @Test("with a key that only reads, a dry run compares webhooks and says so")
    func readingKey() async throws {
        let client = Client(try await HeraldProcess.start(adminKey: MadeKey.admin.text))
        let key = try client.herald.folder.write(try await client.herald.makeKey("read").text, to: "key")
        let file = #"{"delegates": [{"url": "https://one.example/"}]}"#
        let dry = try await client.run("apply", "-", "--dry-run", "--key-file", key, input: file)
        #expect(dry.end == .exited(0), "\(dry.text)")
        #expect(dry.lines.contains("Would create the delegate https://one.example/."), "\(dry.text)")
        #expect(dry.text.contains("Only compared: delegates. "), "\(dry.text)")
    }

    /// The elements of the lists, in an order that does not depend on times.
    private static func sorted(_ file: String) -> [String] {
        guard let document = try? JSONDocument(parsing: file) else { return [file] }
        return document.root.members.flatMap { $0.value.elements.map(\.canonicalText) }.sorted()
    }
}
