import Glibc
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite(
    "herald listen in a terminal", .serialized, .timeLimit(.minutes(20)), .enabled(if: ChildProcess.exists("tmux")))
struct ListenTerminalTests {
    private static func herald(_ arguments: String, at herald: HeraldProcess) throws -> String {
        "HERALD_SERVER=127.0.0.1:\(herald.port) \(try Binary.path()) \(arguments)"
    }

    @Test("events are rows, with colors unless NO_COLOR is set; Ctrl-C ends it with 130", arguments: [true, false])
    func rows(_ hasColors: Bool) async throws {
        let herald = try await HeraldProcess.start()
        let screen = try await Screen(
            "NO_COLOR=\(hasColors ? "" : "1") " + Self.herald("listen --events 'order.*'", at: herald))
        _ = try await screen.lines(with: "Listening to http://127.0.0.1:\(herald.port). Ctrl-C ends it.")
        try await herald.publish("another.type")
        let id = try await herald.publish(
            "order.paid", #""subject": "o:1", "data": {"a": "\#(String(repeating: "x", count: 99))"}"#)
        let lines = try await screen.lines(with: id, withColors: true)
        let heading = try #require(lines.first { $0.contains("TYPE") })
        let row = try #require(lines.first { $0.contains(id) })
        #expect(row.contains("order.paid  o:1") && row.hasSuffix("…"), "\(row)")
        #expect(!lines.contains { $0.contains("another.type") })
        #expect(row.contains("\u{1b}") == hasColors && heading.contains("\u{1b}") == hasColors, "\(lines)")
        try await screen.type("C-c")
        _ = try await screen.lines(with: "END 130")
    }

    @Test("an unreachable server is reported once, and again when it is back")
    func lostServer() async throws {
        let herald = try await HeraldProcess.start(listen: "127.0.0.1:\(try unusedPort())")
        let screen = try await Screen(Self.herald("listen", at: herald))
        _ = try await screen.lines(with: "Listening")
        try await herald.kill()
        _ = try await screen.lines(with: "Retrying until it responds.")
        let again = try await herald.restart(["--listen", "127.0.0.1:\(herald.port)"])
        let id = try await again.publish("came.back")
        let lines = try await screen.lines(with: id)
        #expect(lines.filter { $0.contains("Retrying") }.count == 1)
        #expect(lines.contains("Connected again."))
    }

    @Test("forwarding prints the response to each event, and waits for a receiver that is down")
    func forwarding() async throws {
        let herald = try await HeraldProcess.start()
        let port = try unusedPort()
        let screen = try await Screen(Self.herald("listen --forward-to localhost:\(port)/hooks", at: herald))
        var lines = try await screen.lines(with: "Listening")
        #expect(lines.contains("Forwarding to http://localhost:\(port)/hooks."))
        #expect(lines.joined().contains("Signed with whsec_"), "\(lines)")
        let first = try await herald.publish("order.paid")
        let second = try await herald.publish("order.refused")
        _ = try await screen.lines(with: "does not respond; retrying, later events wait.")
        let receiver = try Receiver(port: port) { request in
            request.text.contains("refused") ? .status(422) : .status(200)
        }
        lines = try await screen.lines(with: second)
        let requests = receiver.requests
        #expect(requests.map { $0.header("webhook-id") } == [first, second], "each once, in order")
        let paid = try #require(lines.first { $0.contains(first) })
        #expect(paid.contains("order.paid") && paid.contains("200") && paid.contains("attempt "), "\(paid)")
        let refused = try #require(lines.first { $0.contains(second) })
        #expect(refused.contains("422"), "\(refused)")
        #expect(lines.filter { $0.contains("does not respond") }.count == 1)
        try await screen.type("C-c")
        lines = try await screen.lines(with: "END 130")
        #expect(lines.joined().contains("1 succeeded, 1 failed; continue with --after \(second)"), "\(lines)")
    }

    @Test("events tail shows the newest events, and then new ones")
    func tail() async throws {
        let herald = try await HeraldProcess.start()
        for number in 1...5 { try await herald.publish("n\(number)") }
        let screen = try await Screen(Self.herald("events tail -n 2", at: herald))
        _ = try await screen.lines(with: "Listening")
        try await herald.publish("n6")
        let lines = try await screen.lines(with: "n6")
        #expect(lines[0].hasPrefix("TIME ") && lines[0].contains("TYPE"))
        let types = lines.compactMap { line in ["n3", "n4", "n5", "n6"].first { line.contains("  \($0)") } }
        #expect(types == ["n4", "n5", "n6"], "\(lines)")
    }

    @Test("events tail shows all columns on a narrow screen, for any length of subject")
    func narrow() async throws {
        let herald = try await HeraldProcess.start()
        let id = try await herald.publish(
            "order.paid", #""subject": "customer:\#(String(repeating: "7", count: 90))", "data": {"a": "x"}"#)
        let screen = try await Screen(Self.herald("events tail", at: herald))
        let lines = try await screen.lines(with: "Listening")
        let row = try #require(lines.first { $0.contains(id) })
        #expect(row.contains("order.paid  customer") && row.contains("…  {\"a\": \"x\"}"), "\(row)")
        #expect(row.count <= 80)
    }

    @Test("remove --all requests confirmation on a terminal, with the number")
    func removalOfAll() async throws {
        let herald = try await HeraldProcess.start()
        _ = try await herald.register("http://127.0.0.1:9/")
        let screen = try await Screen(Self.herald("delegates remove --all", at: herald))
        _ = try await screen.lines(with: "Remove the only webhook of http://127.0.0.1:")
        try await screen.type("n", "Enter")
        let lines = try await screen.lines(with: "END 1")
        #expect(lines.contains("herald: Nothing was done."), "\(lines)")
        #expect(try await herald.get("/v1/delegates?kind=webhook").data.count == 1)
    }

    @Test("every deleting command requests confirmation on a terminal; with a name it needs no --yes in a script")
    func deletions() async throws {
        let herald = try await HeraldProcess.start()
        let id = try await herald.register("http://127.0.0.1:9/").id
        #expect(try await herald.send("PUT", "/v1/event-types/a.b", "{}").status == 201)
        // The last, since from then on requests need it.
        let admin = try await herald.makeKey("admin")
        let reader = try await herald.makeKey("read", by: admin)
        let commands = [
            ("delegates remove \(id)", "/v1/delegates/\(id)"), ("event-types remove a.b", "/v1/event-types/a.b"),
            ("keys revoke \(reader.id)", "/v1/keys/\(reader.id)"),
        ]
        for (command, path) in commands {
            let screen = try await Screen("HERALD_KEY=\(admin.text) " + Self.herald(command, at: herald))
            // It may be longer than a line.
            let asked = try await screen.lines("the question") { $0.joined().contains("[y/N]") }.joined()
            #expect(asked.contains("http://127.0.0.1:\(herald.port)"), "\(asked)")
            try await screen.type("n", "Enter")
            #expect(try await screen.lines(with: "END 1").contains("herald: Nothing was done."))
            #expect(try await herald.get(path, admin.headers).status == 200, "\(command)")
            let script = try await Binary.run(
                command.split(separator: " ").map(String.init) + ["--server", "127.0.0.1:\(herald.port)"],
                environment: ["HERALD_KEY": admin.text])
            #expect(script.end == .exited(0), "\(script.text)")
            #expect(try await herald.get(path, admin.headers).status == 404, "\(command)")
        }
    }

    @Test("irreversible commands request confirmation; no cancels, and scripts must pass --yes")
    func confirmation() async throws {
        let herald = try await HeraldProcess.start()
        try await herald.publish("a.b", #""subject": "user:42""#)
        let screen = try await Screen(Self.herald("subjects erase user:42", at: herald))
        _ = try await screen.lines(with: "Erase all that is stored about user:42, for ever? [y/N]")
        try await screen.type("n", "Enter")
        let lines = try await screen.lines(with: "END 1")
        #expect(lines.contains("herald: Nothing was done."), "\(lines)")
        #expect(try await herald.get("/v1/events?subject=user:42").data.count == 1)

        let yes = try await Screen(Self.herald("subjects erase user:42", at: herald))
        _ = try await yes.lines(with: "[y/N]")
        try await yes.type("y", "Enter")
        _ = try await yes.lines(with: "END 0")
        #expect(try await herald.get("/v1/events?subject=user:42").data.isEmpty)
    }
}
