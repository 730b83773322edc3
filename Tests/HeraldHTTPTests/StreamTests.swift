import Glibc
import HeraldHTTP
import HeraldTestSupport
import Synchronization
import Testing

/// Feeds streams, and records their ends.
final class StreamRecorder: ResponseStreamDelegate {
    private struct State {
        var streams: [ResponseStream] = []
        var drained = 0
        var closed = 0
    }
    private let state = Mutex(State())

    var opened: Int { state.withLock { $0.streams.count } }
    var drained: Int { state.withLock { $0.drained } }
    var closed: Int { state.withLock { $0.closed } }

    func opened(_ stream: ResponseStream) { state.withLock { $0.streams.append(stream) } }
    func drained(_ stream: ResponseStream) { state.withLock { $0.drained += 1 } }
    func closed(_ stream: ResponseStream) { state.withLock { $0.closed += 1 } }

    /// To all of them.
    func write(_ bytes: [UInt8]) { each { $0.write(bytes) } }
    func end() { each { $0.end() } }

    private func each(_ body: @escaping @Sendable (ResponseStream) -> Void) {
        for stream in state.withLock({ $0.streams }) { stream.loop.perform { body(stream) } }
    }
}

@Suite("Answers that go on", .timeLimit(.minutes(20)))
struct StreamTests {
    /// - Returns: the head of the answer.
    private static func open(_ fixture: Fixture, _ client: RawHTTPClient) throws -> String? {
        let before = fixture.application.streams.opened
        client.send(get("/stream"))
        let head = try client.read(until: "\r\n\r\n")
        _ = try fixture.wait { fixture.application.streams.opened > before }
        return head
    }

    @Test("data arrives piece by piece, and the end of the stream ends the connection")
    func pieces() async throws {
        try await Fixture.converse { fixture, client in
            let head = try #require(try Self.open(fixture, client))
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\nDate: "))
            #expect(head.contains("\r\nContent-Type: text/plain\r\n") && head.contains("\r\nConnection: close\r\n"))
            for piece in ["one.", "two.", "three."] {
                fixture.application.streams.write(Array(piece.utf8))
                #expect(try client.read(until: ".") == piece)
            }
            fixture.application.streams.end()
            #expect(try client.readToEnd().isEmpty)
            #expect(try fixture.wait { fixture.application.streams.closed == 1 })
        }
    }

    @Test("a stream is no longer a connection, neither of the library nor of its address")
    func counts() async throws {
        try await Fixture.run(with(\.maxConnectionsPerAddress, 8)) { fixture in
            let clients = try (0..<30).map { _ in
                let client = try fixture.client()
                _ = try Self.open(fixture, client)
                return client
            }
            #expect(fixture.server.statistics.openStreams == clients.count)
            let other = try fixture.client(sending: get("/served"))
            #expect(try other.readResponse()?.text == "/served")
            try blockUntil("only the other one is a connection") { fixture.server.statistics.openConnections == 1 }
            #expect(fixture.server.statistics.refusedByAddress == 0)
        }
    }

    @Test("with a limit for addresses, one address can't have all streams")
    func shares() async throws {
        let limits: @Sendable (inout HTTPServerConfiguration) -> Void = {
            $0.maxStreams = 100
            $0.maxConnectionsPerAddress = 200
        }
        try await Fixture.run(limits) { fixture in
            func status(_ client: RawHTTPClient) throws -> Bool {
                client.send(get("/stream"))
                return try client.read(until: "\r\n\r\n")?.contains(" 200 ") == true
            }
            let greedy = try (0..<100).map { _ in try fixture.client() }
            #expect(try greedy.count(where: status) == 80)
            #expect(try status(try RawHTTPClient(port: fixture.server.port, source: 9)))
        }
    }

