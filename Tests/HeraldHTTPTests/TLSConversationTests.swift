import Glibc
import HeraldTestSupport
import Testing

@testable import HeraldHTTP

/// With `openssl s_client`, which sends up to 16 KiB in one record: more than the library reads at once.
@Suite("Conversations over TLS", .timeLimit(.minutes(20)))
struct TLSConversationTests {
    private let tls: TLSFixtures

    init() throws { tls = try TLSFixtures() }

    /// Sends this text, and writes what comes until the server closes.
    private func client(_ fixture: Fixture, _ text: String) throws -> ChildProcess {
        try ChildProcess(
            "openssl",
            [
                "s_client", "-quiet", "-verify_quiet", "-CAfile", tls.authorityFile, "-connect",
                "localhost:\(fixture.server.port)",
            ], input: Array(text.utf8))
    }

    private func talk(_ fixture: Fixture, _ text: String) async throws -> String {
        let client = try client(fixture, text)
        defer { client.signal(SIGKILL) }
        try await client.ended()
        return client.text
    }

    private func statuses(in text: String) -> [Int] {
        text.ranges(of: "HTTP/1.1 ").compactMap { Int(text[$0.upperBound...].prefix(3)) }
    }

    private static let last = "GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    @Test(
        "bodies have the rules of plain HTTP, and nothing is parsed as a second request",
        arguments: StrictnessCase.all.filter { $0.raw.hasPrefix("POST /echo HTTP/1.1\r\n") })
    func strictness(_ request: StrictnessCase) async throws {
        let fixture = try tls.fixture()
        let text = try await talk(fixture, request.raw + Self.last)
        #expect(statuses(in: text) == request.wanted + (request.staysOpen ? [200] : []), "\(text)")
        #expect(!fixture.application.seen.contains { $0.path == "/smuggled" })
    }

    @Test("a request that is refused before its end gets its response, whatever it still sends")
    func refusedEarly() async throws {
        let fixture = try tls.fixture()
        for (request, status) in [
            (post("/echo", String(repeating: "x", count: 300_000)), 413), (post("/refused", get("/smuggled")), 405),
            (get("/x", "X: \(String(repeating: "x", count: 40_000))\r\n"), 431),
        ] {
            let text = try await talk(fixture, request + Self.last)
            #expect(statuses(in: text) == [status], "\(text)")
        }
        #expect(fixture.application.seen.isEmpty)
    }

    @Test("requests in one record get their responses in order, also when the first one waits")
    func pipelining() async throws {
        let fixture = try tls.fixture()
        let body = String(repeating: "x", count: 5_000)
        let client = try client(fixture, post("/hold", body) + post("/thread", body) + post("/echo", body) + Self.last)
        defer { client.signal(SIGKILL) }
        try await eventually("the first one waits") { fixture.application.heldCount == 1 }
        // Other connections need several rounds of the loop, after which the library no longer polls the first one.
        for _ in 1...3 {
            let text = try await talk(fixture, Self.last)
            #expect(statuses(in: text) == [200], "\(text)")
        }
        for responder in fixture.application.takeHeld() { responder.send(.text(201, "held")) }
        try await client.ended()
        #expect(statuses(in: client.text) == [201, 200, 200, 200], "\(client.text)")
        #expect(fixture.application.seen.map(\.path).suffix(3) == ["/thread", "/echo", "/last"])
        #expect(fixture.application.seen.allSatisfy { $0.path == "/last" || $0.body.count == 5_000 })
    }

    @Test("a client that expects 100-continue gets it, unless its request is refused")
    func expectContinue() async throws {
        let fixture = try tls.fixture()
        func post(to path: String) async throws -> [Int] {
            let result = try await ChildProcess.run(
                "curl",
                [
                    "-sS", "-i", "--max-time", "60", "--cacert", tls.authorityFile, "-H", "Expect: 100-continue",
                    "--expect100-timeout", "60", "-d", "body", "https://localhost:\(fixture.server.port)\(path)",
                ])
            #expect(result.end == .exited(0), "\(result.text)")
            return statuses(in: result.text)
        }
        #expect(try await post(to: "/echo") == [100, 200])
        #expect(try await post(to: "/refused") == [405])
    }

    @Test("delayed responses are sent, and end the connection", arguments: HoldTests.requests)
    func held(_ request: String) async throws {
        // The time that the test moves must end no other wait.
        let fixture = try tls.fixture {
            $0.requestDeadlineSeconds = 1_000_000
            $0.idleTimeoutSeconds = 1_000_000
        }
        let client = try client(fixture, request)
        defer { client.signal(SIGKILL) }
        try await eventually("the response, and the end") {
            fixture.advance(seconds: 1)
            return client.end != nil
        }
        #expect(statuses(in: client.text) == [401] && client.text.contains("\r\n\r\nlate"), "\(client.text)")
    }

    @Test("a stop responds to waiting requests with 503")
    func stop() async throws {
        let fixture = try tls.fixture()
        let client = try client(fixture, get("/hold"))
        defer { client.signal(SIGKILL) }
        try await eventually("it waits") { fixture.application.heldCount == 1 }
        await offPool { fixture.server.stop() }
        try await client.ended()
        #expect(statuses(in: client.text) == [503], "\(client.text)")
    }
}
