import HeraldTestSupport
import Testing

@Suite("Replies of a receiver's script", .timeLimit(.minutes(20)))
struct ReplyTests {
    /// All that comes back for one request, until the receiver ends the connection.
    private func bytes(_ reply: ReceiverReply) async throws -> String {
        let receiver = try Receiver { _ in reply }
        defer { receiver.close() }
        return try await RawHTTP.onThread {
            let client = try RawHTTPClient(port: receiver.port)
            client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            return String(decoding: try client.readToEnd(), as: UTF8.self)
        }
    }

    @Test("close, reset, send garbage, and close after a response")
    func endings() async throws {
        #expect(try await bytes(.close).isEmpty)
        #expect(try await bytes(.reset).isEmpty)
        #expect(try await bytes(.refuse).isEmpty)
        #expect(try await bytes(.thenClose(.raw("HTTP/1.1 2"))) == "HTTP/1.1 2")
        #expect(try await bytes(.thenClose(.status(200, body: "x"))).hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test("hold a reply until its gate opens, and serve other requests")
    func held() async throws {
        let gate = ReceiverGate()
        let receiver = try Receiver { $0.path == "/held" ? .held(gate, .status(202)) : .status(200) }
        defer { receiver.close() }
        let held = Task { [port = receiver.port] in try await status(port, "/held") }
        _ = await receiver.requests(1)
        for _ in 0..<3 { #expect(try await status(receiver.port, "/") == 200) }
        gate.open()
        #expect(try await held.value == 202)
        #expect(try await status(receiver.port, "/held") == 202, "it stays open")
    }

    @Test("a gate that opens after the client has disconnected affects no other request")
    func gateAfterDisconnect() async throws {
        let gate = ReceiverGate()
        let receiver = try Receiver { $0.path == "/held" ? .held(gate) : .status(200) }
        defer { receiver.close() }
        try await RawHTTP.onThread { [port = receiver.port] in
            let client = try RawHTTPClient(port: port, sending: "GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
            client.reset()
        }
        _ = await receiver.requests(1)
        gate.open()
        #expect(try await status(receiver.port, "/") == 200)
    }

    @Test("drip until the client disconnects, and flood likewise")
    func endless() async throws {
        for reply in [
            ReceiverReply.drip("HTTP/1.1 200 OK\r\n\r\n", milliseconds: 1), .flood("HTTP/1.1 200 OK\r\n\r\n", of: "x"),
        ] {
            let receiver = try Receiver { $0.path == "/endless" ? reply : .status(200) }
            defer { receiver.close() }
            try await RawHTTP.onThread { [port = receiver.port] in
                let client = try RawHTTPClient(port: port, sending: "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.readResponse()?.status == 200)
            }
            #expect(try await status(receiver.port, "/") == 200)
        }
    }

    @Test("accept connections without reading, or end them at once")
    func welcomes() async throws {
        let welcomes: [Int: Receiver.Welcome] = [1: .ignore, 2: .close, 3: .reset]
        var configuration = Receiver.Configuration()
        configuration.welcome = { welcomes[$0] ?? .serve }
        let receiver = try Receiver(configuration) { _ in .status(200) }
        defer { receiver.close() }
        try await RawHTTP.onThread { [port = receiver.port] in
            let ignored = try RawHTTPClient(port: port)
            ignored.send("GET /ignored HTTP/1.1\r\nHost: x\r\n\r\n")
            for _ in 2...3 {
                let broken = try RawHTTPClient(port: port)
                #expect(try broken.readToEnd().isEmpty)
            }
            let served = try RawHTTPClient(port: port, sending: "GET /served HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try served.readResponse()?.status == 200)
        }
        #expect(receiver.requests.map(\.path) == ["/served"])
        #expect(receiver.connectionCount == 4)
    }

    @Test("connections beyond the limit wait until others have ended")
    func tooMany() async throws {
        var configuration = Receiver.Configuration()
        configuration.maxConnections = 1
        let receiver = try Receiver(configuration) { _ in .status(200) }
        defer { receiver.close() }
        try await RawHTTP.onThread { [port = receiver.port] in
            for _ in 0..<5 {
                let first = try RawHTTPClient(port: port)
                let second = try RawHTTPClient(port: port, sending: "GET /second HTTP/1.1\r\nHost: x\r\n\r\n")
                first.send("GET /first HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                #expect(try first.readResponse()?.status == 200)
                #expect(try second.readResponse()?.status == 200)
            }
        }
        #expect(receiver.requestCount == 10)
    }

    private func status(_ port: UInt16, _ path: String) async throws -> Int? {
        try await RawHTTP.response(to: "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n", port: port)?.status
    }
}
