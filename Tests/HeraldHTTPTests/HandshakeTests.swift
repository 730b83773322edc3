import Glibc
import HeraldTestSupport
import Testing

@testable import HeraldHTTP

@Suite("TLS handshakes", .timeLimit(.minutes(20)))
struct HandshakeTests {
    private let tls: TLSFixtures

    init() throws { tls = try TLSFixtures() }

    private func curl(
        _ fixture: Fixture, _ path: String, source: Int = 1, _ more: [String] = []
    ) async throws -> String {
        let arguments =
            [
                "-sS", "--max-time", "60", "--cacert", tls.authorityFile, "--interface", "127.0.0.\(source)",
                "https://localhost:\(fixture.server.port)\(path)",
            ] + more
        return try await ChildProcess.run("curl", arguments).text
    }

    @Test(
        "finite-field groups, which cost the server much and the client nothing, are refused",
        arguments: [
            ("X25519", true), ("P-256", true), ("P-384", true), ("ffdhe2048", false), ("ffdhe8192", false),
            ("P-521", false),
        ])
    func groups(_ group: String, _ isOffered: Bool) async throws {
        let fixture = try tls.fixture()
        let result = try await ChildProcess.run(
            "openssl", ["s_client", "-connect", "localhost:\(fixture.server.port)", "-tls1_3", "-groups", group])
        #expect(result.text.contains("Cipher is (NONE)") != isOffered, "\(result.text)")
        #expect(try await curl(fixture, "/after") == "/after")
    }

    @Test("an address may begin so many handshakes, and others may begin theirs; a change of the limit holds at once")
    func perAddress() async throws {
        let fixture = try tls.fixture { $0.maxConnectionsPerAddress = 8 }
        let port = fixture.server.port
        func begin(_ count: Int) async throws {
            try await RawHTTP.onThread {
                for _ in 0..<count {
                    let client = try RawHTTPClient(port: port, source: 5, sending: "not TLS")
                    _ = try? client.readToEnd()
                }
            }
        }
        try await begin(40)
        // The clock stands still, so the address gets no further ones.
        try await eventually("32 were refused") { fixture.server.statistics.refusedByAddress == 32 }
        #expect(try await curl(fixture, "/other") == "/other")
        fixture.advance(seconds: 1)
        #expect(try await curl(fixture, "/again", source: 5) == "/again")
        fixture.server.change(allowedHosts: [], maxConnectionsPerAddress: 0)
        try await begin(20)
        #expect(fixture.server.statistics.refusedByAddress == 32)
    }

    @Test("a trusted proxy may begin any number of handshakes, and names the client of each request")
    func trustedProxy() async throws {
        let fixture = try tls.fixture {
            $0.maxConnectionsPerAddress = 8
            $0.trustedProxies = TrustedProxies([.init([127, 0, 0, 5], prefixLength: 32)].compactMap { $0 })
        }
        let port = fixture.server.port
        try await RawHTTP.onThread {
            for _ in 0..<40 {
                let proxy = try RawHTTPClient(port: port, source: 5, sending: "not TLS")
                _ = try? proxy.readToEnd()
            }
        }
        for source in [5, 6] {
            let client = try await curl(fixture, "/peer", source: source, ["-H", "X-Forwarded-For: 192.0.2.1"])
            #expect(client == (source == 5 ? "192.0.2.1" : "127.0.0.6"))
        }
        #expect(fixture.server.statistics.refusedByAddress == 0)
    }

    @Test("the header of the PROXY protocol comes before the handshake")
    func proxyHeader() async throws {
        let fixture = try tls.fixture {
            $0.readsProxyHeaders = true
            $0.trustedProxies = TrustedProxies([.init([127, 0, 0, 5], prefixLength: 32)].compactMap { $0 })
        }
        // curl names its own address, which is that of the proxy: so the other header counts.
        let headers = ["-H", "X-Forwarded-For: 192.0.2.1"]
        #expect(try await curl(fixture, "/peer", source: 5, ["--haproxy-protocol"] + headers) == "192.0.2.1")
        #expect(try await curl(fixture, "/peer", source: 6, headers) == "127.0.0.6")
        #expect(try await !curl(fixture, "/peer", source: 5, headers).contains("192.0.2.1"))
    }

    @Test("clients that begin no handshake take none of the connections, and have a deadline")
    func silence() async throws {
        let fixture = try tls.fixture {
            $0.maxConnections = 64
            $0.maxConnectionsPerAddress = 0
        }
        let port = fixture.server.port
        // One after the other: this function, then the thread.
        nonisolated(unsafe) let silent = try (0..<100).map { number in
            try RawHTTPClient(port: port, source: UInt8(2 + number % 4))
        }
        #expect(try await curl(fixture, "/x") == "/x")
        #expect(fixture.server.statistics.openConnections <= 1)
        fixture.advance(seconds: 11)
        try await RawHTTP.onThread {
            for client in silent { #expect(Self.isClosed(client)) }
        }
    }

    /// Whether the server ends the connection, in either way, without sending anything.
    private static func isClosed(_ client: RawHTTPClient) -> Bool {
        do {
            return try client.readToEnd().isEmpty
        } catch RawHTTPClient.Failure.timeout {
            return false
        } catch {
            return true
        }
    }

    @Test("handshakes begin at once up to the limit, then a quarter of it per second")
    func allowance() {
        let client = HandshakeClient(now: 0)
        #expect((0..<1000).count { _ in client.mayBegin(limit: 200, now: 0) } == 200)
        #expect((0..<1000).count { _ in client.mayBegin(limit: 200, now: 1_000_000_000) } == 50)
        #expect((0..<1000).count { _ in client.mayBegin(limit: 200, now: 3_600_000_000_000) } == 200)
        #expect((0..<1000).allSatisfy { _ in client.mayBegin(limit: 0, now: 3_600_000_000_000) })
    }

    @Test("a stop ends handshakes in progress, and the port is free")
    func stop() async throws {
        let fixture = try tls.fixture()
        let port = fixture.server.port
        // One after the other: this function, then the thread.
        nonisolated(unsafe) let client = try RawHTTPClient(port: port)
        await offPool { fixture.server.stop() }
        try await RawHTTP.onThread {
            #expect(Self.isClosed(client))
            #expect(throws: (any Error).self) { try RawHTTPClient(port: port) }
        }
    }
}
