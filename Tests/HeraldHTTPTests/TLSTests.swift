import Glibc
import HeraldTestSupport
import Testing

@testable import HeraldHTTP

/// Against curl, which is a real client, and checks what it is shown.
@Suite("Over TLS", .timeLimit(.minutes(20)))
struct TLSTests {
    private let tls: TLSFixtures

    init() throws { tls = try TLSFixtures() }

    private func arguments(_ fixture: Fixture, _ arguments: [String], trusting file: String? = nil) -> [String] {
        let urls = arguments.map { argument in
            let isPath = argument.hasPrefix("/") && !argument.hasPrefix(tls.folder.path)
            return isPath ? "https://localhost:\(fixture.server.port)\(argument)" : argument
        }
        return ["-sS", "-N", "--max-time", "60", "--cacert", file ?? tls.authorityFile] + urls
    }

    private func curl(_ fixture: Fixture, _ arguments: String..., trusting file: String? = nil) async throws -> String {
        let result = try await ChildProcess.run("curl", self.arguments(fixture, arguments, trusting: file))
        return result.end == .exited(0) ? result.text : "\(result.end): \(result.text)"
    }

    @Test("requests work as without it, with TLS 1.2 and 1.3 and nothing older")
    func versions() async throws {
        let fixture = try tls.fixture()
        #expect(try await curl(fixture, "--tls-max", "1.2", "/a") == "/a")
        #expect(try await curl(fixture, "--tlsv1.3", "-d", "body", "/echo") == "body")
        // At a level of security where OpenSSL itself would speak it.
        let old = try await ChildProcess.run(
            "openssl",
            [
                "s_client", "-connect", "localhost:\(fixture.server.port)", "-tls1_1", "-cipher",
                "DEFAULT@SECLEVEL=0",
            ])
        #expect(old.end != .exited(0))
        #expect(old.text.contains("Cipher is (NONE)"), "\(old.text)")
    }

    @Test(
        "with TLS 1.2 there is forward secrecy and authenticated encryption only",
        arguments: [
            ("ECDHE-ECDSA-AES128-GCM-SHA256", true), ("ECDHE-ECDSA-AES256-GCM-SHA384", true),
            ("ECDHE-ECDSA-CHACHA20-POLY1305", true), ("ECDHE-ECDSA-AES128-SHA", false),
            ("ECDHE-ECDSA-AES256-SHA", false), ("ECDHE-ECDSA-AES128-SHA256", false),
        ])
    func suites(_ suite: String, _ isOffered: Bool) async throws {
        let result = try await offer(suite, to: try tls.fixture())
        #expect(result.contains("Cipher is \(isOffered ? suite : "(NONE)")"), "\(result)")
    }

