import Glibc
import HeraldHTTP
import HeraldJSON
import HeraldReceiver
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("herald listen", .timeLimit(.minutes(20)))
struct ListenTests {
    private static let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

    /// The command, once it listens.
    static func start(_ arguments: [String], at herald: HeraldProcess) async throws -> ChildProcess {
        let child = try ChildProcess(
            try Binary.path(), arguments, environment: ["HERALD_SERVER": "127.0.0.1:\(herald.port)"])
        try await eventually("it listens") { child.text.contains("Listening to http://127.0.0.1:") }
        return child
    }

    /// The documents that it has printed.
    private static func documents(_ child: ChildProcess) -> [JSONDocument] {
        child.lines.compactMap { try? JSONDocument(parsing: $0) }
    }

    @Test("a server that is killed and restarted is reported once, and each event is shown once and in order")
    func killed() async throws {
        let herald = try await HeraldProcess.start(listen: "127.0.0.1:\(try unusedPort())")
        let child = try await Self.start(["listen", "--json", "--events", "n.*"], at: herald)
        for number in 1...3 { try await herald.publish("n.counted", "\"data\": \(number)") }
        try await eventually("three are shown") { Self.documents(child).count == 3 }
        try await herald.kill()
        try await eventually("that is said") { child.text.contains("Retrying") }
        let again = try await herald.restart(["--listen", "127.0.0.1:\(herald.port)"])
        for number in 4...40 { try await again.publish("n.counted", "\"data\": \(number)") }
        try await again.publish("another.type")
        try await eventually("all are shown") { Self.documents(child).count >= 40 }
        child.signal(15)
        #expect(try await child.ended() == .exited(0))
        #expect(Self.documents(child).compactMap { $0["data"]?.integer } == Array(1...40))
        #expect(child.lines.filter { $0.contains("Retrying until it responds.") }.count == 1)
        #expect(child.lines.filter { $0 == "Connected again." }.count == 1)
    }

    @Test("forwarded events equal the callbacks of a webhook, signed; a kill of the server loses nothing")
    func forwarding() async throws {
        let local = try Receiver()
        let webhook = try Receiver()
        let herald = try await HeraldProcess.start(listen: "127.0.0.1:\(try unusedPort())")
        _ = try await herald.register(webhook.url("/hooks"), "\"secret\": \"\(Self.secret)\"")
        let arguments = ["listen", "--forward-to", local.url("/hooks"), "--secret", Self.secret, "--json"]
        let child = try await Self.start(arguments, at: herald)
        let trace = ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]
        let body = #"{"type": "order.paid", "subject": "ö:1", "data": {"amount": 12.50, "text": "\u00e4 \"b\""}}"#
        var ids = [try await herald.post("/v1/events", body, trace).id]
        for number in 2...20 { ids.append(try await herald.publish("n.counted", "\"data\": \(number)")) }
        _ = await local.requests(5)
        try await herald.kill()
        let again = try await herald.restart(["--listen", "127.0.0.1:\(herald.port)"])
        for number in 21...40 { ids.append(try await again.publish("n.counted", "\"data\": \(number)")) }

        let wanted = ids
        let requests = await local.requests { requests in
            Set(requests.compactMap { $0.header("webhook-id") }).isSuperset(of: wanted)
        }
        var arrived: [String] = []
        for id in requests.compactMap({ $0.header("webhook-id") }) where arrived.last != id { arrived.append(id) }
        #expect(arrived == ids, "all, and in order")
        let check = try SignatureCheck(keys: [Self.secret])
        for request in requests {
            #expect(try "\(check.verdict(on: request, now: Clock.system.wall()))" == "the signature is valid")
        }

        let delivered = try #require(await webhook.requests(1).first { $0.header("webhook-id") == ids[0] })
        let forwarded = requests[0]
        #expect(forwarded.body == delivered.body)
        #expect(forwarded.method == delivered.method && forwarded.path == delivered.path)
        #expect(forwarded.headers.map(\.name) == delivered.headers.map(\.name))
        for name in ["content-type", "user-agent", "webhook-id", "herald-attempt", "traceparent"] {
            #expect(forwarded.header(name) == delivered.header(name))
        }

