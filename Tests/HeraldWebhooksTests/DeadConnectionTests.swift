import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Testing

/// Connections that were fine for the last callback and are dead for this one.
@Suite(.timeLimit(.minutes(20))) struct DeadConnectionTests {
    @Test("an idle connection that the receiver closed is replaced without a failure")
    func idleClose() async throws {
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: receiver) }
        for round in 1...5 {
            #expect(await loop.send(delegate(receiver.url())).isSuccess)
            #expect(receiver.connectionCount == round)
            receiver.closeConnections()
        }
    }

    /// Answers the first request of each connection, and does `reply` with the others.
    private func outcomes(
        _ reply: ReceiverReply, _ event: Event = event()
    ) async throws -> (outcomes: [CallbackOutcome], requests: [ReceivedRequest]) {
        let (receiver, loop) = try connected { $0.position == 1 ? .status(200) : reply }
        defer { loop.stop(closing: receiver) }
        var outcomes: [CallbackOutcome] = []
        for _ in 1...3 { outcomes.append(await loop.send(delegate(receiver.url()), event)) }
        return (outcomes, receiver.requests)
    }

    @Test("a request is made once: if its kept connection closes before the first byte of the response, that is said")
    func closed() async throws {
        for reply in [ReceiverReply.close, .reset] {
            let (outcomes, requests) = try await outcomes(reply)
            #expect(outcomes.map(\.isSuccess) == [true, false, true])
            #expect(outcomes.map(\.isStale) == [false, true, false])
            #expect(outcomes.map(\.transport.isReused) == [false, true, false])
            #expect(requests.map(\.connection) == [1, 1, 2])
        }
    }

    @Test("a request over HTTP/2 is made once, too, over a kept connection and over a new one")
    func closedHTTP2() async throws {
        let authority = try CertificateAuthority()
        for kept in [true, false] {
            let receiver = try Receiver(tls: ReceiverTLS(authority)) { request in
                request.position == 1 && kept ? .status(200) : .close
            }
            let loop = try SendingLoop(trusting: authority)
            defer { loop.stop(closing: receiver) }
            let target = delegate(receiver.url()) { $0.httpVersion = .http2 }
            if kept { #expect(await loop.send(target).isSuccess) }
            let outcome = await loop.send(target)
            #expect(outcome.failure == .protocolError, "\(outcome)")
            #expect(receiver.requests.count == (kept ? 2 : 1))
        }
    }

    @Test("a request for a fresh connection uses no open one")
    func fresh() async throws {
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: receiver) }
        for _ in 1...2 { #expect(await loop.send(delegate(receiver.url()), isFresh: true).isSuccess) }
        #expect(await loop.send(delegate(receiver.url()), purpose: .test).isSuccess)
        #expect(receiver.connectionCount == 3)
    }

    @Test(
        "complete headers are the response; with incomplete ones there is none, and nothing is sent again")
    func begun() async throws {
        for (reply, status) in [("HTTP/1.1 500 x\r\n\r\n", 500), ("HTTP/1.1 500 x\r\n", nil)] {
            let (outcomes, requests) = try await outcomes(.thenClose(.raw(reply)))
            #expect(outcomes.map(\.status) == [200, status, 200])
            #expect(requests.map(\.connection) == [1, 1, 2])
        }
    }

    @Test(
        "a connection that breaks during a large body is lost, too, and the next request uses a new one",
        arguments: BreakingReceiver.Ending.allCases)
    func brokenWhileSending(_ ending: BreakingReceiver.Ending) async throws {
        let large = event("\"" + String(repeating: "x", count: 8_000_000) + "\"")
        let receiver = try BreakingReceiver(ending)
        let loop = try SendingLoop()
        defer { loop.stop() }
        let target = delegate(receiver.url)
        #expect(await loop.send(target).isSuccess)
        let lost = await loop.send(target, large)
        #expect(lost.isStale, "\(lost)")
        #expect(lost.transport.isReused)
        let outcome = await loop.send(target, large, attempt: 2, isFresh: true)
        #expect(outcome.isSuccess, "\(outcome)")
        #expect(!outcome.transport.isReused)
        #expect(receiver.connectionCount == 2)
    }

    @Test("a new connection that closes without a response is a failure, not another attempt")
    func newConnection() async throws {
        let (receiver, loop) = try connected { _ in .close }
        defer { loop.stop(closing: receiver) }
        #expect(await loop.send(delegate(receiver.url())).failure == .protocolError)
        #expect(receiver.requests.count == 1)
    }
}
