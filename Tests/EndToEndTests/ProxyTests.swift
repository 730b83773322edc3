import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Behind a proxy, all clients are one address", .timeLimit(.minutes(5)))
struct ProxyTests {
    private static let head = "Host: herald.example\r\n"
    private static let post =
        "POST /v1/events HTTP/1.1\r\n\(head)Content-Type: application/json\r\nContent-Length: 14\r\n\r\n{\"type\":\"a.b\"}"

    @Test("streams and long polls leave publications and health checks a reserve, and refusals are logged and counted")
    func reserve() async throws {
        let herald = try await HeraldProcess.start(
            listen: "0.0.0.0:0", ["--allow-anonymous", "true", "--connections-per-address", "10"])
        let port = herald.port
        let statuses = try await RawHTTP.onThread {
            func status(_ client: RawHTTPClient, _ request: String) throws -> Int? {
                client.send(request)
                return try client.read(until: "\r\n").flatMap { Int($0.dropFirst(9).prefix(3)) }
            }
            func status(_ request: String) throws -> Int? {
                try status(try RawHTTPClient(port: port, source: 7), request)
            }
            // One after the other: a connection counts until its stream has begun.
            let streams = try (0..<30).map { _ in
                let stream = try RawHTTPClient(port: port, source: 7)
                #expect(try status(stream, "GET /v1/events/stream HTTP/1.1\r\n\(Self.head)\r\n") == 200)
                return stream
            }
            #expect(try status("GET /v1/events HTTP/1.1\r\n\(Self.head)\r\n") == 200)
            // Posts, because a request that only reads would be ended for a new connection after five seconds.
            let calls = try (0..<10).map { _ in try RawHTTPClient(port: port, source: 7) }
            for call in calls {
                call.send("POST /v1/events HTTP/1.1\r\n\(Self.head)Content-Type: application/json\r\nContent-Le")
            }
            withExtendedLifetime((streams, calls)) {}
            return try [status(Self.post), status("GET /readyz HTTP/1.1\r\n\(Self.head)\r\n")]
        }
        #expect(statuses == [202, 200])
    }

    @Test("connections beyond the reserve are refused, with one line of the log and a counter")
    func refusals() async throws {
        let herald = try await HeraldProcess.start(
            listen: "0.0.0.0:0", ["--allow-anonymous", "true", "--connections-per-address", "8"])
        let port = herald.port
        try await RawHTTP.onThread {
            let first = try RawHTTPClient(port: port, source: 6)
            first.send("GET /v1/app-state HTTP/1.1\r\n\(Self.head)\r\n")
            let tag = try #require(try first.readResponse()?.header("etag"))
            let poll = "GET /v1/app-state?wait=60 HTTP/1.1\r\n\(Self.head)If-None-Match: \(tag)\r\n\r\n"
            let polls = try (0..<40).map { _ in try RawHTTPClient(port: port, source: 7) }
            for client in polls { client.send(poll) }
            for client in polls.suffix(10) { _ = try? client.readToEnd() }
        }
        try await eventually("a line of the log") {
            herald.process.lines.contains {
                $0.contains("their address has too many") && $0.contains("127.0.0.7")
                    && $0.contains("connections-per-address")
            }
        }
        let metrics = try await herald.get("/metrics").text
        let line = metrics.split(separator: "\n").first {
            $0.hasPrefix(#"herald_http_connections_refused_total{cause="address"}"#)
        }
        #expect(line.flatMap { $0.split(separator: " ").last.flatMap { Int($0) } } ?? 0 > 0, "\(line ?? "no metric")")
    }
}