        try await eventually("all are told") { Self.documents(child).contains { $0["event"]?.string == wanted.last } }
        child.signal(2)
        #expect(try await child.ended() == .exited(130))
        let first = try #require(Self.documents(child).first)
        #expect(first["outcome"]?.string == "succeeded" && first["status_code"]?.integer == 200)
        #expect(first["duration_ms"] != nil && first["attempts"]?.integer == 1)
        #expect(
            child.lines.contains { $0.hasSuffix("0 failed; continue with --after \(wanted[39])") }, "\(child.text)"
        )
    }

    @Test("events that a slow receiver can't accept yet wait in the log, and arrive in order")
    func slowReceiver() async throws {
        let local = try Receiver { _ in .delayed(milliseconds: 10) }
        let herald = try await HeraldProcess.start()
        // Without a scheme, although there is one in the query.
        let url = "127.0.0.1:\(local.port)/hooks?from=http://a"
        let child = try await Self.start(["listen", "--forward-to", url, "--events", "n.*"], at: herald)
        let padding = String(repeating: "x", count: 60_000)
        for number in 1...200 { try await herald.publish("n.counted", "\"data\": [\(number), \"\(padding)\"]") }
        let requests = await local.requests(200)
        let numbers = requests.compactMap { request in
            (try? JSONDocument(parsing: request.body))?["data"]?.elements.first { _ in true }?.integer
        }
        #expect(numbers == Array(1...200))
        #expect(requests.first?.path == "/hooks?from=http://a")
        child.signal(15)
        #expect(try await child.ended() == .exited(0))
    }

    @Test("--after starts in the past; tail starts with the newest events, oldest first, and misses none")
    func past() async throws {
        let client = Client(try await HeraldProcess.start())
        let empty = try await Self.start(["events", "tail", "--json"], at: client.herald)
        var ids: [String] = []
        for number in 1...5 { ids.append(try await client.herald.publish("n.counted", "\"data\": \(number)")) }
        try await client.herald.publish("another.type")
        try await eventually("all are shown") { Self.documents(empty).count == 6 }
        for (arguments, wanted) in [
            (["listen", "--after", ids[1]], 3...6), (["listen", "--after", "earliest"], 1...7),
            (["events", "tail", "-n", "2"], 6...8), (["events", "tail", "--lines=0"], 9...9),
        ] as [([String], ClosedRange<Int64>)] {
            let filters = arguments[0] == "listen" ? ["--events=n.*"] : ["--type=n.*", "--type=no.such"]
            let child = try await Self.start(arguments + filters + ["--json"], at: client.herald)
            try await client.herald.publish("n.counted", "\"data\": \(wanted.upperBound)")
            try await eventually("\(arguments)") { Self.documents(child).count >= wanted.count }
            #expect(Self.documents(child).compactMap { $0["data"]?.integer } == Array(wanted))
            child.signal(15)
            #expect(try await child.ended() == .exited(0))
        }
        let unknown = try await Self.start(["listen", "--after", "evt_none"], at: client.herald)
        try await eventually("that is said") { unknown.text.contains("Events may be missing.") }
        unknown.signal(9)
        empty.signal(9)
    }

    @Test("a gap within the stream is not called an unknown beginning")
    func gap() async throws {
        let stream = "event: ready\nid: a\ndata: {}\n\nevent: reset\ndata: {}\n\n"
        let server = try Receiver { _ in .status(200, headers: [("content-type", "text/event-stream")], body: stream) }
        defer { server.close() }
        let child = try ChildProcess(try Binary.path(), ["listen", "--server", server.url()])
        try await eventually("that is said") { child.text.contains("The next ones were removed") }
        #expect(!child.text.contains("The log does not have"), "\(child.text)")
        child.signal(9)
    }

    @Test("when its output is closed it ends silently with exit code 0", .timeLimit(.minutes(20)))
    func closedPipe() async throws {
        let herald = try await HeraldProcess.start()
        try await herald.publish("a.b")
        let script = """
            \(try Binary.path()) listen --json --after earliest --server 127.0.0.1:\(herald.port) 2>&3 | head -n 1
            echo "code ${PIPESTATUS[0]}"
            """
        let result = try await ChildProcess.run("bash", ["-c", "exec 3>&1; \(script)"])
        #expect(result.text.contains("\"type\":\"a.b\""))
        #expect(result.text.hasSuffix("code 0"), "\(result.text)")
        #expect(!result.text.contains("herald:"), "\(result.text)")
    }

    @Test("impossible arguments are reported at once")
    func mistakes() async throws {
        let client = Client(try await HeraldProcess.start())
        for (arguments, code, words) in [
            (["listen", "--secret", "x"], 64, "--forward-to is missing"),
            (["listen", "--forward-to", "ftp://x"], 64, "--forward-to is \"ftp://x\""),
            (["listen", "--forward-to", "x", "--secret", "short"], 64, "must begin with \"whsec_\""),
            (["listen", "--events", "A B"], 1, "events"), (["events", "tail", "--subject", "a,b"], 64, "comma"),
        ] as [([String], Int32, String)] {
            let result = try await Client.run(arguments, server: "127.0.0.1:\(client.herald.port)")
            #expect(result.end == .exited(code), "\(arguments)")
            #expect(result.text.contains(words), "\(result.text)")
        }
        let port = try unusedPort()
        let nobody = try await Client.run(["listen", "--server", "127.0.0.1:\(port)"])
        #expect(nobody.end == .exited(69) && nobody.text.contains("was not reached"), "\(nobody.text)")
        let other = try Receiver()
        let wrong = try await Client.run(["listen", "--server", other.url()])
        #expect(wrong.end == .exited(69) && wrong.text.contains("is not a Herald server"), "\(wrong.text)")
    }

    // MARK: Its parts

    @Test("a silent connection counts as lost, and a connection that is no longer needed ends")
    func silence() async throws {
        let receiver = try Receiver { _ in .raw("HTTP/1.1 200 OK\r\n\r\nfirst") }
        let url = receiver.url()
        let (error, text) = try await RawHTTP.onThread {
            let client = try HTTPClient(HTTPClient.Configuration(userAgent: "test"))
            var text: [UInt8] = []
            var error: HTTPClientError?
            do throws(HTTPClientError) {
                _ = try client.stream(HTTPRequest("GET", url), silenceSeconds: 1, shouldContinue: { true }) {
                    text += $0
                    return true
                }
            } catch let caught {
                error = caught
            }
            return (error, text)
        }
        #expect(error == .silent(seconds: 1))
        #expect(Array("first".utf8).starts(with: text), "a busy receiver may be silent before")
        let statuses = try await RawHTTP.onThread {
            let client = try HTTPClient(HTTPClient.Configuration(userAgent: "test"))
            let request = HTTPRequest("GET", url)
            return [
                try client.stream(request, silenceSeconds: 60, shouldContinue: { false }, take: { _ in true }).status,
                try client.stream(request, silenceSeconds: 60, shouldContinue: { true }, take: { _ in false }).status,
            ]
        }
        #expect(statuses.allSatisfy { $0 == 200 || $0 == 0 }, "it ended, before or after the answer began")
    }

    @Test("messages are parsed wherever their bytes are split", arguments: ["\n", "\r", "\r\n"])
    func messages(_ lineBreak: String) throws {
        let text =
            "retry: 1\nevent: ready\nid: a\ndata: {}\n\n:\n:\n\nid: b\ndata: one\ndata:two\nother\n\nevent: none\n\ndata\n\ndata: cut"
            .replacing("\n", with: lineBreak)
        let wanted = [
            ServerSentEvents.Message(event: "ready", id: "a", data: Array("{}".utf8)),
            ServerSentEvents.Message(event: nil, id: "b", data: Array("one\ntwo".utf8)), ServerSentEvents.Message(),
        ]
        for size in [1, 2, 3, 7, 1000] {
            var reader = ServerSentEvents()
            var messages: [ServerSentEvents.Message] = []
            let bytes = Array(text.utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try reader.take(bytes[start..<min(start + size, bytes.count)], into: &messages)
            }
            #expect(messages == wanted)
        }
        var endless = ServerSentEvents(maxMessageBytes: 1_000)
        #expect(throws: ServerSentEvents.Failure.tooLong) {
            var messages: [ServerSentEvents.Message] = []
            for _ in 0..<1_001 { try endless.take("x".utf8, into: &messages) }
        }
    }
}
