import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Serving https", .timeLimit(.minutes(20)), .serialized)
struct TLSTests {
    private let folder = TemporaryFolder()
    private let authority: CertificateAuthority

    init() throws {
        authority = try CertificateAuthority()
        _ = try folder.write(authority.pem, to: "ca.pem")
    }

    private var ca: String { folder.path + "/ca.pem" }

    /// Writes a certificate and its key, and returns the flags for them.
    @discardableResult
    private func show(_ authority: CertificateAuthority, mode: mode_t = 0o600) throws -> [String] {
        let identity = try authority.makeIdentity()
        let certificate = try folder.write(identity.certificate, to: "certificate.pem")
        let key = try folder.write(identity.key, to: "key.pem")
        chmod(key, mode)
        return ["--tls-certificate", certificate, "--tls-key", key]
    }

    private func curl(_ herald: HeraldProcess, _ path: String, _ arguments: String..., ca: String? = nil) async throws
        -> (end: ChildProcess.End, text: String)
    {
        try await ChildProcess.run(
            "curl",
            ["-sS", "--max-time", "\(Int(patience))", "--cacert", ca ?? self.ca] + arguments
                + ["https://127.0.0.1:\(herald.port)\(path)"])
    }

    @Test("the session cookie is only sent over https, whatever the request says of its origin")
    func cookie() async throws {
        let herald = try await HeraldProcess.start(
            try show(authority), environment: ["HERALD_ADMIN_KEY": "the-admin-of-this-test"])
        let answer = try await curl(
            herald, "/v1/session", "-i", "-H", "Content-Type: application/json", "-d",
            #"{"key": "the-admin-of-this-test"}"#)
        let cookie = answer.text.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("set-cookie:") }
        #expect(cookie?.hasSuffix("; Secure") == true, "\(answer.text)")
    }

    @Test("posting, listening and reading work as over http, also with the commands")
    func story() async throws {
        // With more than eight there are two threads that serve requests.
        let herald = try await HeraldProcess.start(try show(authority) + ["--threads", "9"])
        #expect(herald.log("listening").first?["address"]?.string == "https://127.0.0.1:\(herald.port)")
        let listener = try ChildProcess(
            "curl", ["-sSN", "--cacert", ca, "https://127.0.0.1:\(herald.port)/v1/events/stream?events=order.*"])
        defer { listener.signal(SIGKILL) }
        try await eventually("the stream is ready") { listener.lines.contains("event: ready") }
        let posted = try await curl(
            herald, "/v1/events", "-H", "Content-Type: application/json", "-d", #"{"type": "order.paid"}"#)
        #expect(posted.end == .exited(0) && posted.text.contains("evt_"), "\(posted.text)")
        try await eventually("the stream tells it") { listener.lines.contains { $0.contains("order.paid") } }

        let server = ["--server", "https://127.0.0.1:\(herald.port)"]
        let published = try await Client.run(
            ["publish", "order.shipped", "--certificate-authorities", ca] + server)
        #expect(published.end == .exited(0), "\(published.text)")
        let untrusted = try await Client.run(["publish", "order.shipped"] + server)
        #expect(untrusted.end != .exited(0) && untrusted.text.contains("certificate"), "\(untrusted.text)")

        let health = try await Binary.run(["health", "--listen", "127.0.0.1:\(herald.port)"] + (try show(authority)))
        #expect(health.end == .exited(0), "\(health.text)")
        #expect(try await herald.stop() == .exited(0))
    }

    @Test("a command that uses http names https in its error")
    func scheme() async throws {
        let herald = try await HeraldProcess.start(try show(authority))
        let run = try await Client.run(["stats", "--server", "http://127.0.0.1:\(herald.port)"])
        #expect(run.end == .exited(69), "\(run.text)")
        #expect(run.text.contains("If it serves https, name it as https://127.0.0.1:\(herald.port)."), "\(run.text)")
        // Both ways: here the server has no certificate.
        let plain = try await HeraldProcess.start()
        let other = try await Client.run(["stats", "--server", "https://127.0.0.1:\(plain.port)"])
        #expect(other.end == .exited(69), "\(other.text)")
        #expect(
            other.text.contains("If it serves plain HTTP, name it as http://127.0.0.1:\(plain.port)."), "\(other.text)")
    }

