import HeraldTestSupport
import Testing

/// With the `curl` of the system as the other side.
@Suite("The receiver and HTTP/2 and TLS", .timeLimit(.minutes(20)))
struct HTTP2Tests {
    private func curl(_ arguments: String...) async throws -> (end: ChildProcess.End, text: String) {
        try await ChildProcess.run("curl", ["-sS", "--max-time", "\(Int(patience))"] + arguments)
    }

    @Test("requests and responses over HTTP/2 without TLS")
    func plain() async throws {
        let receiver = try Receiver { .status(201, headers: [("X-Color", "blue")], body: "got " + $0.text) }
        defer { receiver.close() }
        let answer = try await curl("-i", "--http2-prior-knowledge", "-d", "hello", receiver.url("/a?b"))
        #expect(answer.text.hasPrefix("HTTP/2 201"))
        #expect(answer.text.contains("x-color: blue"))
        #expect(answer.text.hasSuffix("got hello"))
        let request = try #require(receiver.requests.first)
        #expect(request.version == .http2)
        #expect((request.method, request.path, request.text) == ("POST", "/a?b", "hello"))
        #expect(request.header("host") == "127.0.0.1:\(receiver.port)")
        #expect(request.header(":path") == nil)
    }

    /// Over TLS: curl 7.88 can't use a connection without it twice (curl/curl#10634).
    @Test("many concurrent requests over one connection, with responses in any order")
    func parallel() async throws {
        let folder = TemporaryFolder()
        let authority = try CertificateAuthority()
        let file = try folder.write(authority.pem, to: "ca.pem")
        let gate = ReceiverGate()
        let receiver = try Receiver(tls: ReceiverTLS(authority)) { request in
            if request.path == "/20" { gate.open() }
            return request.path == "/2" ? .held(gate) : .status(200)
        }
        defer { receiver.close() }
        let answer = try await curl("-Z", "--cacert", file, "-w", "%{http_code}\\n", receiver.url("/[1-20]"))
        #expect(answer.text.split(separator: "\n").count { $0.contains("200") } == 20, "\(answer.text)")
        #expect(receiver.requests.count == 20)
        #expect(receiver.requests.contains { $0.position > 1 })
    }

    @Test("a large body works in both directions")
    func large() async throws {
        let receiver = try Receiver { .status(200, bytes: $0.body) }
        defer { receiver.close() }
        let body = [UInt8](repeating: UInt8(ascii: "y"), count: 3_000_000)
        let answer = try await ChildProcess.run(
            "curl", ["-sS", "--http2-prior-knowledge", "--data-binary", "@-", receiver.url()], input: body)
        #expect(answer.text.utf8.count == body.count)
        #expect(receiver.requests.first?.body == body)
    }

    @Test(
        "failures over HTTP/2",
        arguments: ["/close", "/reset", "/garbage", "/refuse", "/cut/2/body/abcdef"])
    func failures(_ path: String) async throws {
        let receiver = try Receiver(script: try ScriptedReplies().reply)
        defer { receiver.close() }
        let answer = try await curl("--http2-prior-knowledge", "--retry", "0", receiver.url(path))
        #expect(answer.end != .exited(0))
        #expect(
            try await curl("--http2-prior-knowledge", receiver.url("/drip/1/body/still-there")).text == "still-there")
    }

    @Test("an endless body lasts until the client stops reading")
    func endless() async throws {
        let receiver = try Receiver(script: try ScriptedReplies().reply)
        defer { receiver.close() }
        for flag in ["--http1.1", "--http2-prior-knowledge"] {
            let answer = try await ChildProcess.run(
                "sh", ["-c", "curl -s \(flag) \(receiver.url("/endless")) | head -c 1000000 | wc -c"])
            #expect(answer.text == "1000000")
        }
    }

    @Test("over TLS the client chooses the protocol, and trusts only the authority")
    func tls() async throws {
        let folder = TemporaryFolder()
        let authority = try CertificateAuthority()
        let file = try folder.write(authority.pem, to: "ca.pem")
        let receiver = try Receiver(tls: ReceiverTLS(authority)) { .status(200, body: $0.version.rawValue) }
        defer { receiver.close() }
        #expect(receiver.url().hasPrefix("https://"))
        #expect(try await curl("--cacert", file, receiver.url()).text == "HTTP/2")
        #expect(try await curl("--cacert", file, "--http1.1", "https://localhost:\(receiver.port)").text == "HTTP/1.1")
        #expect(try await curl(receiver.url()).end == .exited(60))
        // TLS 1.1 is too old.
        #expect(try await curl("--cacert", file, "--tls-max", "1.1", receiver.url()).end == .exited(35))
        // Two receivers under one authority, one of them without HTTP/2.
        let other = try Receiver(tls: ReceiverTLS(authority, offersHTTP2: false)) { _ in .status(204) }
        defer { other.close() }
        let version = try await curl("--cacert", file, "-o", "/dev/null", "-w", "%{http_version}", other.url())
        #expect(version.text == "1.1")
    }

    @Test("expired certificates, and certificates for other names")
    func certificates() async throws {
        let folder = TemporaryFolder()
        let authority = try CertificateAuthority()
        let file = try folder.write(authority.pem, to: "ca.pem")
        let expired = try Receiver(tls: ReceiverTLS(authority, isExpired: true))
        let named = try Receiver(tls: ReceiverTLS(authority, names: ["hooks.example"]))
        defer {
            expired.close()
            named.close()
        }
        #expect(try await curl("--cacert", file, expired.url()).end == .exited(60))
        #expect(try await curl("--cacert", file, named.url()).end == .exited(60))
        let resolve = "hooks.example:\(named.port):127.0.0.1"
        let right = try await curl("--cacert", file, "--resolve", resolve, "https://hooks.example:\(named.port)/")
        #expect(right.end == .exited(0))
        #expect(throws: ReceiverError.self) { try Receiver(tls: ReceiverTLS(authority, names: [])) }
    }
}
