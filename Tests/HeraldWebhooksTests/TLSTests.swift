import Glibc
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Testing

/// Against `openssl s_server` with a self-signed certificate for `hooks.example`.
@Suite(.serialized, .timeLimit(.minutes(20))) struct TLSTests {
    /// Sends one callback to a server that takes one connection.
    private func send(
        to host: String, trusting: Bool, serverOptions: [String] = []
    ) async throws -> CallbackOutcome {
        let folder = TemporaryFolder()
        let (key, certificate) = (folder.path + "/key.pem", folder.path + "/certificate.pem")
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                "-subj", "/CN=test", "-addext", "subjectAltName=DNS:hooks.example", "-keyout", key,
                "-out", certificate,
            ])
        try #require(made.end == .exited(0), "\(made.text)")
        let server = try ChildProcess(
            "openssl",
            ["s_server", "-accept", "127.0.0.1:0", "-naccept", "1", "-key", key, "-cert", certificate] + serverOptions,
            input: Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
        defer { server.signal(SIGKILL) }
        let port: UInt16 = try await eventually("openssl listens") {
            server.lines.first { $0.hasPrefix("ACCEPT ") }?.split(separator: ":").last.flatMap { UInt16($0) }
        }
        let loop = try SendingLoop(resolver: Resolver(addresses: ["127.0.0.1"])) { configuration in
            if trusting { configuration.certificateAuthorities = certificate }
        }
        defer { loop.stop() }
        return await loop.send(delegate("https://\(host):\(port)/"))
    }

    @Test("a certificate that is trusted and fits the host is accepted")
    func trusted() async throws {
        let outcome = try await send(to: "hooks.example", trusting: true)
        #expect(outcome.status == 200, "\(outcome)")
    }

    @Test("an untrusted certificate is refused")
    func untrusted() async throws {
        let outcome = try await send(to: "hooks.example", trusting: false)
        #expect(outcome.failure == .tls, "\(outcome)")
        #expect(outcome.detail.contains("tls.ca of the delegate"), "\(outcome)")
    }

    @Test("a failed handshake reports its duration, on a new connection")
    func phasesOfFailure() async throws {
        let transport = try await send(to: "hooks.example", trusting: false).transport
        #expect(transport.connect > 0 && transport.tls > 0, "\(transport)")
        #expect(!transport.isReused && transport.firstByte == 0, "\(transport)")
        #expect(transport.peer.hasPrefix("127.0.0.1:"), "\(transport)")
    }

    @Test("a certificate for another host is refused")
    func wrongHost() async throws {
        let outcome = try await send(to: "other.example", trusting: true)
        #expect(outcome.failure == .tls, "\(outcome)")
    }

    @Test("TLS 1.1 is refused")
    func oldProtocol() async throws {
        let outcome = try await send(
            to: "hooks.example", trusting: true, serverOptions: ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"])
        #expect(outcome.failure == .tls, "\(outcome)")
    }

    @Test(
        "keys are exchanged over elliptic curves, and never over finite fields, which cost a hundred times as much",
        arguments: [("X25519", true), ("P-256", true), ("P-384", true), ("ffdhe2048", false), ("ffdhe8192", false)])
    func groups(_ group: String, _ isOffered: Bool) async throws {
        let outcome = try await send(
            to: "hooks.example", trusting: true, serverOptions: ["-tls1_3", "-groups", group])
        #expect(outcome.status == (isOffered ? 200 : nil), "\(outcome)")
        #expect(outcome.failure == (isOffered ? nil : .tls), "\(outcome)")
    }
}
