import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The command line: lists", .timeLimit(.minutes(20)))
struct ClientListTests {
    @Test("narrow cells: the end of an id, the time from now, and the host of a URL")
    func cells() {
        #expect(ShortText.id("dlg_01M7YZ2J61B6WSJHG4TYRGWBTV") == "dlg_…RGWBTV")
        #expect(ShortText.id("order-1001") == "order-1001" && ShortText.id("my_own_id") == "my_own_id")
        let now: Int64 = 1_795_000_000_000
        for (distance, words) in [
            (Int64(0), "0 s ago"), (59_999, "59 s ago"), (60_000, "1 m ago"), (3_599_000, "59 m ago"),
            (7_200_000, "2 h ago"), (172_800_000, "2 d ago"), (-90_000, "in 1 m"),
        ] {
            #expect(ShortText.time(Timestamp(milliseconds: now - distance).description, now: now) == words)
        }
        #expect(ShortText.time("", now: now) == "" && ShortText.time("10:00:00", now: now) == "10:00:00")
        #expect(ShortText.host("https://a.example:8443/x?y=/z") == "a.example:8443")
        #expect(ShortText.host("Log of the server") == "Log of the server")
    }

    @Test("each narrow list fits 80 columns with what one needs, and the wide one has everything")
    func widths() async throws {
        let herald = try await HeraldProcess.start()
        let client = Client(herald)
        let receiver = try herald.receiver { _ in .status(503) }
        let url = receiver.url("/a/long/path/that/does/not/fit/on/the/screen/at/all/in/any/way")
        let delegate = try await herald.register(url, #""retry_schedule": [86400], "description": "A long text""#).id
        let event = try await herald.publish(
            "order.paid", #""data": {"text": "\#(String(repeating: "x", count: 99))"}"#)
        _ = try await herald.deliveries(of: event, "retrying")
        func list(_ words: String, _ form: String) async throws -> [String] {
            let result = try await Client.run(
                words.split(separator: " ").map(String.init) + ["--output", form],
                server: herald.url)
            #expect(result.end == .exited(0), "\(words): \(result.text)")
            return result.lines
        }
        for words in [
            "deliveries list", "delegates list", "events list", "delegates attempts \(delegate)", "apps list",
            "audit", "events show \(event)",
        ] {
            let lines = try await list(words, "narrow")
            // The fields of a single event are no table.
            let rows = words.hasPrefix("events show") ? Array(lines.drop { !$0.hasPrefix("DELEGATE") }) : lines
            #expect(rows.count > 1 && rows.allSatisfy { $0.count <= 80 }, "\(words): \(lines.joined(separator: "\n"))")
        }
        let narrow = try #require(try await list("deliveries list", "narrow").last)
        for part in [
            "evt_…\(event.suffix(6))", "order.paid", "retrying", "503", "127.0.0.1:\(receiver.port)",
        ] {
            #expect(narrow.contains(part), "\(part) in \(narrow)")
        }
        #expect(narrow.contains(#/in (19|2\d) h/#), "\(narrow)")
        let wide = try #require(try await list("deliveries list", "wide").last)
        for part in [event, delegate, url] { #expect(wide.contains(part), "\(part) in \(wide)") }
        // As in the list.
        let short = "dlg_…\(delegate.suffix(6))"
        #expect(try await client.run("delegates", "show", short, "--json").document().text("id") == delegate)
        let shown = try await client.run("events", "show", "evt_…\(event.suffix(6))", "--json")
        #expect(try shown.document().text("id") == event)
        let filtered = try await client.run(
            "deliveries", "list", "--delegate", short, "--event", "evt_…\(event.suffix(6))", "--json")
        #expect(try filtered.document().text("event") == event, "\(filtered.text)")
        let explained = try await client.run("delegates", "explain", short, "evt_…\(event.suffix(6))")
        #expect(explained.end == .exited(0) && explained.text.hasPrefix("matches"), "\(explained.text)")
        let none = try await client.run("delegates", "show", "dlg_…000000")
        #expect(none.end == .exited(64) && none.text.contains("--output wide"), "\(none.text)")
        // Flags that no other test gives. The server refuses unknown parameters.
        for words in [
            "stats --interval 5min --since 30m --until 1s --delegate \(short)", "stats --type order.paid",
            "stats --all-apps", "events list --id-prefix evt_ --delivery retrying", "audit --limit 1",
            "events scheduled --subject a --limit 1", "events refused --limit 1",
            "delegates attempts \(delegate) --event \(event) --limit 1", "delegates replays \(delegate) --all",
            "delegates preview \(delegate) --event \(event)",
            "deliveries cancel --delegate \(short) --event \(event) --type order.* --subject a --dry-run",
            "deliveries cancel --error 5xx --failed-since 1h --since 1h --until 1s --dry-run",
            "apps create shop --events-per-second 5 --max-stored-bytes 1000000",
        ] {
            let run = try await Client.run(words.split(separator: " ").map(String.init), server: herald.url)
            #expect(run.end == .exited(0), "\(words): \(run.text)")
        }
    }

    @Test("the ids of narrow tables are completed in bodies and positions of requests, too")
    func shortIDsInBodies() async throws {
        let list = """
            {"data": [{"id": "dlg_01000001"}, {"id": "evt_01000002"}, {"id": "key_01000003"}, {"id": "app_01000004"}],
            "next_cursor": null}
            """
        let server = try Receiver { _ in .status(200, body: list) }
        defer { server.close() }
        for (arguments, id) in [
            (["keys", "create", "W", "--scope", "consume", "--delegate", "dlg_…000001", "--json"], "dlg_01000001"),
            (["delegates", "seek", "dlg_01000001", "--to", "evt_…000002", "--json"], "evt_01000002"),
            (["delegates", "replay", "dlg_01000001", "--from", "evt_…000002", "--json"], "evt_01000002"),
            (["delegates", "replay", "dlg_1", "--from=earliest", "--until", "evt_…000002", "--json"], "evt_01000002"),
            (["delegates", "add", "http://a.example/", "--start", "evt_…000002", "--json"], "evt_01000002"),
        ] {
            let run = try await Client.run(arguments, server: server.url())
            #expect(server.requests.last?.text.contains("\"\(id)\"") == true, "\(run.text)")
        }
        for arguments in [["events", "feed"], ["listen"]] {
            let run = try await Client.run(arguments + ["--after", "evt_…000002"], server: server.url())
            #expect(server.requests.last?.path.hasSuffix("=evt_01000002") == true, "\(run.text)")
        }
        for (command, path) in [("rotate", "/v1/keys/key_01000003/rotate"), ("revoke", "/v1/keys/key_01000003")] {
            let run = try await Client.run(["keys", command, "key_…000003", "--json"], server: server.url())
            #expect(server.requests.last?.path == path, "\(run.text)")
        }
        for command in ["show", "change", "delete --yes"] {
            let words = ["apps"] + command.split(separator: " ").map(String.init)
            let run = try await Client.run(words + ["app_…000004", "--json"], server: server.url())
            #expect(server.requests.last?.path == "/v1/apps/app_01000004", "\(run.text)")
        }
    }

    @Test("a client certificate of flags or variables is shown to a server that requires one; half of it is refused")
    func clientCertificate() async throws {
        let (authority, clients) = (try CertificateAuthority(), try CertificateAuthority())
        let server = try Receiver(tls: ReceiverTLS(authority, clientAuthority: clients)) { _ in
            .status(200, body: #"{"data": [], "next_cursor": null}"#)
        }
        defer { server.close() }
        let folder = TemporaryFolder()
        let identity = try clients.makeIdentity(names: ["cli.example"])
        let ca = try folder.write(authority.pem, to: "ca.pem")
        let certificate = ["--client-certificate", try folder.write(identity.certificate, to: "certificate.pem")]
        let key = ["--client-key", try folder.write(identity.key, to: "key.pem")]
        let list = ["delegates", "list", "--certificate-authorities", ca]
        let shown = try await Client.run(list + certificate + key, server: server.url(""))
        #expect(shown.end == .exited(0), "\(shown.text)")
        #expect(try await Client.run(list, server: server.url("")).end == .exited(69))
        let half = try await Client.run(list + certificate, server: server.url(""))
        #expect(half.end == .exited(64) && half.text.contains("--client-key is missing"), "\(half.text)")
        #expect(server.requestCount == 1)
        let variables = [
            "HERALD_SERVER": server.url(""), "HERALD_CERTIFICATE_AUTHORITIES": ca,
            "HERALD_CLIENT_CERTIFICATE": certificate[1], "HERALD_CLIENT_KEY": key[1],
            "HERALD_KEY_FILE": try folder.write(MadeKey.admin.text + "\n", to: "access-key"),
        ]
        let named = try await Binary.run(["delegates", "list"], environment: variables)
        #expect(named.end == .exited(0), "\(named.text)")
        #expect(server.requests.last?.header("authorization") == "Bearer " + MadeKey.admin.text)
    }

    @Test("attempts are shown as they end, those of one result if wanted")
    func attempts() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { $0.path == "/bad" ? .status(500) : .status(204) }
        let bad = try await herald.register(receiver.url("/bad"), #""retry_schedule": []"#).id
        let good = try await herald.register(receiver.url("/good")).id
        let listener = try ChildProcess(
            try Binary.path(),
            ["attempts", "--outcome", "failed", "--delegate", bad, "--server", herald.url])
        defer { listener.signal(9) }
        try await eventually("it listens") { listener.text.contains("Listening to") }
        let event = try await herald.publish()
        let row = try await eventually("the attempt is shown") { listener.lines.first { $0.contains(event) } }
        #expect(row.contains(bad) && row.contains("failed") && row.contains("500"), "\(row)")
        #expect(!listener.text.contains(good))
        listener.signal(15)
        #expect(try await listener.ended() == .exited(0))
    }
}
