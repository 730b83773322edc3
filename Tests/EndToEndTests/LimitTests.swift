import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Limits of a delegate's settings", .timeLimit(.minutes(20)), .serialized)
struct LimitTests {
    @Test("metadata keys are case-sensitive, header names are not, and none is dropped silently")
    func caseOfNames() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register("http://127.0.0.1:9/", #""metadata": {"a": "1", "A": "2"}"#)
        #expect(created["metadata"]?.bytes == Array(#"{"A":"2","a":"1"}"#.utf8))
        let twice = try await herald.post(
            "/v1/delegates", #"{"url": "http://127.0.0.1:9/2", "headers": {"X-A": "1", "x-a": "2"}}"#)
        #expect(twice.status == 422)
        #expect(twice.errors == ["/headers/x-a"])
        let path = "/v1/delegates/\(created.id)"
        #expect(try await herald.send("PATCH", path, #"{"headers": {"X-A": "1"}}"#).status == 200)
        let replaced = try await herald.send("PATCH", path, #"{"headers": {"x-a": "2"}}"#)
        #expect(replaced["header_names"]?.bytes == Array(#"["x-a"]"#.utf8))
    }

    @Test("a PATCH can't exceed the limits of headers and metadata")
    func growth() async throws {
        let herald = try await HeraldProcess.start()
        func pairs(_ prefix: String, _ count: Int) -> String {
            (0..<count).map { "\"\(prefix)\($0)\": \"x\"" }.joined(separator: ",")
        }
        let id = try await herald.register(
            "http://127.0.0.1:9/", #""headers": {\#(pairs("X-A", 16))}"#, #""metadata": {\#(pairs("a", 32))}"#
        ).id
        let path = "/v1/delegates/\(id)"
        let before = try await herald.get(path)
        let grown = try await herald.send("PATCH", path, #"{"headers": {"X-B": "y"}, "metadata": {"b": "y"}}"#)
        #expect(grown.status == 422)
        #expect(Set(grown.errors) == ["/headers", "/metadata"])
        #expect(try await herald.get(path).body == before.body)
        let swapped = try await herald.send("PATCH", path, #"{"headers": {"X-B": "y", "X-A0": null}}"#)
        #expect(swapped.status == 200)
        #expect(swapped["header_names"]?.count == 16)
    }

    @Test("each limit holds exactly")
    func edges() async throws {
        let herald = try await HeraldProcess.start()
        func text(_ count: Int) -> String { String(repeating: "x", count: count) }
        func list(_ count: Int, _ element: (Int) -> String) -> String {
            "[" + (0..<count).map(element).joined(separator: ",") + "]"
        }
        let base = "http://127.0.0.1:9/"
        for (number, (member, allowed)) in [
            ("\"url\": \"\(base)\(text(2048 - base.utf8.count))\"", true),
            ("\"url\": \"\(base)\(text(2049 - base.utf8.count))\"", false),
            ("\"events\": \(list(64) { "\"e\($0)\"" })", true), ("\"events\": \(list(65) { "\"e\($0)\"" })", false),
            ("\"events\": []", false), ("\"subjects\": \(list(1000) { "\"s\($0)\"" })", true),
            ("\"subjects\": \(list(1001) { "\"s\($0)\"" })", false), ("\"description\": \"\(text(256))\"", true),
            ("\"description\": \"\(text(257))\"", false), ("\"retry_schedule\": \(list(20) { "\($0)" })", true),
            ("\"retry_schedule\": \(list(21) { "\($0)" })", false), ("\"max_in_flight\": 256", true),
            ("\"max_in_flight\": 257", false), ("\"max_in_flight\": 1.0", true), ("\"max_in_flight\": 1.5", false),
            ("\"timeout_seconds\": 60", true),
            ("\"timeout_seconds\": 0", false), ("\"headers\": {\"X\": \"\(text(4096))\"}", true),
            ("\"headers\": {\"X\": \"\(text(4097))\"}", false), ("\"headers\": {\"X\": \"a\\nb\"}", false),
            ("\"headers\": {\"X Y\": \"a\"}", false), ("\"headers\": {\"Host\": \"a\"}", false),
            ("\"secret\": \"whsec_\(text(32))\"", true), ("\"secret\": \"whsec_\(text(28))\"", false),
        ].enumerated() {
            let url = member.hasPrefix("\"url\"") ? "" : "\"url\": \"\(base)\(number)\", "
            let answer = try await herald.post("/v1/delegates", "{\(url)\(member)}")
            #expect(answer.status == (allowed ? 201 : 422), "\(member.prefix(60)): \(answer.text.prefix(200))")
        }
    }

    @Test("with few descriptors, requests are refused cleanly, and the server recovers", .timeLimit(.minutes(20)))
    func fewDescriptors() async throws {
        let herald = try await HeraldProcess.start(prefix: ["sh", "-c", "ulimit -n 100 && exec \"$0\" \"$@\""])
        _ = try await herald.registerReceiver()
        let port = herald.port
        let held = try await RawHTTP.onThread { (0..<200).compactMap { _ in try? RawHTTPClient(port: port) }.count }
        #expect(held == 200)
        _ = try await herald.deliveries(of: try await herald.publish(), "delivered")
    }

    @Test(
        "with few descriptors the log says so, and streams, callbacks and idle clients together leave some for others",
        .timeLimit(.minutes(20)))
    func descriptorsAreShared() async throws {
        let gate = ReceiverGate()
        defer { gate.open() }
        let herald = try await HeraldProcess.start(prefix: ["sh", "-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        let receiver = try herald.receiver { _ in .held(gate) }
        #expect(
            herald.log("few file descriptors: clients wait and deliveries take turns beyond these numbers").count == 1)
        for number in 0..<20 { _ = try await herald.register(receiver.url("/\(number)")) }
        try await herald.publish()
        let port = herald.port
        let process = herald.process.id
        try await RawHTTP.onThread {
            // Half of them ask for a stream, and the others for nothing.
            let clients = try (0..<60).map { number in
                let client = try RawHTTPClient(port: port)
                if number % 2 == 0 { client.send("GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n") }
                return client
            }
            for _ in 0..<20 {
                let client = try RawHTTPClient(port: port)
                client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                #expect(try client.readResponse().map(Answer.init)?.status == 200)
                #expect(try Files.names(in: "/proc/\(process)/fd").count < 64, "none is left for the database")
            }
            withExtendedLifetime(clients) {}
        }
    }

    /// The behavior of clients that take all connections.
    enum Occupation: CaseIterable {
        case halfOpen, halfOpenFromManyAddresses, unread, longPolls, waitingPosts, testCalls

        var clients: Int {
            switch self {
            case .halfOpen, .halfOpenFromManyAddresses: 400
            case .unread: 24
            case .longPolls, .waitingPosts, .testCalls: 16
            }
        }

        /// - Parameter delegate: one whose receiver never responds.
        func occupy(_ port: UInt16, _ number: Int, _ delegate: String) throws -> RawHTTPClient {
            let isSpread = self == .halfOpenFromManyAddresses
            // Not the address of the others: each has a share.
            let client = try RawHTTPClient(port: port, source: isSpread ? UInt8(2 + number % 200) : 2)
            switch self {
            case .halfOpen, .halfOpenFromManyAddresses: client.send("GET /v1/events HTTP/1.1\r\nHost: loc")
            case .unread: client.send("GET /v1/events?type=large.one&limit=200 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            case .longPolls: client.send("GET /v1/app-state?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            case .waitingPosts:
                client.send(
                    "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=60\r\n"
                        + "Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"type\": \"some.one\"}")
            case .testCalls:
                client.send(
                    "POST /v1/delegates/\(delegate)/test HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            }
            return client
        }
    }

    @Test(
        "with few descriptors, lists, registrations and health checks succeed beside clients that take all connections",
        .timeLimit(.minutes(20)), arguments: Occupation.allCases)
    func reserve(occupation: Occupation) async throws {
        let gate = ReceiverGate()
        defer { gate.open() }
        let herald = try await HeraldProcess.start(prefix: ["sh", "-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        let receiver = try herald.receiver { _ in .held(gate) }
        let delegate = try await herald.register(receiver.url(), #""events": ["some.one"]"#, #""timeout_seconds": 60"#)
            .id
        let large = #"{"type": "large.one", "data": "\#(String(repeating: "x", count: 200_000))"}"#
        if occupation == .unread { for _ in 0..<30 { _ = try await herald.post("/v1/events", large) } }
        let port = herald.port
        try await RawHTTP.onThread {
            let clients = try (0..<occupation.clients).map { try occupation.occupy(port, $0, delegate) }
            let body = #"{"url": "http://127.0.0.1:9/"}"#
            for (request, status) in [
                ("GET /v1/delegates HTTP/1.1", 200), ("GET /healthz HTTP/1.1", 200), ("GET /readyz HTTP/1.1", 200),
                (
                    "POST /v1/delegates HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)",
                    201
                ),
            ] {
                // Each client waits for all those that came before it.
                let client = try RawHTTPClient(port: port, timeoutSeconds: 25)
                client.send("\(request)\r\nHost: localhost\r\nConnection: close\r\n\r\n" + (status == 201 ? body : ""))
                #expect(try client.readResponse()?.status == status, "\(request)")
            }
            withExtendedLifetime(clients) {}
        }
    }
}
