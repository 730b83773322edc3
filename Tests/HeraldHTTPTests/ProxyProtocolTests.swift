import HeraldTestSupport
import Testing

@testable import HeraldHTTP

@Suite("The PROXY protocol", .timeLimit(.minutes(20)))
struct ProxyProtocolTests {
    private static let limits: @Sendable (inout HTTPServerConfiguration) -> Void = {
        $0.maxConnectionsPerAddress = 2
        $0.readsProxyHeaders = true
        $0.trustedProxies = TrustedProxies([.init([127, 0, 0, 7], prefixLength: 32)].compactMap { $0 })
    }

    private static func proxy(_ fixture: Fixture, _ source: UInt8 = 7) throws -> RawHTTPClient {
        try RawHTTPClient(port: fixture.server.port, source: source)
    }

    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]

    /// Version 2 with these addresses, and extensions of so many bytes.
    private static func binary(
        command: UInt8 = 0x21, _ family: UInt8, _ addresses: [UInt8], extensions: Int = 0
    ) -> [UInt8] {
        let count = addresses.count + extensions
        let all = addresses + [UInt8](repeating: 0x0a, count: extensions)
        return signature + [command, family, UInt8(count >> 8), UInt8(count & 255)] + all
    }

    private static let v4: [UInt8] = [192, 0, 2, 1, 127, 0, 0, 1, 0x12, 0x34, 0, 80]
    private static let v6: [UInt8] =
        [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 16) + [1, 2, 3, 4]

    private static let valid: [(header: [UInt8], client: String)] = [
        (Array("PROXY TCP4 192.0.2.1 127.0.0.1 4660 80\r\n".utf8), "192.0.2.1"),
        (Array("PROXY TCP6 2001:db8::1 ::1 4660 80\r\n".utf8), "2001:db8::1"),
        (Array("PROXY UNKNOWN\r\n".utf8), "127.0.0.7"),
        (Array("PROXY UNKNOWN \(String(repeating: "f", count: 80))\r\n".utf8), "127.0.0.7"),
        (binary(0x11, v4), "192.0.2.1"), (binary(0x21, v6), "2001:db8::1"),
        (binary(0x11, v4, extensions: 700), "192.0.2.1"), (binary(command: 0x20, 0x11, v4), "127.0.0.7"),
        (binary(command: 0x20, 0, []), "127.0.0.7"), (binary(0, []), "127.0.0.7"), (binary(0x12, v4), "127.0.0.7"),
    ]

    @Test("the client is the address of the header, and what follows is the request", arguments: 0..<11)
    func client(index: Int) async throws {
        let (header, client) = Self.valid[index]
        try await Fixture.run(Self.limits) { fixture in
            let whole = try Self.proxy(fixture)
            whole.send(header + Array((get("/peer") + get("/peer")).utf8))
            #expect(try whole.readResponse()?.text == client)
            #expect(try whole.readResponse()?.text == client)
            // In two pieces, at every byte.
            for end in 1..<min(header.count, 40) {
                let pieces = try Self.proxy(fixture)
                pieces.send(header[..<end])
                try fixture.settle(try fixture.client())
                pieces.send(header[end...] + Array("GET /peer HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
                #expect(try pieces.readResponse()?.text == client)
            }
        }
    }

    private static let malformed: [[UInt8]] =
        [
            get("/peer"), "PROXY\r\n", "PROXY TCP4 192.0.2.1 127.0.0.1 4660\r\n",
            "PROXY TCP4 192.0.2.1 127.0.0.1 4660 80 \r\n", "PROXY TCP6 192.0.2.1 127.0.0.1 4660 80\r\n",
            "PROXY TCP4 2001:db8::1 ::1 4660 80\r\n", "PROXY TCP4 192.0.2.1 127.0.0.1 x 80\r\n",
            "PROXY TCP4 192.0.2.300 127.0.0.1 4660 80\r\n", "PROXY TCP4 192.0.2.1 127.0.0.1 4660 80\n",
            "PROXY UNKNOWN \(String(repeating: "f", count: 200))", "proxy TCP4 192.0.2.1 127.0.0.1 4660 80\r\n",
        ].map { Array($0.utf8) } + [
            binary(command: 0x31, 0x11, v4), binary(command: 0x22, 0x11, v4), binary(0x11, Array(v4.dropLast())),
            binary(0x21, v4),
            signature + [0x21, 0x11, 0xff, 0xff], Array(signature.dropLast()) + [11],
        ]

    @Test("a proxy that sends no valid header is disconnected, and others are served", arguments: 0..<17)
    func refused(index: Int) async throws {
        try await Fixture.run(Self.limits) { fixture in
            let proxy = try Self.proxy(fixture)
            proxy.send(Self.malformed[index] + Array(get("/peer").utf8))
            #expect((try? proxy.readToEnd()) ?? [] == [])
            let other = try Self.proxy(fixture)
            other.send(Self.valid[0].header + Array(get("/peer").utf8))
            #expect(try other.readResponse()?.text == "192.0.2.1")
        }
    }

    @Test("a client that is no trusted proxy sends no header, and cannot send one")
    func untrusted() async throws {
        try await Fixture.run(Self.limits) { fixture in
            let client = try Self.proxy(fixture, 8)
            client.send(get("/peer"))
            #expect(try client.readResponse()?.text == "127.0.0.8")
            let liar = try Self.proxy(fixture, 8)
            liar.send(Self.valid[0].header + Array(get("/peer").utf8))
            #expect(try liar.readResponse()?.status == 400)
        }
    }

    @Test("proxies that send nothing, or never the end, have a deadline")
    func silence() async throws {
        try await Fixture.run(Self.limits) { fixture in
            let silent = try (0..<20).map { _ in try Self.proxy(fixture) }
            for proxy in silent.dropFirst(10) { proxy.send("PROXY TCP4 1") }
            let other = try Self.proxy(fixture)
            other.send(Self.valid[0].header + Array(get("/peer").utf8))
            #expect(try other.readResponse()?.text == "192.0.2.1")
            fixture.advance(seconds: 11)
            for proxy in silent { #expect((try? proxy.readToEnd()) ?? [] == []) }
        }
    }

    @Test("the clients of the header have the limit of an address, and the proxy has none")
    func limits() async throws {
        try await Fixture.run(Self.limits) { fixture in
            func client(_ number: Int) throws -> RawHTTPClient {
                let proxy = try Self.proxy(fixture)
                proxy.send("PROXY TCP4 192.0.2.\(number) 127.0.0.1 4660 80\r\n")
                return proxy
            }
            let busy = try (0..<40).map { try client(1 + $0 / 2) }
            for client in busy { client.send(post("/hold", "")) }
            try blockUntil("all wait") { fixture.application.heldCount == 40 }
            let third = try client(1)
            third.send(get("/health") + get("/x"))
            #expect(try third.readResponse()?.text == "/health")
            #expect(try third.readResponse()?.status == 503)
            let more = try (0..<12).map { _ in try client(1) }
            for client in more { client.send(post("/hold", "")) }
            for client in more { #expect((try? client.readResponse())?.status != 200) }
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "done")) }
            for client in busy { #expect(try client.readResponse()?.text == "done") }
            let stream = try client(50)
            stream.send(get("/stream"))
            #expect(try stream.read(until: "\r\n")?.contains("200") == true)
        }
    }
}
