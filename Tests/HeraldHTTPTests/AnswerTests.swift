import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldHTTP

@Suite("Answers at once, later, twice and never", .timeLimit(.minutes(20)))
struct AnswerTests {
    @Test("a request gets its response later, and its connection stays open")
    func later() async throws {
        try await Fixture.converse { fixture, client throws in
            client.send(post("/hold", "x"))
            #expect(try fixture.wait { fixture.application.heldCount == 1 })
            for responder in fixture.application.takeHeld() { responder.send(.text(202, "later")) }
            #expect(try client.readResponse()?.text == "later")
            client.send(get("/2"))
            #expect(try client.readResponse()?.text == "/2")
        }
    }

    @Test("work deferred to the end of a round is done without another request")
    func round() async throws {
        try await Fixture.converse { _, client throws in
            for _ in 0..<3 {
                client.send(post("/round", "x") + post("/round", "y"))
                #expect(try client.readResponse()?.text == "with the round")
                #expect(try client.readResponse()?.text == "with the round")
            }
        }
    }

    /// At first the library asks for the answer; then the connection is suspended, and must be resumed.
    @Test(
        "a response arrives however long its request has waited, and pipelined requests are not lost",
        arguments: [0, 50])
    func answerDeadline(rounds: Int) async throws {
        try await Fixture.run { fixture in
            let other = try fixture.client()
            let client = try fixture.client()
            for _ in 0..<3 {
                client.send(post("/hold", "x") + get("/next"))
                #expect(try fixture.wait { fixture.application.heldCount == 1 })
                for _ in 0..<rounds { try fixture.settle(other) }
                #expect(fixture.server.statistics.waitingRequests == 1)
                for responder in fixture.application.takeHeld() { responder.send(.text(202, "at last")) }
                #expect(try client.readResponse()?.text == "at last")
                #expect(try client.readResponse()?.text == "/next")
            }
            #expect(fixture.server.statistics.waitingRequests == 0)
        }
    }

    @Test(
        "a response from another thread arrives in any timing, also by way of the loop",
        arguments: [1, 2], ["/thread", "/loop"])
    func race(loops: Int, path: String) async throws {
        try await Fixture.run(with(\.loops, loops)) { fixture in
            let clients = try (0..<8).map { _ in try fixture.client() }
            for _ in 0..<100 {
                for client in clients { client.send(get(path)) }
                for client in clients { #expect(try client.readResponse()?.text == "from elsewhere") }
            }
            #expect(fixture.server.statistics.waitingRequests == 0)
        }
    }

    @Test("the loop sends all responses of what was posted to it together")
    func posted() async throws {
        try await Fixture.run { fixture in
            let clients = try (0..<3).map { _ in try fixture.client() }
            for client in clients { client.send(get("/hold")) }
            #expect(try fixture.wait { fixture.application.heldCount == 3 })
            let held = fixture.application.takeHeld()
            held[0].loop.post {
                for responder in held { responder.send(.text(200, "posted")) }
            }
            for client in clients { #expect(try client.readResponse()?.text == "posted") }
            #expect(fixture.server.statistics.waitingRequests == 0)
        }
    }

    @Test("only the first response counts, also for the next request")
    func twice() async throws {
        try await Fixture.converse { fixture, client throws in
            client.send(get("/twice") + get("/hold"))
            #expect(try client.readResponse()?.text == "first")
            #expect(try fixture.wait { fixture.application.heldCount == 1 })
            for responder in fixture.application.takeHeld() {
                responder.send(.text(200, "one"))
                responder.send(.text(200, "two"))
            }
            client.send(get("/next"))
            #expect(try client.readResponse()?.text == "one")
            #expect(try client.readResponse()?.text == "/next")
        }
    }

    @Test("a responder released without a response sends 500, at once or later")
    func dropped() async throws {
        try await Fixture.converse { fixture, client throws in
            client.send(get("/drop") + get("/hold"))
            #expect(try client.readResponse()?.status == 500)
            #expect(try fixture.wait { fixture.application.heldCount == 1 })
            _ = fixture.application.takeHeld()
            #expect(try client.readResponse()?.status == 500)
        }
    }

    @Test("a waiting request whose client has disconnected is released with its response")
    func clientGone() async throws {
        try await Fixture.run { fixture in
            let gone = try fixture.client(sending: get("/hold"))
            #expect(try fixture.wait { fixture.application.heldCount == 1 })
            gone.reset()
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "too late")) }
            // The one that asks is the one that is left.
            #expect(
                try fixture.wait {
                    let statistics = fixture.server.statistics
                    return statistics.waitingRequests == 0 && statistics.openConnections == 1
                })
        }
    }

    @Test("a request without a response gets 503 in the end, and a late response is ignored")
    func forgotten() async throws {
        try await Fixture.converse { fixture, client in
            client.send(get("/hold"))
            #expect(try fixture.wait { fixture.application.heldCount == 1 })
            fixture.advance(seconds: 121)
            let last = try client.readResponse()
            #expect(last?.status == 503)
            #expect(last?.text.contains("not known whether it was or will be carried out") == true)
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "too late")) }
            client.send(get("/next"))
            #expect(try client.readResponse()?.text == "/next")
        }
    }

    @Test("responses are counted by class")
    func counted() async throws {
        try await Fixture.converse { fixture, client in
            client.send(get("/1") + get("/refused") + get("/drop"))
            for _ in 0..<3 { _ = try client.readResponse() }
            let statistics = fixture.server.statistics
            #expect(statistics.answers2xx == 1)
            #expect(statistics.answers4xx == 1)
            #expect(statistics.answers5xx == 1)
            #expect(statistics.openConnections == 1)
        }
    }
}