    @Test("HUP reloads the certificate; an invalid one changes nothing")
    func reload() async throws {
        let herald = try await HeraldProcess.start(try show(authority))
        let second = try CertificateAuthority()
        let secondFile = try folder.write(second.pem, to: "second.pem")
        try show(second)
        #expect(try await curl(herald, "/healthz").end == .exited(0))
        herald.process.signal(SIGHUP)
        let message = "certificate reloaded; new connections use it"
        try await eventually("it was read again") { herald.log(message).count == 1 }
        #expect(try await curl(herald, "/healthz", ca: secondFile).end == .exited(0))
        #expect(try await curl(herald, "/healthz").text.contains("certificate"))

        _ = try folder.write("nothing", to: "key.pem")
        herald.process.signal(SIGHUP)
        try await eventually("it is refused") {
            herald.log("certificate not reloaded; the previous one stays in use").count == 1
        }
        let reason = try #require(
            herald.log("certificate not reloaded; the previous one stays in use").first?["reason"]?.string)
        #expect(reason.contains("key.pem") && reason.contains("not a private key"))
        #expect(try await curl(herald, "/healthz", ca: secondFile).end == .exited(0))
    }

    @Test("a certificate that has expired is in the log and in the metrics, until HUP reads one that is valid")
    func expired() async throws {
        let identity = try authority.makeIdentity(isExpired: true)
        let flags = try show(authority)
        _ = try folder.write(identity.certificate, to: "certificate.pem")
        _ = try folder.write(identity.key, to: "key.pem")
        let herald = try await HeraldProcess.start(flags)
        let message = "the certificate has expired, and clients refuse it"
        #expect(herald.log(message).first?["to_do"]?.string?.contains("HUP") == true)
        let name = "herald_certificate_expiry_timestamp_seconds"
        func expiration() async throws -> Double {
            let page = try await curl(herald, "/metrics", "-k").text
            let line = try #require(page.split(separator: "\n").first { $0.hasPrefix(name + " ") })
            return try #require(Double(line.dropFirst(name.count + 1)))
        }
        let before = try await expiration()
        #expect(before > 0 && before < Double(time(nil)))

        try show(authority)
        herald.process.signal(SIGHUP)
        try await eventually("it was read again") {
            herald.log("certificate reloaded; new connections use it").count == 1
        }
        #expect(try await expiration() > Double(time(nil)))
        #expect(herald.log(message).count == 1)
    }

    @Test("a certificate that has expired is in the log once for each start, also when the server stops")
    func expiredAtStop() async throws {
        let identity = try authority.makeIdentity(isExpired: true)
        let flags = try show(authority)
        _ = try folder.write(identity.certificate, to: "certificate.pem")
        _ = try folder.write(identity.key, to: "key.pem")
        let herald = try await HeraldProcess.start(flags)
        #expect(try await herald.stop() == .exited(0))
        #expect(herald.log("the certificate has expired, and clients refuse it").count == 1)
    }

    @Test("a key that other users can read is refused, with the command that repairs it, also after HUP")
    func readableKey() async throws {
        let data = folder.path + "/data"
        for mode in [mode_t(0o640), 0o604, 0o660] {
            let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data] + (try show(authority, mode: mode))
            let refused = try await Binary.run(arguments)
            #expect(refused.end == .exited(66), "\(refused.text)")
            #expect(refused.text.contains("chmod 600 \(folder.path)/key.pem"), "\(refused.text)")
        }
        let herald = try await HeraldProcess.start(try show(authority))
        chmod(folder.path + "/key.pem", 0o644)
        herald.process.signal(SIGHUP)
        let lines = try await eventually("it is refused") {
            let lines = herald.log("certificate not reloaded; the previous one stays in use")
            return lines.isEmpty ? nil : lines
        }
        #expect(lines.first?["reason"]?.string?.contains("chmod 600") == true)
    }

    @Test("invalid TLS settings are reported at the start")
    func refused() async throws {
        let data = folder.path + "/data"
        func start(_ arguments: [String]) async throws -> (end: ChildProcess.End, text: String) {
            try await Binary.run(["serve", "--listen", "127.0.0.1:0", "--data", data] + arguments)
        }
        let good = try show(authority)
        let other = try folder.write(try authority.makeIdentity().key, to: "other.pem")
        let half = try await start(Array(good.prefix(2)))
        #expect(half.end == .exited(64) && half.text.contains("--tls-key FILE is missing"), "\(half.text)")
        for (arguments, words) in [
            (
                ["--tls-certificate", folder.path + "/none.pem"] + good.suffix(2),
                "none.pem cannot be read: No such file"
            ),
            (good.prefix(2) + ["--tls-key", other], "other.pem: the key does not belong to the certificate"),
            (["--tls-certificate", other] + good.suffix(2), "other.pem: the certificate is not one in PEM"),
        ] {
            let result = try await start(Array(arguments))
            #expect(result.end == .exited(66) && result.text.contains(words), "\(result.text)")
            #expect(access(data, F_OK) != 0)
        }
    }

    @Test("a client certificate is used, and no response and no log contains its key")
    func clientCertificate() async throws {
        let clients = try CertificateAuthority()
        let receiver = try Receiver(tls: ReceiverTLS(authority, clientAuthority: clients))
        defer { receiver.close() }
        let identity = try clients.makeIdentity(names: ["herald.example"])
        let herald = try await HeraldProcess.start(["--log-level", "debug"])
        func json(_ text: String) -> String { "\"" + text.split(separator: "\n").joined(separator: "\\n") + "\\n\"" }
        let tls = [
            #""ca": \#(json(authority.pem))"#, #""pin": "\#(try #require(receiver.pin))""#,
            #""client_certificate": \#(json(identity.certificate))"#, #""client_key": \#(json(identity.key))"#,
        ]
        let created = try await herald.register(receiver.url(), #""tls": {\#(tls.joined(separator: ", "))}"#)
        _ = try await herald.deliveries(of: try await herald.publish(), "delivered")
        try await herald.stop()
        let again = try await herald.restart(["--log-level", "debug"])
        _ = try await again.deliveries(of: try await again.publish(), "delivered")
        let shown = try await again.get("/v1/delegates/\(created.id)")
        #expect(shown["tls"]?["client_certificate"]?.string == identity.certificate)
        // A line of the key, wherever it may turn up.
        let line = try #require(identity.key.split(separator: "\n").dropFirst().first)
        let list = try await again.get("/v1/delegates")
        for text in [created.text, shown.text, list.text, herald.process.text, again.process.text] {
            #expect(!text.contains(line))
        }
    }
}