    @Test("a group can't have all streams, and those that end can be opened again")
    func groups() async throws {
        let limits: @Sendable (inout HTTPServerConfiguration) -> Void = {
            $0.maxStreams = 40
            $0.maxConnectionsPerAddress = 0
        }
        try await Fixture.run(limits) { fixture in
            var clients: [RawHTTPClient] = []
            func isOpened(_ group: String) throws -> Bool {
                let client = try fixture.client()
                clients.append(client)
                client.send(get("/stream\(group)"))
                return try client.read(until: "\r\n\r\n")?.contains(" 200 ") == true
            }
            func opened(_ count: Int, _ group: String) throws -> Int {
                var opened = 0
                for _ in 0..<count {
                    if try isOpened(group) { opened += 1 }
                }
                return opened
            }
            #expect(try opened(40, "?1") == 30)
            #expect(try opened(20, "?2") == 7)
            #expect(try isOpened("?3"))
            // Without a group, the last two.
            #expect(try opened(3, "") == 2)
            try blockUntil("all have begun") { fixture.application.streams.opened == 40 }
            fixture.application.streams.end()
            try blockUntil("all have ended") { fixture.server.statistics.openStreams == 0 }
            #expect(try opened(40, "?1") == 30)
            withExtendedLifetime(clients) {}
        }
    }

    @Test("a client that accepts only an event stream gets no refusal for the time being: its connection is closed")
    func withheld() async throws {
        try await Fixture.run(with(\.maxStreams, 0)) { fixture in
            let accept = "Accept: text/event-stream\r\n"
            for path in ["/stream", "/busy", "/drop"] {
                let browser = try fixture.client(sending: get(path, accept))
                #expect(try browser.readToEnd().isEmpty, "\(path)")
                let program = try fixture.client(sending: get(path))
                #expect(try #require(try program.readResponse()).status >= 429, "\(path)")
            }
            #expect(fixture.server.statistics.withheldResponses == 3)
            let wrong = try fixture.client(sending: get("/refused", accept))
            #expect(try wrong.readResponse()?.status == 405)
        }
    }

    @Test("a client that disconnects in any way is noticed, and its slot is free again")
    func leaving() async throws {
        try await Fixture.run(with(\.maxStreams, 1)) { fixture in
            let ways: [(RawHTTPClient) -> Void] = [{ $0.reset() }, { _ = shutdown($0.descriptor, Int32(SHUT_WR)) }]
            for (round, leaves) in ways.enumerated() {
                let client = try fixture.client()
                _ = try Self.open(fixture, client)
                leaves(client)
                #expect(try fixture.wait { fixture.application.streams.closed == round + 1 })
            }
            #expect(fixture.server.statistics.openStreams == 0)
        }
    }

    @Test("beyond the limit of streams other requests get responses")
    func limit() async throws {
        try await Fixture.run(with(\.maxStreams, 1)) { fixture in
            let first = try fixture.client()
            _ = try Self.open(fixture, first)
            let second = try fixture.client(sending: get("/stream"))
            #expect(try second.readResponse()?.status == 503)
        }
    }

    @Test("without data a heartbeat is sent")
    func heartbeat() async throws {
        try await Fixture.converse { fixture, client in
            _ = try Self.open(fixture, client)
            fixture.advance(seconds: 15)
            #expect(try client.read(until: "\n") == "beat\n")
            fixture.advance(seconds: 15)
            #expect(try client.read(until: "\n") == "beat\n")
        }
    }

    @Test("a client that does not read is disconnected, a client that reads late gets everything")
    func slowness() async throws {
        try await Fixture.run { fixture in
            let large = [UInt8](repeating: 120, count: 16_000_000)
            let late = try fixture.client()
            _ = try Self.open(fixture, late)
            fixture.application.streams.write(large + [10])
            #expect(try late.read(until: "\n")?.utf8.count == large.count + 1)
            #expect(try fixture.wait { fixture.application.streams.drained > 0 })

            let never = try fixture.client()
            _ = try Self.open(fixture, never)
            late.reset()
            #expect(try fixture.wait { fixture.application.streams.closed == 1 })
            fixture.application.streams.write(large)
            // It has been written: its time runs.
            #expect(try never.read(until: "x") == "x")
            fixture.advance(seconds: 31)
            #expect(try fixture.wait { fixture.application.streams.closed == 2 })
            #expect(try never.readToEnd().count < large.count)
        }
    }

    @Test("a stop ends the streams")
    func stop() async throws {
        try await Fixture.converse { fixture, client in
            _ = try Self.open(fixture, client)
            fixture.server.stop()
            #expect(try client.readToEnd().isEmpty)
            #expect(fixture.application.streams.closed == 1)
        }
    }
}
