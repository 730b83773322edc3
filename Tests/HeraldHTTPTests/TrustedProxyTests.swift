import Glibc
import HeraldTestSupport
import Testing

@testable import HeraldHTTP

@Suite("Behind a trusted proxy", .timeLimit(.minutes(20)))
struct TrustedProxyTests {
    /// Trusts 127.0.0.7, 10.0.0.0/8 and 2001:db8:1::/48.
    private static let proxies = TrustedProxies(
        [
            .init([127, 0, 0, 7], prefixLength: 32), .init([10, 0, 0, 0], prefixLength: 8),
            .init([0x20, 0x01, 0x0d, 0xb8, 0, 1] + [UInt8](repeating: 0, count: 10), prefixLength: 48),
        ].compactMap { $0 })

    private static let limits: @Sendable (inout HTTPServerConfiguration) -> Void = {
        $0.maxConnectionsPerAddress = 2
        $0.trustedProxies = proxies
    }

    private static func proxy(
        _ fixture: Fixture, _ source: UInt8 = 7, sending text: String = ""
    ) throws -> RawHTTPClient {
        try RawHTTPClient(port: fixture.server.port, source: source, sending: text)
    }

    private static func forwarded(_ client: String) -> String { "X-Forwarded-For: \(client)\r\n" }

    @Test(
        "the client is the rightmost address that is no proxy's",
        arguments: [
            ("", "127.0.0.7"),
            ("X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1"),
            ("X-Forwarded-For: 192.0.2.1:4711\r\n", "192.0.2.1"),
            ("X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1"),
            ("X-Forwarded-For: [2001:db8::1]:443\r\n", "2001:db8::1"),
            ("X-Forwarded-For: ::ffff:192.0.2.1\r\n", "192.0.2.1"),
            ("X-Forwarded-For: 198.51.100.9, 192.0.2.1\r\n", "192.0.2.1"),
            ("X-Forwarded-For: 198.51.100.9, 192.0.2.1, 10.1.2.3\r\n", "192.0.2.1"),
            ("X-Forwarded-For: 192.0.2.1, 2001:db8:1:2::3,\r\nX-Forwarded-For: ,10.1.2.3\r\n", "192.0.2.1"),
            ("X-Forwarded-For: 10.3.3.3, 10.1.2.3\r\n", "10.3.3.3"),
            ("X-Forwarded-For: \r\n", "127.0.0.7"),
            ("X-Forwarded-For: ,,\r\n", "127.0.0.7"),
            ("Forwarded: for=192.0.2.1\r\n", "192.0.2.1"),
            ("Forwarded: For=\"192.0.2.1:80\";proto=http;by=10.0.0.1\r\n", "192.0.2.1"),
            ("Forwarded: proto=https;host=\"a,for=198.51.100.9\";for=\"[2001:db8::1]:_x\"\r\n", "2001:db8::1"),
            ("Forwarded: for=198.51.100.9\r\nForwarded: for=192.0.2.1, for=10.1.2.3\r\n", "192.0.2.1"),
            ("Forwarded: for=\"192.0.2\\.1\" ; by=\"a\\\"b\"\r\n", "192.0.2.1"),
            ("Forwarded: ;for=192.0.2.1;;\r\n", "192.0.2.1"),
            ("Forwarded: for=192.0.2.1\r\nX-Forwarded-For: 198.51.100.9, 192.0.2.1\r\n", "192.0.2.1"),
        ])
    func rightmost(fields: String, client: String) async throws {
        try await Fixture.run(Self.limits) { fixture in
            let proxy = try Self.proxy(fixture, sending: get("/peer", fields))
            #expect(try proxy.readResponse()?.text == client, "\(fields)")
            // The next request on the connection is another client's.
            proxy.send(get("/peer", Self.forwarded("203.0.113.5")))
            #expect(try proxy.readResponse()?.text == "203.0.113.5")
        }
    }

