import HeraldTestSupport
import Testing

@testable import HeraldHTTP

@Suite("Delayed responses, on a clock that the test moves", .timeLimit(.minutes(20)))
struct HoldTests {
    static let requests = [
        get("/late"), get("/late-answer"), post("/late-answer", "body"),
        // Judged by its head; the body never comes.
        "POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n",
        "POST /late HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    ]

    @Test("they are sent at their time and end the connection, and no other client waits", arguments: requests)
    func inTime(_ request: String) async throws {
        try await Fixture.converse { fixture, client in
            client.send(request)
            try fixture.settle(try fixture.client())
            fixture.advance(seconds: 4)
            try fixture.settle(try fixture.client())
            #expect(fixture.server.statistics.answers4xx == 0)
            fixture.advance(seconds: 1)
            let answer = try client.readResponse()
            #expect(answer?.status == 401 && answer?.text == "late")
            #expect(answer?.header("connection")?.lowercased() == "close")
            #expect(try client.readToEnd().isEmpty)
            #expect(try fixture.wait { fixture.server.statistics.waitingRequests == 0 })
        }
    }

    @Test("so are those to requests that have waited", arguments: [1, 100])
    func waited(_ rounds: Int) async throws {
        try await Fixture.run { fixture in
            let (client, asking) = (try fixture.client(), try fixture.client())
            client.send(get("/hold"))
            #expect(try fixture.wait { fixture.application.heldCount == 1 })
            // After many rounds the library is told to leave it alone.
            for _ in 1...rounds { try fixture.settle(asking) }
            for responder in fixture.application.takeHeld() { responder.send(TestApplication.late) }
            #expect(try fixture.wait { fixture.server.statistics.waitingRequests == 0 })
            fixture.advance(seconds: 4)
            try fixture.settle(asking)
            #expect(fixture.server.statistics.answers4xx == 0)
            fixture.advance(seconds: 1)
            let answer = try client.readResponse()
            #expect(answer?.status == 401 && answer?.header("connection")?.lowercased() == "close")
            #expect(try client.readToEnd().isEmpty)
        }
    }

    @Test("a stop sends them at once", arguments: requests)
    func stop(_ request: String) async throws {
        try await Fixture.converse { fixture, client in
            client.send(request)
            try fixture.settle(try fixture.client())
            fixture.server.stop()
            #expect(try client.readResponse()?.status == 401)
        }
    }

    @Test("a client that disconnects during the wait leaves nothing behind")
    func leaving() async throws {
        try await Fixture.run { fixture in
            for request in Self.requests {
                let client = try fixture.client(sending: request)
                try withExtendedLifetime(client) { try fixture.settle(try fixture.client()) }
            }
            fixture.advance(seconds: 5)
            let asking = try fixture.client()
            try fixture.settle(asking)
            try blockUntil("all but the one that asks are gone") {
                try fixture.settle(asking)
                return fixture.server.statistics.openConnections == 1
            }
        }
    }
}
