import HeraldAPI
import HeraldCrypto
import HeraldHTTP
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("A server that starts", .timeLimit(.minutes(20)))
struct StartupTests {
    private func response(to head: String) async throws -> RawHTTPResponse {
        let startup = StartupHandler(origins: OriginRules([]), hasRun: false)
        let server = try HTTPServer(HTTPServerConfiguration(maxBodyBytes: 1000), handler: startup)
        defer { server.stop() }
        let response = try await offPool { [port = server.port] in
            Result { () throws -> RawHTTPResponse? in
                let client = try RawHTTPClient(port: port)
                _ = client.send(head + "\r\nHost: localhost\r\n\r\n")
                return try client.readResponse()
            }
        }.get()
        return try #require(response)
    }

    @Test("shows a browser a page that loads by itself")
    func page() async throws {
        let accept = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
        let page = try await response(to: "GET /?portal=app_1 HTTP/1.1\r\n\(accept)")
        #expect(page.status == 503 && page.header("retry-after") == "1")
        #expect(page.header("content-type") == "text/html; charset=utf-8")
        #expect(page.text.contains("Herald is starting"))
        // The policy allows this script only.
        let script = try #require(page.text.firstMatch(of: #/<script>(.+)</script>/#)).1
        let digest = Base64.encode(SHA256.hash(Array(script.utf8)))
        // Not while the page loads.
        #expect(script.contains("? location.reload() : wait()") && !script.contains("setInterval"))
        #expect(page.header("content-security-policy")?.hasSuffix("script-src 'sha256-\(digest)'") == true)
    }

    @Test(
        "responds to programs with a problem",
        arguments: [
            "GET / HTTP/1.1\r\nAccept: */*", "GET /v1/events HTTP/1.1\r\nAccept: text/html, */*",
            "POST / HTTP/1.1\r\nContent-Length: 0\r\nAccept: text/html",
        ])
    func problem(request: String) async throws {
        let refused = try await response(to: request)
        #expect(refused.status == 503 && refused.header("content-type") == "application/problem+json")
        #expect(refused.text.contains("/problems/starting"))
    }
}
