import Foundation
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Behind a proxy", .timeLimit(.minutes(20)))
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

    @Test("a thousand clients of a trusted proxy, 200 of them with streams, are all served")
    func trusted() async throws {
        let herald = try await HeraldProcess.start(
            listen: "0.0.0.0:0",
            ["--allow-anonymous", "true", "--connections-per-address", "8", "--trusted-proxies", "127.0.0.7"])
        let port = herald.port
        let statuses = try await RawHTTP.onThread {
            func head(_ number: Int) -> String {
                "\(Self.head)X-Forwarded-For: 198.51.100.1, 10.\(number >> 8).\(number & 255).1\r\n"
            }
            let clients = try (0..<1000).map { _ in try RawHTTPClient(port: port, source: 7) }
            clients[0].send("GET /v1/app-state HTTP/1.1\r\n\(head(0))\r\n")
            let tag = try #require(try clients[0].readResponse()?.header("etag"))
            for (number, client) in clients.enumerated() {
                client.send(
                    number < 200
                        ? "GET /v1/events/stream HTTP/1.1\r\n\(head(number))\r\n"
                        : "GET /v1/app-state?wait=1 HTTP/1.1\r\n\(head(number))If-None-Match: \(tag)\r\n\r\n")
            }
            var statuses: [Int: Int] = [:]
            for (number, client) in clients.enumerated() {
                // The header section of a stream has no end of a body.
                let line = try client.read(until: number < 200 ? "\r\n" : "\r\n\r\n")
                statuses[line.flatMap { Int($0.dropFirst(9).prefix(3)) } ?? 0, default: 0] += 1
            }
            for (number, client) in clients.enumerated().dropFirst(200) {
                client.send(Self.post.replacing(Self.head, with: head(number)))
                statuses[try client.readResponse()?.status ?? 0, default: 0] += 1
            }
            return statuses
        }
        #expect(statuses == [200: 200, 304: 800, 202: 800])
        let metrics = try await herald.get("/metrics").text
        #expect(metrics.contains(#"herald_http_connections_refused_total{cause="address"} 0"#))
    }

    @Test("the log and the audit log have the address that the trusted proxy names")
    func addresses() async throws {
        let herald = try await HeraldProcess.start(["--trusted-proxies", "127.0.0.1"], adminKey: MadeKey.admin.text)
        let app = try await herald.post("/v1/apps", #"{"name": "shop"}"#, ["Forwarded": #"for="[2001:db8::7]:80""#])
        #expect(app.status == 201)
        #expect(try await herald.get("/v1/audit").data.first?["address"]?.string == "2001:db8::7")
        let wrong = ["Authorization": "Bearer wrong", "X-Forwarded-For": "192.0.2.77"]
        #expect(try await herald.get("/v1/audit", wrong).status == 401)
        try await eventually("a line of the log") {
            herald.process.lines.contains { $0.contains("wrong access keys") && $0.contains("192.0.2.77") }
        }
    }

    @Test(
        "nginx with the settings of deploy/compose.yaml names its clients, whatever they name themselves",
        .enabled(if: Files.exists("/usr/sbin/nginx")))
    func nginx() async throws {
        let herald = try await HeraldProcess.start(
            ["--trusted-proxies", "127.0.0.1"], adminKey: MadeKey.admin.text)
        let folder = TemporaryFolder()
        let port = try unusedPort()
        let settings = try Self.balancer()
            .replacing("server herald-1:8080", with: "server 127.0.0.1:\(herald.port)")
            .replacing(#/ +server herald-2:8080.*\n/#, with: "")
            .replacing("listen 80;", with: "listen 127.0.0.1:\(port);")
        let proxy = try Self.startNginx(settings, in: folder)
        defer { proxy.signal(SIGTERM) }
        let request =
            "GET /v1/audit HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n"
            + "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.2\r\n\r\n"
        let status: Int = try await eventually("nginx listens") {
            guard let client = try? RawHTTPClient(port: port, source: 9) else { return nil }
            client.send(request)
            return try client.readResponse()?.status
        }
        #expect(status == 401, "\(proxy.text)")
        try await eventually("the log names the client") {
            herald.process.lines.contains { $0.contains("wrong access keys") && $0.contains("127.0.0.9") }
        }
        #expect(!herald.process.lines.contains { $0.contains("192.0.2.") })
    }

    @Test(
        "nginx with the settings of operators.md removes the path of the public URL, and nothing else",
        .enabled(if: Files.exists("/usr/sbin/nginx")))
    func publicPath() async throws {
        let herald = try await HeraldProcess.start(["--public-url", "http://herald.example/herald"])
        let folder = TemporaryFolder()
        let port = try unusedPort()
        let page = try Self.file("Documentation/guide/operators.md")
        let block = try #require(page.firstMatch(of: #/```nginx\n([\s\S]+?)(location [\s\S]+?)```/#))
        let settings = """
            upstream herald { server 127.0.0.1:\(herald.port); }
            \(block.1)
            server { listen 127.0.0.1:\(port);
            \(block.2)
            }
            """
        let proxy = try Self.startNginx(settings, in: folder)
        defer { proxy.signal(SIGTERM) }
        let response: RawHTTPResponse = try await eventually("nginx listens") {
            guard let client = try? RawHTTPClient(port: port) else { return nil }
            client.send("GET /herald/v1/auth/a%2Fb HTTP/1.1\r\n\(Self.head)\r\n")
            return try client.readResponse()
        }
        #expect(response.status == 200, "\(proxy.text)")
    }

    private static func startNginx(_ settings: String, in folder: TemporaryFolder) throws -> ChildProcess {
        let text = """
            daemon off; pid nginx.pid; error_log stderr;
            events {}
            http { access_log off; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d;
            scgi_temp_path e;
            \(settings)
            }
            """
        let path = folder.path + "/nginx.conf"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try ChildProcess("/usr/sbin/nginx", ["-p", folder.path, "-c", path, "-e", "stderr"])
    }

    private static func file(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The settings of nginx in `deploy/compose.yaml`, as Compose reads them.
    private static func balancer() throws -> String {
        let lines = try file("deploy/compose.yaml").split(separator: "\n", omittingEmptySubsequences: false)
        let configs = try #require(lines.firstIndex(of: "configs:"))
        let start = try #require(lines[configs...].firstIndex(of: "  balancer:"))
        let content = lines[(start + 2)...].prefix { $0.hasPrefix("      ") }
        return content.joined(separator: "\n").replacing("$$", with: "$")
    }

    @Test(
        "with --proxy-protocol a trusted proxy sends a header and others do not, and the setting needs trusted proxies")
    func proxyProtocol() async throws {
        let herald = try await HeraldProcess.start(
            listen: "0.0.0.0:0",
            ["--allow-anonymous", "true", "--trusted-proxies", "127.0.0.7", "--proxy-protocol", "true"])
        let port = herald.port
        let statuses = try await RawHTTP.onThread {
            try ["PROXY TCP4 192.0.2.9 127.0.0.1 4660 80\r\n", ""].map { header in
                let client = try RawHTTPClient(port: port, source: header.isEmpty ? 6 : 7, sending: header + Self.post)
                return try client.readResponse()?.status
            }
        }
        #expect(statuses == [202, 202])
        #expect(try await herald.get("/healthz").status == 200)
        // Its own health check sends a header if it comes from a trusted address.
        for proxies in ["127.0.0.0/8", "127.0.0.7"] {
            let rules = ["--trusted-proxies", proxies, "--proxy-protocol", "true"]
            let other = try await HeraldProcess.start(rules)
            let health = try await Binary.run(["health", "--listen", "127.0.0.1:\(other.port)"] + rules)
            #expect(health.end == .exited(0), "\(health.text)")
        }
        let alone = try await Binary.run(["config", "--proxy-protocol", "true"])
        #expect(alone.end == .exited(64) && alone.text.contains("--trusted-proxies"), "\(alone.text)")
    }

    @Test(
        "a list that is no list of proxies is refused",
        arguments: ["10.0.0.0/33", "10.0.0.1/8", "10.0.0.1:80", "0.0.0.0/0", "::/0", "proxy.example"])
    func lists(list: String) async throws {
        let found = try await Binary.run(["config", "--trusted-proxies", list])
        #expect(found.end == .exited(64), "\(found.text)")
        #expect(found.text.contains("--trusted-proxies"))
    }

    @Test("connections beyond the reserve are refused, with one line of the log and a counter")
    func refusals() async throws {
        let herald = try await HeraldProcess.start(
            listen: "0.0.0.0:0", ["--allow-anonymous", "true", "--connections-per-address", "8"])
        try await herald.exceedAddressLimit()
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
