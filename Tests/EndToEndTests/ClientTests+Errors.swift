import HeraldReceiver
import HeraldTestSupport
import Testing

/// An error names what is on the command line, and the command that helps.
@Suite("The command line: errors", .timeLimit(.minutes(20)))
struct ClientErrorTests {
    @Test("a form of output that does not exist is refused before the request")
    func form() async throws {
        for form in ["json", "foo", ""] {
            let refused = try await Client.run(["events", "list", "--output", form], server: "http://127.0.0.1:9")
            #expect(refused.end == .exited(64), "\(refused.text)")
            #expect(
                refused.text.contains(
                    "--output is \"\(form)\", but must be narrow or wide; for JSON use --json."), "\(refused.text)")
        }
    }

    @Test("an empty server, such as a variable without a value, is named as that")
    func emptyServer() async throws {
        let refused = try await Client.run(["events", "list"], server: "")
        #expect(refused.end == .exited(64), "\(refused.text)")
        #expect(refused.text.contains("The server is \"\", but must be a URL"), "\(refused.text)")
    }

    @Test("without exhausted deliveries, the counts name the flag for the others")
    func counts() async throws {
        let herald = try await HeraldProcess.start()
        _ = try await herald.registerReceiver(#""retry_schedule": [86400]"#) { _ in .status(503) }
        _ = try await herald.deliveries(of: try await herald.publish(), "retrying")
        let client = Client(herald)
        let none = try await client.run("deliveries", "counts")
        #expect(
            none.end == .exited(0) && none.text.contains("No exhausted deliveries; --state retrying"), "\(none.text)")
        #expect(try await client.run("deliveries", "counts", "--state", "dropped").text == "No such deliveries.")
        #expect(try await client.run("deliveries", "counts", "--state", "retrying").text.contains("1 in all."))
    }

    @Test("the flag or the argument is named that is wrong")
    func names() async throws {
        let client = Client(try await HeraldProcess.start())
        let link = try await client.run("apps", "link", "nope")
        #expect(link.end == .exited(1) && link.text.contains("There is no app"), "\(link.text)")
        #expect(link.text.contains("nope") && !link.text.contains("--app"), "\(link.text)")
        let late = try await client.run("publish", "order.paid", "--at", "500d")
        #expect(late.end == .exited(1) && late.text.contains("--at must be at most 366 days ahead"), "\(late.text)")
        #expect(try await client.run("publish", "order.paid", "--id", "order-1", "--at", "2h").end == .exited(0))
        let moved = try await client.run("events", "reschedule", "order-1", "--at", "500d")
        #expect(moved.end == .exited(1) && moved.text.contains("--at must be at most 366"), "\(moved.text)")
        let preset = try await client.run("delegates", "add", "http://127.0.0.1:9/", "--preset", "nonsense")
        #expect(preset.end == .exited(1), "\(preset.text)")
        #expect(preset.text.contains("--preset is not the name of a preset"), "\(preset.text)")
        let example = try await client.run("trigger", "order.paid")
        #expect(example.end == .exited(1), "\(example.text)")
        #expect(example.text.contains("`herald event-types set order.paid --example JSON`"), "\(example.text)")
        let drain = try await client.run("drain", "--sqlite", "/nonexistent/app.db", "--table", "outbox", "--once")
        #expect(drain.end == .exited(66), "\(drain.text)")
        #expect(drain.text.contains("There is no file /nonexistent/app.db."), "\(drain.text)")
    }

    @Test("a closed output is an error, and no connection gets its number")
    func closedOutput() async throws {
        let server = try Receiver { _ in .status(200, body: #"{"data": [{"id": "evt_1"}], "next_cursor": null}"#) }
        defer { server.close() }
        let run = try await ChildProcess.run(
            "sh", ["-c", #"exec "$0" "$@" >&-"#, try Binary.path(), "events", "list", "--server", server.url()],
            environment: ["XDG_CONFIG_HOME": "/nonexistent"])
        #expect(run.end == .exited(74) && run.text.contains("Bad file descriptor"), "\(run.text)")
    }

    @Test("a redirect is named, and not followed")
    func redirect() async throws {
        let server = try Receiver { _ in .status(301, headers: [("location", "https://herald.example/v1/events")]) }
        defer { server.close() }
        let run = try await Client.run(["events", "list"], server: server.url())
        #expect(run.end == .exited(1) && server.requestCount == 1, "\(run.text)")
        #expect(run.text.contains("redirects to https://herald.example/v1/events."), "\(run.text)")
    }

    @Test("an explanation controls no terminal")
    func explanation() async throws {
        let server = try Receiver { _ in .status(200, body: #"{"matches": false, "reason": "\u001b[2Jno\u009b"}"#) }
        defer { server.close() }
        let run = try await Client.run(["delegates", "explain", "dlg_1", "evt_1"], server: server.url())
        #expect(run.text == #"does not match: \u{1b}[2Jno\u{9b}"#, "\(run.text)")
    }

    @Test("numbers that no server of Herald has are shown, and end no command")
    func numbers() async throws {
        let most = Int64.max
        let counts = """
            {"deliveries": \(most), "next_cursor": null, "data": [
                {"delegate": "dlg_1", "deliveries": \(most)}, {"delegate": "dlg_1", "deliveries": 1}]}
            """
        let replays = """
            {"next_cursor": null, "data": [
                {"id": "rpl_1", "created_at": "2026-01-31T12:00:00Z", "progress": 1e300, "events": 1}]}
            """
        let server = try Receiver { .status(200, body: $0.path.contains("replays") ? replays : counts) }
        defer { server.close() }
        let counted = try await Client.run(["deliveries", "counts"], server: server.url())
        #expect(counted.end == .exited(0) && counted.text.contains("\(most) in all."), "\(counted.text)")
        let listed = try await Client.run(["delegates", "replays", "dlg_1"], server: server.url())
        #expect(listed.end == .exited(0) && listed.text.contains("100 %"), "\(listed.text)")
    }
}
