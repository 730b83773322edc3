import Glibc
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct TransportTests {
    @Test("an attempt has its phases, its peer and its bytes, and whether the connection was reused")
    func phases() async throws {
        let receiver = try Receiver { _ in .delayed(milliseconds: 20, .status(200, body: "thanks")) }
        let local = try #require(IPAddress("127.0.0.1"))
        let resolver = Resolver { _ in
            usleep(20_000)
            return .addresses([local])
        }
        let loop = try SendingLoop(resolver: resolver)
        defer { loop.stop(closing: receiver) }
        let target = delegate("http://hooks.example:\(receiver.port)/")
        let sent = event()
        let first = await loop.send(target, sent)
        let second = await loop.send(target, sent)
        for outcome in [first, second] {
            #expect(outcome.transport.peer == "127.0.0.1:\(receiver.port)")
            #expect(outcome.transport.bytesSent == Int64(sent.body.count))
            #expect(outcome.transport.bytesReceived == 6)
            #expect(outcome.transport.firstByte >= 20_000)
            #expect(outcome.transport.tls == 0)
            let phases = [outcome.transport.lookup, outcome.transport.connect, outcome.transport.firstByte]
            // Each is rounded for itself.
            #expect(phases.reduce(0, +) <= outcome.duration + 3)
        }
        #expect(first.transport.lookup >= 20_000)
        #expect(first.transport.connect > 0)
        #expect(!first.transport.isReused)
        #expect(second.transport.lookup == 0)
        #expect(second.transport.connect == 0)
        #expect(second.transport.isReused)
    }

    @Test("an address that was dialled without a response is reported, a refused one is not")
    func failures() async throws {
        let (listener, port) = try listenOnLoopback()
        let loop = try SendingLoop()
        let strict = try SendingLoop(AddressGuard())
        defer { close(listener) }
        defer { strict.stop() }
        defer { loop.stop() }
        let target = delegate("http://127.0.0.1:\(port)/", timeout: 1)
        let silent = await loop.send(target)
        #expect(silent.failure == .timeout)
        #expect(silent.transport.peer == "127.0.0.1:\(port)")
        #expect(silent.transport.connect > 0)
        #expect(silent.transport.firstByte == 0)
        #expect(await strict.send(target).transport == TransportRecord())
    }

    @Test("a refused connection was not reused, and an unknown name has a lookup time")
    func failedPhases() async throws {
        let port = try unusedPort()
        let resolver = Resolver { _ in
            usleep(20_000)
            return .failed("there is none")
        }
        let loop = try SendingLoop(resolver: resolver)
        defer { loop.stop() }
        let refused = await loop.send(delegate("http://127.0.0.1:\(port)/"))
        #expect(refused.failure == .connect)
        #expect(refused.transport.connect > 0 && !refused.transport.isReused, "\(refused.transport)")
        let unknown = await loop.send(delegate("http://hooks.example:\(port)/"))
        #expect(unknown.failure == .nameResolution)
        #expect(unknown.transport.lookup >= 20_000, "\(unknown.transport)")
    }

    @Test("a response is decompressed, and its bytes and excerpt are the decompressed ones")
    func compressed() async throws {
        let outcome = try await outcome(path: "/?gzip&size=5000")
        #expect(outcome.isSuccess)
        #expect(outcome.excerpt == [UInt8](repeating: UInt8(ascii: "x"), count: 1024))
        #expect(outcome.transport.bytesReceived == 5000)
    }

    @Test("a small response that expands is cut off like a large one")
    func bomb() async throws {
        let outcome = try await outcome(path: "/?gzip&size=1000000")
        #expect(outcome.isSuccess)
        #expect(outcome.excerpt.count == 1024)
        #expect(outcome.transport.bytesReceived <= 32 * 1024 + 1)
    }

    @Test("a large response that shrinks to nothing is cut off too")
    func nothing() async throws {
        // Gzip whose blocks are empty, and none of them the last one.
        let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        let empty: [UInt8] = [0, 0, 0, 0xFF, 0xFF]
        let body = head + [[UInt8]](repeating: empty, count: 1_000_000).joined()
        let (receiver, loop) = try connected { _ in .status(200, headers: [("content-encoding", "gzip")], bytes: body) }
        defer { loop.stop(closing: receiver) }
        for _ in 1...2 {
            let outcome = await loop.send(delegate(receiver.url()))
            #expect(outcome.isSuccess)
            #expect(outcome.transport.bytesReceived == 0)
        }
        // A connection whose answer was read to its end would have been used again.
        #expect(receiver.connectionCount == 2)
    }

    @Test(
        "a body with codings inside each other is not decoded, and the status counts",
        arguments: [
            ("", "content-encoding: identity\r\n", "hello"), ("", "content-encoding: identity, identity\r\n", ""),
            ("", "content-encoding:identity\r\nContent-Encoding: identity\r\n", ""),
            ("", "content-encoding: \(String(repeating: " ", count: 300))identity,identity\r\n", ""),
            ("HTTP/1.1 103 x\r\ncontent-encoding: identity\r\n\r\n", "content-encoding: identity\r\n", ""),
        ] as [(String, String, String)])
    func severalCodings(_ interim: String, _ lines: String, _ excerpt: String) async throws {
        let (receiver, loop) = try connected { _ in
            .raw("\(interim)HTTP/1.1 429 x\r\n\(lines)retry-after: 7\r\ncontent-length: 5\r\n\r\nhello")
        }
        defer { loop.stop(closing: receiver) }
        let outcome = await loop.send(delegate(receiver.url()))
        #expect(outcome.verdict == .answered(status: 429, retryAfter: 7))
        #expect(outcome.excerpt == Array(excerpt.utf8))
    }

    @Test("the body of an interim response with codings inside each other is not decoded", arguments: [101, 103])
    func interimCodings(_ status: Int) async throws {
        let (receiver, loop) = try connected { _ in
            .raw("HTTP/1.1 \(status) x\r\ncontent-encoding: identity, identity\r\n\r\nhello")
        }
        defer { loop.stop(closing: receiver) }
        let outcome = await loop.send(delegate(receiver.url()))
        #expect(
            outcome.verdict == .failed(.protocolError, detail: "the interim response \(status) has several codings"))
    }

    @Test("a chunked body with one coding is decoded")
    func chunkedCoding() async throws {
        let (receiver, loop) = try connected { _ in
            .raw(
                "HTTP/1.1 200 x\r\ncontent-encoding: identity\r\ntransfer-encoding: chunked\r\n\r\n"
                    + "5\r\nhello\r\n0\r\n\r\n")
        }
        defer { loop.stop(closing: receiver) }
        #expect(await loop.send(delegate(receiver.url())).excerpt == Array("hello".utf8))
    }

    @Test("a body that does not match its header does not change the status", arguments: ["gzip", "br", "foo"])
    func wrongEncoding(_ encoding: String) async throws {
        let (receiver, loop) = try connected { _ in
            .status(200, headers: [("content-encoding", encoding)], body: "no such thing")
        }
        defer { loop.stop(closing: receiver) }
        #expect(await loop.send(delegate(receiver.url())).isSuccess)
    }

    private func outcome(path: String) async throws -> CallbackOutcome {
        let replies = try ScriptedReplies()
        let (receiver, loop) = try connected { replies.reply(to: $0) }
        defer { loop.stop(closing: receiver) }
        return await loop.send(delegate(receiver.url(path)))
    }
}