    @Test(
        "an element that is no address counts for the proxy that sent it, and no client can invent one",
        arguments: [
            ("X-Forwarded-For: unknown\r\n", "127.0.0.7"),
            ("X-Forwarded-For: 192.0.2.1, x\r\n", "127.0.0.7"),
            ("X-Forwarded-For: 192.0.2.1, x, 10.1.2.3\r\n", "10.1.2.3"),
            ("X-Forwarded-For: 192.0.2.1:port\r\n", "127.0.0.7"),
            ("X-Forwarded-For: 192.0.2.1:123456\r\n", "127.0.0.7"),
            ("X-Forwarded-For: 192.0.2.1:\r\n", "127.0.0.7"),
            ("X-Forwarded-For: 192.0.2.256\r\n", "127.0.0.7"),
            ("X-Forwarded-For: 192.0.2.1 198.51.100.9\r\n", "127.0.0.7"),
            ("X-Forwarded-For: 0xC0000201\r\n", "127.0.0.7"),
            ("X-Forwarded-For: [192.0.2.1]\r\n", "127.0.0.7"),
            ("X-Forwarded-For: [2001:db8::1\r\n", "127.0.0.7"),
            ("X-Forwarded-For: [2001:db8::1]443\r\n", "127.0.0.7"),
            ("X-Forwarded-For: fe80::1%eth0\r\n", "127.0.0.7"),
            ("X-Forwarded-For: \(String(repeating: "1", count: 7_000))\r\n", "127.0.0.7"),
            ("X-Forwarded-For: \"192.0.2.1\r\nX-Forwarded-For: 198.51.100.9\r\n", "198.51.100.9"),
            ("Forwarded: for=unknown\r\n", "127.0.0.7"),
            ("Forwarded: for=_hidden\r\n", "127.0.0.7"),
            ("Forwarded: for=\"_hidden:_port\", for=10.1.2.3\r\n", "10.1.2.3"),
            ("Forwarded: by=192.0.2.1;proto=http\r\n", "127.0.0.7"),
            ("Forwarded: for=192.0.2.1;for=198.51.100.9\r\n", "127.0.0.7"),
            ("Forwarded: for=\"192.0.2.1\r\n", "127.0.0.7"),
            ("Forwarded: for=\"192.0.2.1\"x\r\n", "127.0.0.7"),
            ("Forwarded: for=192.0.2.1;=x\r\n", "127.0.0.7"),
            ("Forwarded: for=192.0.2.1;x\r\n", "127.0.0.7"),
            ("Forwarded: 192.0.2.1\r\n", "127.0.0.7"),
            // A quote that the client opened ends before what the proxy appended.
            ("Forwarded: for=\"198.51.100.9, for=192.0.2.1\r\n", "192.0.2.1"),
            ("Forwarded: for=\"198.51.100.9, for=\"[2001:db8::1]\"\r\n", "2001:db8::1"),
            ("Forwarded: for=\"198.51.100.9\r\nForwarded: for=192.0.2.1\r\n", "192.0.2.1"),
            // A proxy writes one of the headers, and passes on the other one as the client sent it.
            ("Forwarded: for=198.51.100.9\r\nX-Forwarded-For: 192.0.2.1\r\n", "127.0.0.7"),
            ("Forwarded: for=_x\r\nX-Forwarded-For: 192.0.2.1\r\n", "127.0.0.7"),
        ])
    func malformed(fields: String, client: String) async throws {
        try await Fixture.run(Self.limits) { fixture in
            let proxy = try Self.proxy(fixture, sending: get("/peer", fields))
            #expect(try proxy.readResponse()?.text == client, "\(fields)")
        }
    }

    @Test("the headers of other clients are ignored")
    func untrusted() async throws {
        try await Fixture.run(Self.limits) { fixture in
            let client = try Self.proxy(fixture, 8)
            client.send(get("/peer", Self.forwarded("192.0.2.1")) + get("/peer", "Forwarded: for=192.0.2.1\r\n"))
            #expect(try client.readResponse()?.text == "127.0.0.8")
            #expect(try client.readResponse()?.text == "127.0.0.8")
        }
    }

