import HeraldTestSupport
import Testing

@testable import HeraldHTTP

@Suite("Starting and stopping", .timeLimit(.minutes(20)))
struct StopTests {
    @Test("after stopAccepting no client can connect, and open connections get their response and are closed")
    func stopAccepting() async throws {
        try await Fixture.converse { fixture, client in
            client.send(get("/hold"))
            #expect(try fixture.wait { fixture.application.heldCount == 1 })
            fixture.server.stopAccepting()
            fixture.server.stopAccepting()
            // The port is free: the server of another test may have it now.
            if let stranger = try? fixture.client() {
                stranger.send(get("/after"))
                _ = try? stranger.readResponse()
            }
            #expect(!fixture.application.seen.contains { $0.path == "/after" })
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "done")) }
            let response = try client.readResponse()
            #expect(response?.text == "done")
            #expect(response?.header("connection")?.lowercased() == "close")
            #expect(try client.readToEnd().isEmpty)
        }
    }

    @Test("stop responds to waiting requests with 503 and closes everything", arguments: [1, 3])
    func stop(loops: Int) async throws {
        try await Fixture.run(with(\.loops, loops)) { fixture in
            let clients = try (0..<10).map { _ in try fixture.client() }
            for client in clients { client.send(get("/hold")) }
            #expect(try fixture.wait { fixture.application.heldCount == 10 })
            let idle = try fixture.client()
            fixture.server.stop()
            fixture.server.stop()
            for client in clients {
                #expect(try client.readResponse()?.status == 503)
                #expect(try client.readToEnd().isEmpty)
            }
            #expect(try idle.readToEnd().isEmpty)
            #expect(fixture.server.statistics.openConnections == 0)
            #expect(fixture.server.statistics.waitingRequests == 0)
            // After the end these have no effect.
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "too late")) }
        }
    }

    @Test("stop under load neither hangs nor crashes, and no connection remains", arguments: [1, 2])
    func stopUnderLoad(loops: Int) async throws {
        try await RawHTTP.onThread {
            for _ in 0..<5 {
                let fixture = try Fixture { $0.loops = loops }
                let port = fixture.server.port
                let ended = Counter()
                for index in 0..<6 {
                    RawHTTP.start {
                        let path = ["/x", "/thread", "/hold", "/drop"][index % 4]
                        if let client = try? RawHTTPClient(port: port) {
                            while client.send(get(path)), (try? client.readResponse()) ?? nil != nil {}
                        }
                        ended.next()
                    }
                }
                #expect(try fixture.wait { fixture.application.seen.count >= 500 })
                fixture.server.stop()
                try blockUntil("all clients end") { ended.value == 6 }
                #expect(fixture.server.statistics.openConnections == 0)
                _ = fixture.application.takeHeld()
            }
        }
    }

    @Test("a port in use is an error that says so", arguments: [1, 2])
    func portInUse(loops: Int) throws {
        let fixture = try Fixture()
        defer { fixture.server.stop() }
        #expect(throws: HTTPServerError.self) {
            try Fixture {
                $0.port = fixture.server.port
                $0.loops = loops
            }
        }
    }

    @Test("loops share one port")
    func loops() async throws {
        try await Fixture.run(with(\.loops, 3)) { fixture in
            for _ in 0..<30 {
                let client = try fixture.client(sending: get("/x"))
                #expect(try client.readResponse()?.status == 200)
            }
        }
    }

    @Test("addresses of both families can be used", arguments: ["127.0.0.1", "::1", "[::1]", "0.0.0.0", "[::]"])
    func hosts(host: String) async throws {
        try await Fixture.run(with(\.host, host)) { fixture in
            #expect(fixture.server.port > 0)
            if host.hasSuffix("::1") || host.hasSuffix("::1]") { return }
            let client = try fixture.client(sending: get("/peer"))
            #expect(try client.readResponse()?.text == "127.0.0.1")
        }
    }

    @Test("an invalid configuration is refused")
    func configuration() {
        #expect(throws: HTTPServerError.self) { try Fixture { $0.loops = 0 } }
        #expect(throws: HTTPServerError.self) { try Fixture { $0.maxHeadBytes = 100_000 } }
        #expect(throws: HTTPServerError.self) { try Fixture { $0.host = "not an address" } }
    }
}
