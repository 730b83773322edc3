import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Testing

@Suite(.timeLimit(.minutes(20))) struct HostileReceiverTests {
    private func outcome(_ reply: ReceiverReply, timeout: Int = 60) async throws -> CallbackOutcome {
        let (receiver, loop) = try connected { _ in reply }
        defer { loop.stop(closing: receiver) }
        return await loop.send(delegate(receiver.url(), timeout: timeout))
    }

    @Test("a receiver that never responds ends at the timeout")
    func silence() async throws {
        let gate = ReceiverGate()
        defer { gate.open() }
        let outcome = try await outcome(.held(gate), timeout: 1)
        #expect(outcome.failure == .timeout)
        #expect(outcome.duration >= 900_000)
    }

    @Test("a refused connection is reported as such")
    func refused() async throws {
        let loop = try SendingLoop()
        defer { loop.stop() }
        let port = try unusedPort()
        let outcome = await loop.send(delegate("http://127.0.0.1:\(port)/"))
        #expect(outcome.failure == .connect)
        #expect(outcome.detail.contains("Connection refused"))
    }

    @Test("redirects are responses, and never followed", arguments: [301, 302, 303, 307, 308])
    func redirects(_ status: Int) async throws {
        let elsewhere = try Receiver()
        defer { elsewhere.close() }
        let outcome = try await outcome(.status(status, headers: [("location", elsewhere.url())]))
        #expect(outcome.status == status)
        #expect(!outcome.isSuccess)
        #expect(elsewhere.connectionCount == 0)
    }

    @Test("an endless body is cut off, and the status counts", arguments: [200, 500])
    func endlessBody(_ status: Int) async throws {
        let head = "HTTP/1.1 \(status) x\r\ntransfer-encoding: chunked\r\n\r\n"
        let outcome = try await outcome(.flood(head, of: "400\r\n" + String(repeating: "y", count: 1024) + "\r\n"))
        #expect(outcome.status == status)
        #expect(outcome.excerpt == [UInt8](repeating: UInt8(ascii: "y"), count: 1024))
    }

    @Test("a slow body is cut off long before the timeout, and the status counts")
    func drip() async throws {
        // Longer than the time limit of this suite.
        let outcome = try await outcome(
            .drip("HTTP/1.1 200 x\r\ncontent-length: 10000\r\n\r\n", milliseconds: 50), timeout: 600)
        #expect(outcome.status == 200)
    }

    @Test("endless headers, endless interim responses and a slow header are failures by the deadline")
    func headerFloods() async throws {
        for reply in [
            ReceiverReply.flood("HTTP/1.1 100 Continue\r\n\r\n", of: "HTTP/1.1 100 Continue\r\n\r\n"),
            .drip("HTTP/1.1 200", milliseconds: 50),
        ] {
            let outcome = try await outcome(reply, timeout: 1)
            #expect(outcome.failure != nil)
            #expect(!outcome.detail.isEmpty)
        }
    }

    @Test(
        "a response whose headers never end is no success",
        arguments: [
            .flood("HTTP/1.1 200 x\r\n", of: "x-more: 1\r\n"), .drip("HTTP/1.1 200 OK\r\nx-more: ", milliseconds: 50),
            .thenClose(.raw("HTTP/1.1 200 OK\r\nx-more: 1\r\n")), .thenClose(.raw("HTTP/1.1 204 No Content\r\n")),
            .thenClose(.raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")),
        ] as [ReceiverReply])
    func endlessHead(_ reply: ReceiverReply) async throws {
        let outcome = try await outcome(reply, timeout: 1)
        #expect(!outcome.isSuccess)
        #expect(outcome.failure != nil)
        #expect(!outcome.detail.isEmpty)
    }

    @Test(
        "the detail distinguishes headers that do not end from silence",
        arguments: [
            (
                .thenClose(.raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n")),
                "the connection was closed before the headers of the response 200 ended"
            ),
            (
                .drip("HTTP/1.1 200 OK\r\nx-more: ", milliseconds: 50),
                "the headers of the response 200 did not end in time"
            ),
            (
                .drip("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 2", milliseconds: 50),
                "nothing followed the interim status 103 in time"
            ),
        ] as [(ReceiverReply, String)])
    func endOfHead(_ reply: ReceiverReply, _ detail: String) async throws {
        let outcome = try await outcome(reply, timeout: 3)
        #expect(outcome.detail == detail)
    }

    @Test(
        "invalid HTTP/1.1 is a protocol error",
        arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "<html>hello</html>", "\0\0\0\0\0\0\0\0", "HTTP/1.1 abc\r\n\r\n"])
    func garbage(_ text: String) async throws {
        let outcome = try await outcome(.thenClose(.raw(text)))
        #expect(outcome.failure == .protocolError)
        #expect(!outcome.detail.isEmpty)
    }

    @Test("a connection that ends without a response is a protocol error")
    func broken() async throws {
        #expect(try await outcome(.close).failure == .protocolError)
        #expect(try await outcome(.reset).failure == .protocolError)
        #expect(try await outcome(.thenClose(.raw("HTTP/1.1 "))).failure == .protocolError)
    }

    @Test("a truncated body does not change the status")
    func halfBody() async throws {
        let outcome = try await outcome(.thenClose(.raw("HTTP/1.1 202 x\r\ncontent-length: 100\r\n\r\nhalf")))
        #expect(outcome.isSuccess)
        #expect(outcome.excerpt == Array("half".utf8))
    }

    @Test("an unrequested response is not used for the next request")
    func forgedAnswer() async throws {
        let (receiver, loop) = try connected { request in
            request.header("webhook-id") == "evt_1"
                ? .raw("HTTP/1.1 500 x\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 forged\r\ncontent-length: 0\r\n\r\n")
                : .status(503)
        }
        defer { loop.stop(closing: receiver) }
        #expect(await loop.send(delegate(receiver.url()), event(id: "evt_1")).status == 500)
        #expect(await loop.send(delegate(receiver.url()), event(id: "evt_2")).status == 503)
    }

    /// libcurl stores headers in the handle, and folded lines extend the last one: that of an earlier response, which it
    /// has freed, if the handle is used again (7.84 to 8.0).
    @Test("a response that begins with a folded header line has no effect on others", arguments: [" ", "\t"])
    func foldedFirstLine(_ space: String) async throws {
        let (receiver, loop) = try connected { request in
            let number = request.header("webhook-id").flatMap { Int($0.dropFirst(4)) } ?? 0
            let line = (number.isMultiple(of: 10) ? space : "") + "x: " + String(repeating: "y", count: number % 700)
            return .raw("HTTP/1.1 204 No Content\r\n\(line)\r\n\r\n")
        }
        defer { loop.stop(closing: receiver) }
        let targets = (1...4).map { delegate(receiver.url("/\($0)"), key: DelegateKey($0)) }
        for number in 1...600 {
            let isFolded = number.isMultiple(of: 10)
            let outcome = await loop.send(targets[number % 4], event(id: "evt_\(number)"))
            // From 8.3, libcurl ignores the spaces.
            #expect(outcome.status == 204 || isFolded && outcome.failure == .protocolError, "\(number): \(outcome)")
        }
    }

    @Test(
        "Retry-After is read as seconds or as a date in three forms, capped at a day, and otherwise ignored",
        arguments: [
            ("7", 7), ("0", 0), ("86400", 86_400), ("86401", 86_400), ("-5", nil), ("1e3", nil),
            ("99999999999999999999", 86_400), ("", nil),
            ("1.5", nil), ("  12  ", 12), ("Thu, 25 Feb 2021 15:03:10 GMT", 60), ("Thu, 25 Feb 2021 15:01:10 GMT", 0),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400), ("Thu, 25 Feb 2021 15:03:10 UTC", nil),
            ("Thursday, 25-Feb-21 15:03:10 GMT", 60), ("Friday, 25-Feb-94 15:03:10 GMT", 0),
            ("Thu Feb 25 15:03:10 2021", 60), ("Sat Feb  6 15:03:10 2021", 0), ("Thu Feb 25 15:03 2021", nil),
            ("Thu, 25 Foo 2021 15:03:10 GMT", nil), ("Sat, 27 Feb 2021 15:02:10 GMT", 86_400),
        ] as [(String, Int?)])
    func retryAfter(_ text: String, _ seconds: Int?) async throws {
        let receiver = try Receiver { _ in .status(429, headers: [("Retry-After", text)]) }
        // 2021-02-25T15:02:10Z
        let loop = try SendingLoop(clock: .stopped(at: 1_614_265_330_000))
        defer { loop.stop(closing: receiver) }
        let outcome = await loop.send(delegate(receiver.url()))
        #expect(outcome.verdict == .answered(status: 429, retryAfter: seconds))
    }

    @Test("two hundred receivers that never respond do not slow a fast one")
    func deadReceivers() async throws {
        let (gate, ended) = (ReceiverGate(), Counter())
        let silent = try Receiver { _ in .held(gate) }
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: silent, receiver) }
        await withTaskGroup(of: Void.self) { group in
            for key in 1...200 {
                group.addTask {
                    _ = await loop.send(delegate(silent.url("/\(key)"), key: Int64(key), timeout: 600))
                    ended.next()
                }
            }
            _ = await silent.requests(200)
            for _ in 0..<100 { #expect(await loop.send(delegate(receiver.url(), key: 1000)).isSuccess) }
            #expect(ended.value == 0)
            gate.open()
        }
    }
}