    @Test(
        "with an RSA key there is no RSA or finite-field key exchange, and no CBC",
        .enabled(if: ChildProcess.exists("openssl")))
    func suitesOfRSA() async throws {
        let (key, certificate) = (tls.folder.path + "/rsa.key", tls.folder.path + "/rsa.pem")
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                "-subj", "/CN=localhost",
            ])
        #expect(made.end == .exited(0), "\(made.text)")
        func bytes(_ file: String) async throws -> [UInt8] {
            Array((try await ChildProcess.run("cat", [file]).text + "\n").utf8)
        }
        let shown = try ServerCertificate(chain: try await bytes(certificate), key: try await bytes(key))
        let fixture = try Fixture { $0.certificate = shown }
        for (suite, isOffered) in [
            ("ECDHE-RSA-AES128-GCM-SHA256", true), ("ECDHE-RSA-CHACHA20-POLY1305", true), ("AES128-GCM-SHA256", false),
            ("AES256-SHA", false), ("DHE-RSA-AES128-GCM-SHA256", false), ("ECDHE-RSA-AES256-SHA", false),
        ] {
            let result = try await offer(suite, to: fixture)
            #expect(result.contains("Cipher is \(isOffered ? suite : "(NONE)")"), "\(suite): \(result)")
        }
    }

    /// Offers this one suite of TLS 1.2.
    private func offer(_ suite: String, to fixture: Fixture) async throws -> String {
        try await ChildProcess.run(
            "openssl",
            ["s_client", "-connect", "localhost:\(fixture.server.port)", "-tls1_2", "-cipher", suite + "@SECLEVEL=0"]
        ).text
    }

    @Test("every response has Strict-Transport-Security, if configured")
    func strictTransport() async throws {
        let fixture = try tls.fixture { $0.strictTransportSeconds = 60 }
        for path in ["/a", "/refused", "/hold"] {
            let asked = try ChildProcess("curl", arguments(fixture, ["-D", "-", path]))
            if path == "/hold" {
                try await eventually("it is there") { fixture.application.heldCount == 1 }
                for responder in fixture.application.takeHeld() { responder.send(.text(200, "held")) }
            }
            _ = try await asked.ended()
            #expect(asked.lines.contains("Strict-Transport-Security: max-age=60\r"), "\(path): \(asked.text)")
        }
        let unread = try await curl(fixture, "-D", "-", "-d", "body", "/refused")
        #expect(unread.contains("Strict-Transport-Security: max-age=60"), "\(unread)")
        let client = try await listen(fixture)
        try await eventually("the head") { client.lines.contains("< Strict-Transport-Security: max-age=60\r") }
        client.signal(SIGKILL)
        let plain = try Fixture { $0.strictTransportSeconds = 60 }
        let answer = try await ChildProcess.run("curl", ["-sS", "-D", "-", "http://localhost:\(plain.server.port)/a"])
        #expect(answer.end == .exited(0) && !answer.text.contains("Strict-Transport"))
    }

    @Test("a body of many records works in both directions")
    func large() async throws {
        let fixture = try tls.fixture()
        let body = String(repeating: "0123456789abcde\n", count: 16_000)
        let file = try tls.folder.write(body, to: "body")
        let answer = try await ChildProcess.run(
            "curl", arguments(fixture, ["--data-binary", "@\(file)", "/echo"]))
        #expect(answer.text == body.dropLast())
        // The header section is a record of its own.
        let chunked = try await ChildProcess.run(
            "curl",
            arguments(
                fixture, ["-H", "Transfer-Encoding: chunked", "-H", "Expect:", "--data-binary", "@\(file)", "/echo"]))
        #expect(chunked.text == body.dropLast())
        let size = try await curl(fixture, "-o", "\(tls.folder.path)/large", "-w", "%{size_download}", "/large")
        #expect(size == "32000000")
    }

    @Test("a connection without TLS is closed, and so is one that never finishes the handshake")
    func noHandshake() async throws {
        try await RawHTTP.onThread { [self] in
            let fixture = try tls.fixture()
            let plain = try fixture.client(sending: "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try !String(decoding: plain.readToEnd(), as: UTF8.self).hasPrefix("HTTP"))
            let silent = try fixture.client()
            // The first bytes of a client's greeting.
            silent.send([0x16, 0x03, 0x01, 0x02])
            // It is accepted after the first one and before this one.
            let last = try fixture.client(sending: "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try !String(decoding: last.readToEnd(), as: UTF8.self).hasPrefix("HTTP"))
            fixture.advance(seconds: 11)
            #expect(try silent.readToEnd().isEmpty)
            #expect(fixture.server.statistics.openConnections == 0)
            #expect(fixture.application.seen.isEmpty)
        }
    }

    @Test("a malformed request gets one response, in Herald's format, and the session ends")
    func malformed() async throws {
        let fixture = try tls.fixture()
        for (field, status) in [("Content-Length: x", 400), ("X: \(String(repeating: "x", count: 40_000))", 431)] {
            let answer = try await curl(
                fixture, "-i", "-X", "POST", "-H", field, "-H", "Expect:", "-w", "%{http_code} %{exitcode}", "/echo")
            #expect(answer.ranges(of: "HTTP/1.1").count == 1, "\(answer)")
            #expect(answer.contains("failure: ") && answer.hasSuffix("\(status) 0"), "\(answer)")
        }
    }

    @Test("a new certificate is used for new connections; open ones keep theirs")
    func replaced() async throws {
        let fixture = try tls.fixture()
        let second = try CertificateAuthority()
        let secondFile = try tls.folder.write(second.pem, to: "second.pem")
        // Two requests on one connection: the first is answered after the change.
        let held = try ChildProcess(
            "curl", arguments(fixture, ["-w", "%{num_connects}\n", "/hold", "/next"]))
        try await eventually("the first request is there") { fixture.application.heldCount == 1 }
        fixture.server.replaceCertificate(try tls.certificate(second))
        #expect(try await curl(fixture, "/new", trusting: secondFile) == "/new")
        #expect(try await curl(fixture, "/new").contains("certificate"))
        for responder in fixture.application.takeHeld() { responder.send(.text(200, "held")) }
        #expect(try await held.ended() == .exited(0))
        #expect(held.lines == ["held1", "/next0"])
    }

    @Test("an invalid certificate or key, and a key of another certificate, are reported")
    func wrong() throws {
        let one = try tls.authority.makeIdentity()
        let two = try tls.authority.makeIdentity()
        func problem(_ chain: String, _ key: String) -> ServerCertificateError? {
            do throws(ServerCertificateError) {
                _ = try ServerCertificate(chain: Array(chain.utf8), key: Array(key.utf8))
                return nil
            } catch {
                return error
            }
        }
        #expect(problem(one.certificate, one.key) == nil)
        #expect(problem(one.certificate + tls.authority.pem, one.key) == nil)
        #expect(problem(one.certificate, two.key) == .mismatch)
        #expect(problem("", one.key) == .notACertificate)
        #expect(problem(one.key, one.key) == .notACertificate)
        for key in ["", "nothing", one.certificate] {
            #expect(problem(one.certificate, key)?.description.contains("not a private key") == true, "\(key)")
        }
    }

    // MARK: Streams

    private func listen(_ fixture: Fixture) async throws -> ChildProcess {
        let before = fixture.application.streams.opened
        let client = try ChildProcess("curl", arguments(fixture, ["-v", "/stream"]))
        try await eventually("the stream is open") { fixture.application.streams.opened > before }
        return client
    }

    @Test("a stream arrives piece by piece, and its end is the end of the response")
    func stream() async throws {
        let fixture = try tls.fixture()
        let client = try await listen(fixture)
        // The head does not wait for the first piece.
        try await eventually("the head") { client.lines.contains("< Content-Type: text/plain\r") }
        #expect(client.lines.contains { $0.hasPrefix("< HTTP/1.1 200 ") })
        for piece in ["one", "two", "three"] {
            fixture.application.streams.write(Array("\(piece)\n".utf8))
            try await eventually(piece) { client.lines.contains(piece) }
        }
        fixture.advance(seconds: 15)
        try await eventually("a heartbeat") { client.lines.contains("beat") }
        fixture.application.streams.end()
        #expect(try await client.ended() == .exited(0))
        try await eventually("it is closed") { fixture.application.streams.closed == 1 }
        #expect(try await curl(fixture, "/after") == "/after")
    }

    @Test("a client that acknowledges nothing for a minute is disconnected")
    func disappearing() async throws {
        let fixture = try tls.fixture()
        let client = try await listen(fixture)
        defer { client.signal(SIGKILL) }
        // No test can wait for it.
        let times: [Int32] = (0..<Int32(10_000)).compactMap { descriptor in
            guard (try? SocketAddress(of: descriptor))?.port == fixture.server.port else { return nil }
            var (time, size): (Int32, socklen_t) = (0, 4)
            getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &time, &size)
            return time
        }
        #expect(times.contains(60_000), "\(times)")
    }

    @Test("a client that leaves a stream is noticed, and its slot is free again")
    func leaving() async throws {
        let fixture = try tls.fixture {
            $0.maxStreams = 1
            $0.maxConnectionsPerAddress = 2
        }
        for round in 1...3 {
            // An address with two connections may begin two handshakes in four seconds.
            fixture.advance(seconds: 4)
            let client = try await listen(fixture)
            client.signal(SIGKILL)
            try await eventually("it is noticed") { fixture.application.streams.closed == round }
            try await eventually("nothing is left") {
                fixture.server.statistics.openConnections == 0 && fixture.server.statistics.openStreams == 0
            }
        }
    }

    @Test("a large stream arrives whole, and a client that does not read is disconnected")
    func slowness() async throws {
        let fixture = try tls.fixture()
        let line = String(repeating: "x", count: 999) + "\n"
        let large = Array(String(repeating: line, count: 4_000).utf8)
        let late = try await listen(fixture)
        late.signal(SIGSTOP)
        fixture.application.streams.write(large)
        late.signal(SIGCONT)
        try await eventually("all of it") { late.lines.count { $0.utf8.count == 999 } == 4_000 }
        late.signal(SIGKILL)
        try await eventually("it has left") { fixture.application.streams.closed == 1 }

        let never = try await listen(fixture)
        never.signal(SIGSTOP)
        // More than the system's buffers hold on the way.
        fixture.application.streams.write([UInt8](repeating: 120, count: 32_000_000))
        try await eventually("it is cut off") {
            fixture.advance(seconds: 1)
            return fixture.application.streams.closed == 2
        }
        try await eventually("nothing is left") {
            fixture.advance(seconds: 1)
            return fixture.server.statistics.openConnections == 0
        }
        never.signal(SIGKILL)
    }

    @Test("a stop ends streams and connections")
    func stop() async throws {
        let fixture = try tls.fixture()
        let client = try await listen(fixture)
        await offPool { fixture.server.stop() }
        _ = try await client.ended()
        #expect(fixture.application.streams.closed == 1)
    }
}
