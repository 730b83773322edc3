import Glibc
import HeraldCore
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Testing

/// Against `openssl s_server` with a certificate for `hooks.example` that nobody signed.
@Suite(.serialized, .timeLimit(.minutes(5))) struct TLSTests {
    private struct Failure: Error {}

    /// Sends one callback to a server that takes one connection.
    private func send(to host: String, trusting: Bool, serverOptions: String = "") async throws -> CallbackOutcome {
        let folder = "/tmp/herald-tls-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        defer { _ = Child("rm -rf \(folder)").map { $0.finish() } }
        let (server, port) = try await onThread { () -> (Child, UInt16)? in
            let extensions = "-addext subjectAltName=DNS:hooks.example"
            Child(
                "sh -c \"mkdir -m 700 \(folder) && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 "
                    + "-subj /CN=test \(extensions) -keyout \(folder)/key.pem -out \(folder)/certificate.pem\"")?
                .finish()
            let answer = #"printf 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'"#
            let server = Child(
                "sh -c \"\(answer) | timeout 20 openssl s_server -accept 127.0.0.1:0 -naccept 1 "
                    + "-key \(folder)/key.pem -cert \(folder)/certificate.pem \(serverOptions)\"")
            guard let server, let line = server.line(beginning: "ACCEPT ") else { return nil }
            return line.split(separator: ":").last.flatMap { UInt16($0) }.map { (server, $0) }
        }
        let local = try #require(IPAddress("127.0.0.1"))
        let resolver = Resolver { _ in .addresses([local]) }
        let loop = try SendingLoop(resolver: resolver) { configuration in
            if trusting { configuration.certificateAuthorities = "\(folder)/certificate.pem" }
        }
        defer {
            loop.stop()
            resolver.close()
        }
        defer { withExtendedLifetime(server) {} }
        return await loop.send(delegate("https://\(host):\(port)/"))
    }

    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value?) async throws -> Value {
        let value = await withCheckedContinuation { continuation in
            let thread = try? Thread(name: "openssl") { continuation.resume(returning: body()) }
            if thread == nil { continuation.resume(returning: nil) }
        }
        guard let value else { throw Failure() }
        return value
    }

    @Test("a trusted certificate for the host is accepted")
    func trusted() async throws {
        let outcome = try await send(to: "hooks.example", trusting: true)
        #expect(outcome.status == 200, "\(outcome)")
    }

    @Test("an untrusted certificate is refused")
    func untrusted() async throws {
        let outcome = try await send(to: "hooks.example", trusting: false)
        #expect(outcome.failure == .tls, "\(outcome)")
        #expect(outcome.detail.contains("certificate"))
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
            to: "hooks.example", trusting: true, serverOptions: "-tls1_1 -cipher DEFAULT@SECLEVEL=0")
        #expect(outcome.failure == .tls, "\(outcome)")
    }
}