    @Test("each client behind the proxy has the limit of an address, and the proxy has none")
    func limits() async throws {
        try await Fixture.run(Self.limits) { fixture in
            let idle = try (0..<40).map { _ in try Self.proxy(fixture) }
            for client in idle { client.send(get("/x", Self.forwarded("192.0.2.1"))) }
            for client in idle { #expect(try client.readResponse()?.status == 200) }
            // Two of each of 20 clients wait.
            for (number, client) in idle.enumerated() {
                client.send(post("/hold", "", Self.forwarded("192.0.2.\(1 + number / 2)")))
            }
            try blockUntil("all wait") { fixture.application.heldCount == 40 }
            #expect(fixture.server.statistics.refusedByAddress == 0)
            // A third request of one of them has only the reserve.
            let monitor = try Self.proxy(fixture)
            monitor.send(get("/health", Self.forwarded("192.0.2.1")) + get("/x", Self.forwarded("192.0.2.1")))
            #expect(try monitor.readResponse()?.text == "/health")
            #expect(try monitor.readResponse()?.status == 503)
            #expect(fixture.server.statistics.refusedByAddress == 1)
            let other = try Self.proxy(fixture, sending: get("/x", Self.forwarded("192.0.2.200")))
            #expect(try other.readResponse()?.text == "/x")
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "done")) }
            for client in idle { #expect(try client.readResponse()?.text == "done") }
            // None of them counts any more.
            for client in idle { client.send(get("/x", Self.forwarded("192.0.2.1"))) }
            for client in idle { #expect(try client.readResponse()?.status == 200) }
        }
    }

    @Test("requests without a client count for the proxy")
    func ownLimit() async throws {
        try await Fixture.run(Self.limits) { fixture in
            let busy = [try Self.proxy(fixture), try Self.proxy(fixture)]
            for client in busy { client.send(post("/hold", "")) }
            try blockUntil("both wait") { fixture.application.heldCount == 2 }
            let third = try Self.proxy(fixture, sending: get("/x"))
            #expect(try third.readResponse()?.status == 503)
            let other = try Self.proxy(fixture, sending: get("/x", Self.forwarded("192.0.2.1")))
            #expect(try other.readResponse()?.status == 200)
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "done")) }
        }
    }

    @Test("refused, malformed and aborted requests no longer count for their client")
    func ended() async throws {
        try await Fixture.run(Self.limits) { fixture in
            for _ in 0..<30 {
                for request in [
                    get("/refused", Self.forwarded("192.0.2.1")), "GET /x\r\n\r\n",
                    "POST /x HTTP/1.1\r\nHost: a\r\n\(Self.forwarded("192.0.2.1"))Content-Length: 9999999\r\n\r\n",
                    "POST /x HTTP/1.1\r\nHost: a\r\n\(Self.forwarded("192.0.2.1"))Content-Length: 10\r\n\r\nx",
                    get("/busy", Self.forwarded("192.0.2.1") + "Accept: text/event-stream\r\n"),
                ] {
                    let client = try Self.proxy(fixture, sending: request)
                    client.reset()
                }
            }
            try blockUntil("all are closed") {
                fixture.advance(seconds: 1)
                return fixture.server.statistics.openConnections == 0
            }
            // Refused clients count for two seconds.
            fixture.advance(seconds: 3)
            try fixture.settle(try fixture.client())
            let two = [try Self.proxy(fixture), try Self.proxy(fixture)]
            for client in two { client.send(post("/hold", "", Self.forwarded("192.0.2.1"))) }
            let isRefused = [pollfd(fd: two[0].descriptor, events: Int16(POLLIN), revents: 0)]
            try blockUntil("both wait, or one is refused") {
                var entries = isRefused + [pollfd(fd: two[1].descriptor, events: Int16(POLLIN), revents: 0)]
                return fixture.application.heldCount == 2 || poll(&entries, 2, 0) > 0
            }
            #expect(fixture.application.heldCount == 2)
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "done")) }
        }
    }

    @Test("streams are divided among the clients behind the proxy")
    func streams() async throws {
        let limits: @Sendable (inout HTTPServerConfiguration) -> Void = {
            Self.limits(&$0)
            $0.maxStreams = 40
        }
        try await Fixture.run(limits) { fixture in
            func status(_ address: String, _ streams: inout [RawHTTPClient]) throws -> Int? {
                let stream = try Self.proxy(fixture, sending: get("/stream", Self.forwarded(address)))
                streams.append(stream)
                return try stream.read(until: "\r\n").flatMap { Int($0.dropFirst(9).prefix(3)) }
            }
            var streams: [RawHTTPClient] = []
            // One client gets four fifths, and the rest is for others.
            let greedy = try (0..<40).map { _ in try status("192.0.2.1", &streams) }
            #expect(greedy.count { $0 == 200 } == 32)
            #expect(try status("192.0.2.2", &streams) == 200)
            withExtendedLifetime(streams) {}
        }
    }
}
