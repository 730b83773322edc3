import HeraldJSON
import HeraldTestSupport
import Testing

/// Requests that libmicrohttpd would refuse, and requests that Herald refuses, get the same response.
@Suite("Malformed requests", .timeLimit(.minutes(20)), .serialized)
struct MalformedRequestTests {
    private static let host = "Host: localhost\r\n"
    private static func post(_ fields: String, _ body: String) -> String {
        "POST /v1/events HTTP/1.1\r\n\(host)Content-Type: application/json\r\n\(fields)\r\n\(body)"
    }
    private static func chunked(_ body: String) -> String { post("Transfer-Encoding: chunked\r\n", body) }
    private static func get(_ fields: String) -> String { "GET /healthz HTTP/1.1\r\n\(host)\(fields)\r\n" }
    private static func line(_ line: String) -> String { "\(line)\r\n\(host)\r\n" }
    private static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static let requests: [(raw: String, status: Int)] = [
        (post("Content-Length: x\r\n", "abc"), 400),
        (post("Content-Length: -1\r\n", "abc"), 400),
        (post("Content-Length: 3, 3\r\n", "abc"), 400),
        (post("Content-Length:\r\n", "abc"), 400),
        (post("Content-Length: 18446744073709551619\r\n", "abc"), 413),
        (post("Content-Length: 10000000\r\n", many("a", 300_000)), 413),
        (post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "abc"), 400),
        (chunked("xx\r\nabc\r\n0\r\n\r\n"), 400),
        (chunked("\r\nabc\r\n0\r\n\r\n"), 400),
        (chunked("3\r\nabcd\r\n0\r\n\r\n"), 400),
        (chunked("3\nabc\r\n0\r\n\r\n"), 400),
        (chunked("10000000000000003\r\nabc"), 413),
        (chunked(many("10000\r\n\(many("a", 65_536))\r\n", 5)), 413),
        (chunked("2\r\n{}\r\n0\r\nno colon\r\n\r\n"), 400),
        (line("GET /healthz HTTP/2.0"), 505),
        (line("GET /healthz HTTP/0.9"), 505),
        (line("GET /healthz HTTP/1.2"), 400),
        (line("GET /healthz FOO/1.1"), 400),
        (line("GET /healthz"), 400),
        (line("GET "), 400),
        (line("GARBAGE"), 400),
        (line(" GET /healthz HTTP/1.1"), 400),
        (line("BREW /healthz HTTP/1.1"), 501),
        (line("GET /" + many("a", 40_000) + " HTTP/1.1"), 414),
        ("GET /healthz HTTP/1.1\r\nHost\r\n\r\n", 400),
        ("GET /healthz HTTP/1.1\r\n\r\n", 400),
        (get("no colon\r\n"), 400),
        (get("X: a\r\n folded\r\n"), 400),
        (get("X: \(many("a", 8_108))\r\n"), 431),
        (get("X: \(many("a", 40_000))\r\n"), 431),
        (get("X: \(many("a", 400_000))\r\n"), 431),
        (get(many("X: a\r\n", 2000)), 431),
        (get("Cookie: \(many("a=b; ", 1800))\r\n"), 431),
        (get("Host: localhost\r\n"), 400),
        (get("Expect: tea\r\n"), 417),
    ]

    @Test("each gets one response, a problem with Herald's headers, and the connection is closed")
    func table() async throws {
        let herald = try await HeraldProcess.start()
        let port = herald.port
        try await RawHTTP.onThread {
            for (raw, status) in Self.requests {
                let client = try RawHTTPClient(port: port, sending: raw)
                let answer = String(decoding: try client.readToEnd(), as: UTF8.self)
                let name = String(raw.prefix(80))
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(name): \(answer.prefix(80))")
                #expect(answer.ranges(of: "\r\nRequest-Id: ").count == 1, "\(name): \(answer)")
                let head = answer.prefix(upTo: answer.firstRange(of: "\r\n\r\n")?.lowerBound ?? answer.startIndex)
                for field in [
                    "Content-Type: application/problem+json", "X-Content-Type-Options: nosniff",
                    "Cache-Control: no-store", "Connection: close", "Request-Id: req_",
                ] {
                    #expect(head.contains("\r\n\(field)"), "\(name): \(head)")
                }
                #expect(answer.contains("\"status\":\(status),"), "\(name): \(answer)")
                #expect(answer.hasSuffix("\"}"), "\(name): \(answer)")
            }
        }
        #expect(try await herald.get("/healthz").status == 200)
    }

    @Test("an integer may have a fraction of zero or an exponent, in every field")
    func integers() async throws {
        let herald = try await HeraldProcess.start()
        let delegate = try await herald.register(
            "http://127.0.0.1:9/", #""max_in_flight": 4.0"#, #""timeout_seconds": 1e1"#, #""lease_seconds": 14462.0"#)
        #expect(delegate.status == 201)
        #expect(delegate["max_in_flight"]?.integer == 4)
        #expect(delegate["timeout_seconds"]?.integer == 10)
        #expect(delegate["lease_seconds"]?.integer == 14462)
        try await herald.publish("auth.logged_in", #""data": {"user": {"id": 14462.0}}"#)
        #expect(try await herald.get("/v1/auth/14462").status == 200)
        let wrong = try await herald.post("/v1/delegates", #"{"url": "http://127.0.0.1:9/", "max_in_flight": 4.5}"#)
        #expect(wrong.status == 422)
    }
}
