import HeraldTestSupport
import Testing

@testable import HeraldHTTP

@Suite("Slow clients, on a clock that the test moves", .timeLimit(.minutes(20)))
struct DeadlineTests {
    @Test(
        "a slow request is disconnected at its deadline, however often it sends",
        arguments: [
            ("", "GET /x HTTP"),
            ("GET /x HTTP/1.1\r\nHost: a\r\n", "X: 1\r\nY: 2"),
            ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n", "0123456789a"),
            ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "9\r\n12345678"),
        ])
    func drip(start: String, drops: String) async throws {
        try await Fixture.converse { fixture, client in
            client.send(start)
            for drop in drops.prefix(9) {
                client.send(String(drop))
                try fixture.settle(try fixture.client())
                fixture.advance(seconds: 1)
            }
            #expect(fixture.server.statistics.expiredConnections == 0)
            try fixture.settle(try fixture.client())
            fixture.advance(seconds: 1)
            #expect(try client.readToEnd().isEmpty)
            #expect(fixture.server.statistics.expiredConnections == 1)
            #expect(fixture.application.seen.allSatisfy { $0.path == "/settled" })
        }
    }

    @Test("the deadline of a later request runs from its own start")
    func laterRequest() async throws {
        try await Fixture.converse { fixture, client in
            client.send(get("/1"))
            #expect(try client.readResponse()?.status == 200)
            fixture.advance(seconds: 20)
            client.send("GET /2 HTTP/1.1\r\n")
            try fixture.settle(try fixture.client())
            fixture.advance(seconds: 9)
            client.send("Host: a\r\n\r\n")
            #expect(try client.readResponse()?.text == "/2")
            client.send("GET /3 HTTP/1.1\r\n")
            try fixture.settle(try fixture.client())
            fixture.advance(seconds: 10)
            #expect(try client.readToEnd().isEmpty)
        }
    }

    @Test("an idle connection ends at its timeout, even if it sends a request line slowly")
    func idle() async throws {
        try await Fixture.converse { fixture, client in
            client.send(get("/1"))
            #expect(try client.readResponse()?.status == 200)
            fixture.advance(seconds: 29)
            client.send("G")
            try fixture.settle(try fixture.client())
            #expect(fixture.server.statistics.expiredConnections == 0)
            fixture.advance(seconds: 1)
            #expect(try client.readToEnd().isEmpty)
        }
    }

    @Test("a client that does not read its response is disconnected")
    func slowReader() async throws {
        try await Fixture.converse { fixture, client throws in
            client.send(get("/large"))
            #expect(try fixture.wait { fixture.application.seen.contains { $0.path == "/large" } })
            fixture.advance(seconds: 30)
            #expect(try fixture.wait { fixture.server.statistics.expiredConnections >= 1 })
            #expect(try client.readToEnd().count < 32_000_000)
        }
    }
}
