import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Testing

/// Receivers that send without end.
@Suite(.serialized, .timeLimit(.minutes(20))) struct FloodTests {
    private func flood(_ flood: ReceiverFlood, isSecure: Bool) throws -> (Receiver, SendingLoop) {
        let authority = try CertificateAuthority()
        let receiver = try Receiver(tls: isSecure ? ReceiverTLS(authority) : nil) { request in
            request.path == "/flood" ? flood.reply : .status(200)
        }
        return (receiver, try SendingLoop(trusting: authority))
    }

    private func target(_ receiver: Receiver, _ flood: ReceiverFlood, timeout: Int = 600) -> WebhookDelegate {
        delegate(receiver.url("/flood"), timeout: timeout) { $0.httpVersion = flood.isHTTP2 ? .http2 : .http1 }
    }

    /// The floods, with and without TLS, where there is such a thing.
    private static let floods = ReceiverFlood.allCases.flatMap { flood in
        (flood == .keyUpdate ? [true] : [false, true]).map { (flood, $0) }
    }

    @Test("a receiver that sends without end is cut off long before its timeout", arguments: floods)
    func cutOff(_ flood: ReceiverFlood, _ isSecure: Bool) async throws {
        let (receiver, loop) = try self.flood(flood, isSecure: isSecure)
        defer { loop.stop(closing: receiver) }
        // Within the time limit of this suite, which is shorter than the timeout.
        for number in 1...3 {
            let outcome = await loop.send(target(receiver, flood), event(id: "evt_\(number)"))
            switch flood {
            // The status was known. Over HTTP/2, the connection of the first transfer may take the next ones, which get frames
            // of the first stream only.
            case _ where outcome.status == 200:
                #expect([.chunkExtension, .trailer, .data].contains(flood), "\(outcome)")
            case .chunkExtension, .trailer: Issue.record("no status: \(outcome)")
            default:
                #expect(outcome.failure == .protocolError, "\(outcome)")
                #expect(!outcome.detail.isEmpty)
            }
        }
        #expect(receiver.connectionCount >= 2)
    }

    @Test("while a receiver sends without end, the loop serves others in turns", arguments: floods)
    func turns(_ flood: ReceiverFlood, _ isSecure: Bool) async throws {
        let (receiver, loop) = try self.flood(flood, isSecure: isSecure)
        defer { loop.stop(closing: receiver) }
        async let flooded: Void = withTaskGroup(of: Void.self) { group in
            for key in 1...8 {
                let target = delegate(receiver.url("/flood"), key: DelegateKey(key), timeout: 600) {
                    $0.httpVersion = flood.isHTTP2 ? .http2 : .http1
                }
                group.addTask { _ = await loop.send(target) }
            }
        }
        for number in 1...20 {
            let outcome = await loop.send(delegate(receiver.url(), key: 100), event(id: "evt_\(number)"))
            #expect(outcome.isSuccess, "\(outcome)")
        }
        await flooded
    }

    @Test("a response that names no length is complete soon after its headers", arguments: [false, true])
    func openEnd(_ isSecure: Bool) async throws {
        let authority = try CertificateAuthority()
        let receiver = try Receiver(tls: isSecure ? ReceiverTLS(authority) : nil) { _ in
            .raw("HTTP/1.1 202 Accepted\r\nretry-after: 7\r\n\r\nso far")
        }
        let loop = try SendingLoop(trusting: authority)
        defer { loop.stop(closing: receiver) }
        for _ in 1...3 {
            let outcome = await loop.send(delegate(receiver.url(), timeout: 600))
            #expect(outcome.verdict == .answered(status: 202, retryAfter: 7))
            #expect(outcome.excerpt == Array("so far".utf8))
        }
        #expect(receiver.connectionCount == 3)
    }

    @Test("over HTTP/2, a body that begins late is cut off, and its connection stays open")
    func lateBody() async throws {
        let replies = try ScriptedReplies()
        let authority = try CertificateAuthority()
        let receiver = try Receiver(tls: ReceiverTLS(authority)) { replies.reply(to: $0) }
        let loop = try SendingLoop(trusting: authority)
        defer { loop.stop(closing: receiver) }
        for path in ["/size/10000/drip/60000", "/size/10000"] {
            let outcome = await loop.send(delegate(receiver.url(path), timeout: 600) { $0.httpVersion = .http2 })
            #expect(outcome.status == 200)
            #expect(outcome.transport.bytesReceived == (path.contains("drip") ? 1 : 10_000))
        }
        #expect(receiver.connectionCount == 1)
    }

    @Test("as many header lines and bytes as the bounds allow are no flood")
    func largest() async throws {
        let lines = (1...100).map { ("x-\($0)", String(repeating: "y", count: 140)) }
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 16 * 1024)
        let (receiver, loop) = try connected { _ in .status(200, headers: lines, bytes: body) }
        defer { loop.stop(closing: receiver) }
        // Often enough that libcurl also reads responses before an event names their connection.
        for _ in 1...500 {
            let outcome = await loop.send(delegate(receiver.url()))
            #expect(outcome.isSuccess, "\(outcome)")
            #expect(outcome.transport.bytesReceived == body.count)
        }
        #expect(receiver.connectionCount == 1)
    }

    @Test(
        "header sections beyond the bounds are a failure",
        arguments: [
            (1...129).map { ("x-\($0)", "y") }, (1...3).map { ("x-\($0)", String(repeating: "y", count: 5_600)) },
        ])
    func tooManyHeaders(_ lines: [(String, String)]) async throws {
        let (receiver, loop) = try connected { _ in .status(200, headers: lines) }
        defer { loop.stop(closing: receiver) }
        let outcome = await loop.send(delegate(receiver.url()))
        #expect(outcome.failure == .protocolError, "\(outcome)")
        #expect(outcome.detail.contains("128 lines"), "\(outcome)")
    }

    @Test("what a trailer says does not count")
    func trailer() async throws {
        let (receiver, loop) = try connected { _ in
            .raw(
                "HTTP/1.1 429 x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nretry-after: 9\r\n"
                    + "HTTP/1.1 200 OK: x\r\n\r\n")
        }
        defer { loop.stop(closing: receiver) }
        #expect(await loop.send(delegate(receiver.url())).verdict == .answered(status: 429, retryAfter: nil))
    }

    @Test("a response that arrives byte by byte is no flood", arguments: [false, true])
    func byteByByte(_ isSecure: Bool) async throws {
        let authority = try CertificateAuthority()
        let replies = try ScriptedReplies()
        let receiver = try Receiver(tls: isSecure ? ReceiverTLS(authority) : nil) { replies.reply(to: $0) }
        let loop = try SendingLoop(trusting: authority)
        defer { loop.stop(closing: receiver) }
        let outcome = await loop.send(
            delegate(receiver.url("/drip/1/header/x-long:\(String(repeating: "y", count: 200))")))
        #expect(outcome.isSuccess, "\(outcome)")
    }
}
