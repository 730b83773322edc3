import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Hardening of the process, and guessed keys", .timeLimit(.minutes(20)))
struct HardeningTests {
    @Test(
        "wrong keys are counted, logged once a minute, and delayed after ten; a valid key from the same address is not")
    func wrongKeys() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let port = herald.port
        let answers = try await RawHTTP.onThread {
            let client = try RawHTTPClient(port: port)
            return try (1...11).map { _ in
                client.send("GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer guess\r\n\r\n")
                return try client.readResponse().map(Answer.init)
            }
        }
        #expect(answers.compactMap { $0?.status } == Array(repeating: 401, count: 11))
        // What comes late ends the connection.
        #expect(answers.map { $0?.header("connection") == "close" } == Array(repeating: false, count: 10) + [true])
        #expect(try await herald.get("/v1/events").status == 200)

        // No other way to try a key is quicker.
        let stranger = HeraldProcess.stranger(to: herald)
        let shown = try await stranger.get("/v1/session", ["Authorization": "Bearer guess"])
        #expect(shown.status == 200 && shown.header("connection") == "close")
        for body in [#"{"key": "guess"}"#, #"{"portal_link": "guess"}"#] {
            let answer = try await stranger.post("/v1/session", body)
            #expect(answer.status == 401 && answer.header("connection") == "close")
        }
        // No key is no guess.
        #expect(try await stranger.get("/v1/events").header("connection") != "close")

