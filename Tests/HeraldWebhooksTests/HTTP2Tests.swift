import Glibc
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Testing

@Suite(.timeLimit(.minutes(20))) struct HTTP2Tests {
    private func delegate2(_ url: String, key: DelegateKey = 1, timeout: Int = 20) -> WebhookDelegate {
        delegate(url, key: key, timeout: timeout, headers: [KeyValue("X-Team", "blue")]) { $0.httpVersion = .http2 }
    }

    @Test("without TLS, HTTP/2 is used from the first byte, and everything arrives as over HTTP/1.1")
    func priorKnowledge() async throws {
        let (receiver, loop) = try connected { _ in .status(200, headers: [("retry-after", "7")], body: "thanks") }
        defer { loop.stop(closing: receiver) }
        let outcome = await loop.send(delegate2(receiver.url("/hook?x=1")), attempt: 2)
        #expect(outcome.verdict == .answered(status: 200, retryAfter: 7))
        #expect(outcome.excerpt == Array("thanks".utf8))
        #expect(outcome.transport.peer == "127.0.0.1:\(receiver.port)")
        #expect(outcome.transport.bytesSent == Int64(event().body.count))
        let request = try #require(receiver.requests.first)
        #expect(request.version == .http2)
        #expect(request.method == "POST")
        #expect(request.path == "/hook?x=1")
        #expect(request.body == event().body)
        #expect(request.header("x-team") == "blue")
        #expect(request.header("herald-attempt") == "2")
        #expect(request.header("content-type") == "application/json")
        #expect(try request.header("webhook-signature") == v1(secretBytes, request))
        let handshake = await loop.send(delegate2(receiver.url()), purpose: .handshake)
        #expect(handshake.isSuccess)
        #expect(await loop.send(delegate2(receiver.url())).isSuccess)
        #expect(receiver.requests.map(\.method) == ["POST", "OPTIONS", "POST"])
    }

    /// A receiver that speaks TLS, and a loop that trusts it.
    private func secure(
        offersHTTP2: Bool = true, capacity: Int = 1024,
        script: @escaping Receiver.Script = { _ in .status(200) }
    ) throws -> (Receiver, SendingLoop) {
        let authority = try CertificateAuthority()
        let receiver = try Receiver(tls: ReceiverTLS(authority, offersHTTP2: offersHTTP2), script: script)
        return (receiver, try SendingLoop(trusting: authority) { $0.capacity = capacity })
    }

    @Test("with TLS it is negotiated, or HTTP/1.1 is used", arguments: [true, false])
    func negotiated(_ offersHTTP2: Bool) async throws {
        let (receiver, loop) = try secure(offersHTTP2: offersHTTP2)
        defer { loop.stop(closing: receiver) }
        let target = delegate2(receiver.url())
        let first = await loop.send(target)
        #expect(first.isSuccess, "\(first)")
        #expect(first.transport.tls > 0)
        #expect(first.transport.connect > 0)
        let second = await loop.send(target)
        #expect(second.transport.isReused)
        #expect(second.transport.tls == 0)
        let expected: ReceivedRequest.Version = offersHTTP2 ? .http2 : .http1
        #expect(receiver.requests.map(\.version) == [expected, expected])
        #expect(receiver.connectionCount == 1)
    }

    @Test("concurrent callbacks share one connection")
    func multiplexed() async throws {
        let gate = ReceiverGate()
        let (receiver, loop) = try secure { _ in .held(gate) }
        defer { loop.stop(closing: receiver) }
        let target = delegate2(receiver.url(), timeout: 600)
        await withTaskGroup(of: Void.self) { group in
            for number in 1...50 {
                group.addTask { #expect(await loop.send(target, event(id: "evt_\(number)")).isSuccess) }
            }
            let requests = await receiver.requests(50)
            #expect(Set(requests.map { $0.header("webhook-id") }).count == 50)
            #expect(receiver.connectionCount == 1)
            gate.open()
        }
    }

    @Test("a receiver that does not continue its TLS handshake delays no other host at its address")
    func stalledHandshake() async throws {
        let (listener, port) = try listenOnLoopback()
        let loop = try SendingLoop(resolver: try Resolver(addresses: ["127.0.0.1"]))
        defer {
            loop.stop()
            close(listener)
        }
        async let first = loop.send(delegate2("https://one.example:\(port)/", key: 1, timeout: 600))
        async let second = loop.send(delegate2("https://two.example:\(port)/", key: 2, timeout: 600))
        await offPool {
            // Both connections are made before one of them ends.
            let connections = [accept(listener, nil, nil), accept(listener, nil, nil)]
            for connection in connections { close(connection) }
        }
        for outcome in await [first, second] { #expect(outcome.failure != .timeout, "\(outcome)") }
    }

    @Test("a callback that waits for a stalled TLS handshake of another one ends at its own deadline")
    func waitingForHandshake() async throws {
        let (listener, port) = try listenOnLoopback()
        let loop = try SendingLoop()
        defer {
            loop.stop()
            close(listener)
        }
        async let first = loop.send(delegate2("https://127.0.0.1:\(port)/", key: 1, timeout: 600))
        let connection = await offPool { accept(listener, nil, nil) }
        let second = await loop.send(delegate2("https://127.0.0.1:\(port)/", key: 2, timeout: 1))
        #expect(second.failure == .timeout)
        #expect(second.detail == "no connection was ready in time")
        close(connection)
        #expect(await first.failure != nil)
    }

    @Test("delegates of one host use the versions that they chose")
    func sideBySide() async throws {
        let (receiver, loop) = try secure(capacity: 1)
        defer { loop.stop(closing: receiver) }
        for _ in 1...3 {
            #expect(await loop.send(delegate(receiver.url(), key: 1)).isSuccess)
            #expect(await loop.send(delegate2(receiver.url(), key: 2)).isSuccess)
        }
        #expect(receiver.requests.map(\.version) == [.http1, .http2, .http1, .http2, .http1, .http2])
        #expect(receiver.connectionCount == 2)
    }

    @Test("frames between two requests do not end the connection")
    func framesInBetween() async throws {
        let (receiver, loop) = try secure()
        defer { loop.stop(closing: receiver) }
        // Large enough for the receiver to extend its window.
        let large = event("\"" + String(repeating: "x", count: 1_000_000) + "\"")
        for _ in 1...5 { #expect(await loop.send(delegate2(receiver.url()), large).isSuccess) }
        #expect(receiver.connectionCount == 1)
        #expect(receiver.requests.allSatisfy { $0.body == large.body })
    }

    @Test("a refused stream is not sent again by libcurl, and a connection closed while idle is no failure")
    func refusedAndClosed() async throws {
        let (receiver, loop) = try secure { $0.connection == 1 && $0.position == 2 ? .refuse : .status(200) }
        defer { loop.stop(closing: receiver) }
        #expect(await loop.send(delegate2(receiver.url())).isSuccess)
        let refused = await loop.send(delegate2(receiver.url()))
        #expect(refused.failure == .protocolError)
        #expect(refused.isStale)
        #expect(receiver.connectionCount == 1)
        #expect(await loop.send(delegate2(receiver.url()), attempt: 2, isFresh: true).isSuccess)
        receiver.closeConnections()
        #expect(await loop.send(delegate2(receiver.url())).isSuccess)
    }

    @Test("an endless body is cut off, and other callbacks on its connection continue")
    func endlessBody() async throws {
        let gate = ReceiverGate()
        let replies = try ScriptedReplies()
        let (receiver, loop) = try secure { request in
            request.path == "/held" ? .held(gate) : replies.reply(to: request)
        }
        defer { loop.stop(closing: receiver) }
        async let held = loop.send(delegate2(receiver.url("/held"), timeout: 60))
        _ = await receiver.requests(1)
        for _ in 1...3 {
            let outcome = await loop.send(delegate2(receiver.url("/?endless"), key: 2))
            #expect(outcome.isSuccess)
            #expect(outcome.excerpt.count == 1024)
        }
        gate.open()
        let outcome = await held
        #expect(outcome.isSuccess, "\(outcome)")
        #expect(receiver.connectionCount == 1)
    }

    @Test("a host that never responds ends each callback at its deadline")
    func silence() async throws {
        let (listener, port) = try listenOnLoopback()
        let loop = try SendingLoop()
        defer { close(listener) }
        defer { loop.stop() }
        await withTaskGroup(of: Void.self) { group in
            for key in 1...20 {
                group.addTask {
                    let timeout = key % 2 + 1
                    let target = delegate2("http://127.0.0.1:\(port)/\(key)", key: Int64(key), timeout: timeout)
                    let outcome = await loop.send(target)
                    #expect(outcome.failure == .timeout)
                    #expect(outcome.duration >= 900_000 * Int64(timeout))
                }
            }
        }
    }

    @Test(
        "invalid HTTP/2 is a protocol error",
        arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "\0\0\0\0\0\0\0\0"])
    func garbage(_ text: String) async throws {
        let (receiver, loop) = try connected { _ in .thenClose(.raw(text)) }
        defer { loop.stop(closing: receiver) }
        let outcome = await loop.send(delegate2(receiver.url(), timeout: 600))
        #expect(outcome.failure == .protocolError, "\(outcome)")
        #expect(!outcome.detail.isEmpty)
    }

    @Test("refused addresses are never dialled, with any version")
    func refusedAddress() async throws {
        let receiver = try Receiver()
        let loop = try SendingLoop(AddressGuard())
        defer { loop.stop(closing: receiver) }
        #expect(await loop.send(delegate2(receiver.url())).failure == .addressBlocked)
        #expect(receiver.connectionCount == 0)
    }
}
