import HeraldTestSupport
import Testing

@testable import HeraldReceiver

@Suite("The receiver and HTTP/1.1", .timeLimit(.minutes(20)))
struct ConversationTests {
    /// Sends the text on a connection of its own, closes nothing, and returns so many responses.
    private func answers(
        _ count: Int, to text: String, isHead: Bool = false, script: @escaping Receiver.Script = { _ in .status(200) }
    ) async throws -> ([RawHTTPResponse], [ReceivedRequest]) {
        let receiver = try Receiver(script: script)
        defer { receiver.close() }
        let answers = try await RawHTTP.onThread {
            let client = try RawHTTPClient(port: receiver.port, sending: text)
            return try (0..<count).compactMap { _ in try client.readResponse(isToHead: isHead) }
        }
        return (answers, receiver.requests)
    }

    @Test("a request is recorded as received")
    func recorded() async throws {
        let (answers, requests) = try await answers(
            1, to: "POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Two:  words here \r\nContent-Length: 5\r\n\r\nhello"
        ) { _ in .status(418, headers: [("x-color", "blue")], body: "tea") }
        #expect(answers.map(\.status) == [418])
        #expect(answers.first?.header("x-color") == "blue")
        #expect(answers.first?.text == "tea")
        let request = try #require(requests.first)
        #expect(request.version == .http1)
        #expect((request.connection, request.position) == (1, 1))
        #expect((request.method, request.path, request.text) == ("POST", "/a?b=c", "hello"))
        #expect(request.headers.map(\.name) == ["Host", "X-Two", "Content-Length"])
        #expect(request.header("x-two") == "words here")
        #expect(request.receivedAt > 0)
    }

    @Test("pipelined requests get their responses one after the other, in order")
    func pipelined() async throws {
        let text = (1...50).map { "GET /\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined()
        let (answers, requests) = try await answers(50, to: text) { .status(200, body: $0.path) }
        #expect(answers.map(\.text) == (1...50).map { "/\($0)" })
        #expect(requests.map(\.position) == Array(1...50))
        #expect(Set(requests.map(\.connection)) == [1])
    }

    @Test("a chunked body is joined, and trailers are skipped")
    func chunks() async throws {
        let (answers, requests) = try await answers(
            2,
            to:
                "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n"
                + "X-Trailer: 1\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(answers.count == 2)
        #expect(requests.map(\.text) == ["abc0123456789", ""])
    }

    @Test("a request after millions of empty lines costs no more than their bytes")
    func emptyLines() throws {
        var parser = HTTP1Parser(maxBodyBytes: 0)
        parser.append(Array(String(repeating: "\r\n", count: 8 << 20).utf8)[...])
        parser.append(Array("GET /a HTTP/1.1\r\n\r\n".utf8)[...])
        guard case .request(let request) = parser.next() else { throw Unexpected("no request") }
        #expect(request.path == "/a" && parser.bufferedBytes == 0)
    }

    @Test("a client that expects 100 Continue gets it")
    func interim() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let statuses = try await RawHTTP.onThread {
            let client = try RawHTTPClient(port: receiver.port)
            client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
            let first = try client.readResponse()?.status
            client.send("abc")
            return [first, try client.readResponse()?.status]
        }
        #expect(statuses == [100, 200])
        #expect(receiver.requests.first?.text == "abc")
    }

    @Test("responses to HEAD, 204 and 304 have no body")
    func noBody() async throws {
        let head = try await answers(1, to: "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", isHead: true) { _ in
            .status(200, body: "four")
        }
        #expect(head.0.first?.header("content-length") == "4")
        for status in [204, 304] {
            let (answers, _) = try await answers(2, to: String(repeating: "GET / HTTP/1.1\r\n\r\n", count: 2)) { _ in
                .status(status, body: "not sent")
            }
            #expect(answers.map(\.status) == [status, status])
            #expect(answers.first?.header("content-length") == nil)
        }
    }

    @Test(
        "malformed requests get a response, and end the connection",
        arguments: [
            ("nonsense\r\n\r\n", 400), ("GET / HTTP/2.0\r\n\r\n", 400), ("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", 413),
            ("GET / HTTP/1.1\r\nX: " + String(repeating: "y", count: 70_000), 431),
        ])
    func malformed(_ text: String, _ status: Int) async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let (answer, rest) = try await RawHTTP.onThread {
            let client = try RawHTTPClient(port: receiver.port, sending: text)
            return (try client.readResponse(), try client.readToEnd())
        }
        #expect(answer?.status == status)
        #expect(answer?.text.isEmpty == false)
        #expect(rest.isEmpty)
        #expect(receiver.requests.isEmpty)
    }

    @Test("a connection ends after the response if the client requests it", arguments: ["1.0", "1.1"])
    func last(_ version: String) async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let rest = try await RawHTTP.onThread {
            let client = try RawHTTPClient(port: receiver.port)
            client.send(
                "GET / HTTP/\(version)\r\nHost: x\r\n" + (version == "1.1" ? "Connection: close\r\n\r\n" : "\r\n"))
            _ = try client.readResponse()
            return try client.readToEnd()
        }
        #expect(rest.isEmpty)
    }
}
