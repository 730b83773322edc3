import HeraldHTTP
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("The HTTP client of the command line", .timeLimit(.minutes(20)))
struct HTTPClientTests {
    @Test("it waits longer than a server of Herald takes to say that a request took too long")
    func deadline() {
        let server = HTTPServerConfiguration(host: "", port: 0, maxBodyBytes: 0)
        let seconds = server.requestDeadlineSeconds + server.answerDeadlineSeconds
        #expect(HTTPRequest("GET", "").timeoutMilliseconds > 1_000 * seconds)
    }

    /// libcurl from 7.84 to 8.0 extends a header that it has freed if the handle is used again.
    @Test("a response that begins with a folded header line has no effect on the requests after it")
    func foldedFirstLine() async throws {
        let receiver = try Receiver { request in
            let space = request.path.hasSuffix("0") ? "\t" : ""
            return .raw("HTTP/1.1 200 OK\r\n\(space)x: \(request.path)\r\ncontent-length: 2\r\n\r\nhi")
        }
        defer { receiver.close() }
        await offPool {
            guard let client = try? HTTPClient(.init(userAgent: "test")) else {
                Issue.record("libcurl has no memory")
                return
            }
            for number in 1...300 {
                let path = "/" + String(repeating: "y", count: number) + String(number)
                do {
                    #expect(try client.send(HTTPRequest("GET", receiver.url(path))).body == Array("hi".utf8))
                } catch {
                    // From 8.3, libcurl ignores the spaces.
                    #expect(number.isMultiple(of: 10), "\(number): \(error)")
                }
            }
        }
    }

    @Test("the limit of a body is named in a unit that fits", arguments: [(65_536, "64 KiB"), (64 << 20, "64 MiB")])
    func limit(bytes: Int, words: String) {
        let error = HTTPClientError.tooLarge(limit: bytes, status: 200)
        #expect(error.description == "the response is longer than \(words)")
    }

    @Test("requests to one server share a connection")
    func keptConnection() async throws {
        let receiver = try Receiver { _ in .status(200, body: "hi") }
        defer { receiver.close() }
        let statuses = await offPool {
            let client = try? HTTPClient(.init(userAgent: "test"))
            return (1...5).map { _ in try? client?.send(HTTPRequest("GET", receiver.url())).status }
        }
        #expect(statuses == [200, 200, 200, 200, 200])
        #expect(receiver.connectionCount == 1)
    }

    @Test("a response that is not HTTP is no mistake in the URL")
    func notHTTP() async throws {
        let receiver = try Receiver { _ in .thenClose(.raw("This is no HTTP.\r\n\r\n")) }
        defer { receiver.close() }
        let errors = await offPool {
            [receiver.url(), "gopher://127.0.0.1/"].map { url -> HTTPClientError? in
                do throws(HTTPClientError) {
                    _ = try HTTPClient(.init(userAgent: "test")).send(HTTPRequest("GET", url))
                    return nil
                } catch {
                    return error
                }
            }
        }
        guard case .failed? = errors[0], case .url? = errors[1] else { throw Unexpected("\(errors)") }
    }
}