        #expect(try await herald.get("/metrics").text.contains("\nherald_wrong_keys_total 14\n"))
        try await eventually("the log says so") { !herald.log("wrong access keys").isEmpty }
        let lines = herald.log("wrong access keys")
        #expect(lines.count == 1 && lines.first?["address"]?.string == "127.0.0.1")
        #expect(lines.first?["keys"]?.string == "1")
        #expect(!herald.process.text.contains("guess"))
    }

    private static let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]

    /// As a user that has no special rights, with a copy of the binary where that user can reach it.
    private func startAsNobody() async throws -> HeraldProcess {
        let folder = TemporaryFolder()
        chmod(folder.path, 0o755)
        mkdir(folder.path + "/data", 0o700)
        chown(folder.path + "/data", 65534, 65534)
        let copied = try await ChildProcess.run("cp", [try Binary.path(), folder.path + "/herald"])
        #expect(copied.end == .exited(0), "\(copied.text)")
        // In place of the binary that `start` names.
        let script = "exec \(folder.path)/herald \"$@\""
        return try await HeraldProcess.start(
            folder: folder, adminKey: MadeKey.admin.text, prefix: Self.nobody + ["sh", "-c", script])
    }

    @Test(
        "other processes of its user can't read its memory or environment, and there is no core file",
        .enabled(if: TestStore.isFolder),
        .enabled(if: getuid() == 0 && ChildProcess.exists("setpriv")))
    func undumpable() async throws {
        let herald = try await startAsNobody()
        let process = "/proc/\(herald.process.id)"
        let limits = String(decoding: try Files.read(process + "/limits"), as: UTF8.self)
        let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(core.split(separator: " ").dropFirst(4).prefix(2).elementsEqual(["0", "0"]), "\(core)")
        for name in ["environ", "mem", "maps"] {
            let command = Self.nobody.dropFirst() + ["head", "-c1", process + "/" + name]
            let read = try await ChildProcess.run("setpriv", Array(command))
            #expect(read.end != .exited(0) && read.text.contains("Permission denied"), "\(name): \(read.text)")
        }
        // It still sees what it tells of itself.
        let metrics = try await herald.get("/metrics").text
        #expect(metrics.contains("\nprocess_open_fds ") && metrics.contains("\nprocess_resident_memory_bytes "))
    }

    /// `script/build` says how the binary that is given out is linked.
    @Test(
        "the binary is position-independent, with full RELRO and a stack that is not executable",
        .enabled(if: ((try? Binary.path()) ?? "").contains("/release/") && ChildProcess.exists("readelf")))
    func linking() async throws {
        let read = try await ChildProcess.run("readelf", ["-hldW", try Binary.path()])
        #expect(read.end == .exited(0))
        let lines = read.text.split(separator: "\n")
        #expect(lines.contains { $0.contains("Type:") && $0.contains("DYN") })
        #expect(lines.contains { $0.contains("GNU_RELRO") })
        #expect(lines.contains { $0.contains("BIND_NOW") || ($0.contains("FLAGS_1") && $0.contains("NOW")) })
        #expect(lines.contains { $0.contains("GNU_STACK") && $0.contains("RW ") && !$0.contains("RWE") })
    }

    @Test("on a public https address responses have Strict-Transport-Security; plain http and loopback do not")
    func strictTransport() async throws {
        let folder = TemporaryFolder()
        let authority = try CertificateAuthority()
        let identity = try authority.makeIdentity()
        let tls = [
            "--tls-certificate", try folder.write(identity.certificate, to: "certificate.pem"), "--tls-key",
            try folder.write(identity.key, to: "key.pem"),
        ]
        func head(_ listen: String, _ scheme: String, _ arguments: [String]) async throws -> String {
            let herald = try await HeraldProcess.start(listen: listen, arguments, adminKey: MadeKey.admin.text)
            let result = try await ChildProcess.run(
                "curl",
                [
                    "-sSk", "--max-time", "\(Int(patience))", "-D", "-",
                    "\(scheme)://127.0.0.1:\(herald.port)/healthz",
                ])
            #expect(result.end == .exited(0), "\(result.text)")
            return result.text.lowercased()
        }
        #expect(try await head("0.0.0.0:0", "https", tls).contains("strict-transport-security: max-age=31536000"))
        #expect(try await !head("127.0.0.1:0", "https", tls).contains("strict-transport"))
        #expect(try await !head("0.0.0.0:0", "http", []).contains("strict-transport"))
    }

    @Test("OpenSSL reads no configuration that the environment names, also not for a command over https")
    func openSSLConfiguration() async throws {
        let folder = TemporaryFolder()
        let authority = try CertificateAuthority()
        let file = try folder.write(authority.pem, to: "ca.pem")
        // With it OpenSSL has no algorithms.
        let settings = try folder.write(
            "openssl_conf = a\n[a]\nproviders = b\n[b]\nnull = c\n[c]\nactivate = 1\n", to: "openssl.cnf")
        var configuration = Receiver.Configuration()
        configuration.tls = ReceiverTLS(authority, names: ["localhost"])
        let receiver = try Receiver(configuration) { _ in .status(200, body: #"{"state": "idle"}"#) }
        let result = try await Binary.run(
            ["state", "get", "--server", "https://localhost:\(receiver.port)", "--certificate-authorities", file],
            environment: ["OPENSSL_CONF": settings, "XDG_CONFIG_HOME": "/nonexistent"])
        #expect(result.end == .exited(0), "\(result.text)")
        #expect(result.text == "state  idle")
    }

    @Test("the master key can come from a file")
    func masterKeyFile() async throws {
        let folder = TemporaryFolder()
        let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        let file = try folder.write(key + "\n", to: "master")
        let herald = try await HeraldProcess.start(folder: folder, environment: ["HERALD_MASTER_KEY_FILE": file])
        #expect(herald.log("listening").first?["secrets"]?.string == "encrypted")
        try await herald.stop()
        await #expect(throws: (any Error).self) { try await HeraldProcess.start(folder: folder) }
        // It is the same key.
        let again = try await HeraldProcess.start(folder: folder, environment: ["HERALD_MASTER_KEY": key])
        #expect(try await again.get("/healthz").status == 200)
        try await again.stop()
        for text in ["short", key + "\n" + key, ""] {
            let wrong = try folder.write(text, to: "wrong")
            let result = try await Binary.run(["serve", "--master-key-file", wrong, "--data", folder.path + "/data"])
            #expect(result.end == .exited(64) && result.text.contains("32 bytes in base64"), "\(result.text)")
        }
    }
}
