import Glibc
import HeraldJSON
import HeraldRuntime
import HeraldTestSupport
import Testing

/// The findings of `herald doctor`.
struct Findings {
    let checks: [JSONValue]

    /// - Parameter prefix: a program that starts the binary.
    init(_ arguments: [String], _ environment: [String: String] = [:], prefix: [String] = []) async throws {
        let all = prefix + [try Binary.path(), "doctor", "--json"] + arguments
        let (end, text) = try await ChildProcess.run(all[0], Array(all.dropFirst()), environment: environment)
        let json = try JSONDocument(parsing: Array(text.utf8)).root
        checks = json["checks"].map { Array($0.elements) } ?? []
        let states = Set(checks.compactMap { $0["state"]?.string })
        #expect(end == .exited(states.contains("failure") ? 2 : states.contains("warning") ? 1 : 0))
        for check in checks {
            #expect((check["advice"]?.string == nil) == (check["state"]?.string == "ok"), "\(check)")
        }
    }

    private func worst(_ check: String) -> JSONValue? {
        let found = checks.filter { $0["check"]?.string == check }
        let states = ["failure", "warning", "ok"]
        return states.lazy.compactMap { state in found.first { $0["state"]?.string == state } }.first
    }

    func state(of check: String) -> String? { worst(check)?["state"]?.string }
    func advice(on check: String) -> String { worst(check)?["advice"]?.string ?? "" }
    func text(of check: String) -> String { worst(check)?["text"]?.string ?? "" }
}

/// Each test breaks a set-up, follows the advice, and runs the command again.
@Suite("herald doctor finds a broken set-up, and what it advises repairs it", .timeLimit(.minutes(20)))
struct DoctorSetupTests {
    private let folder = TemporaryFolder()
    private static let key = "3q2Zp0vJm8XcT5wKd7Rf9sLb1NhY4uGe6aQiWxOy"
    private var data: String { folder.path + "/data" }
    private var arguments: [String] { ["--listen", "127.0.0.1:0", "--data", data] }

    /// Runs the command, and expects a finding of this state.
    /// - Returns: the advice.
    private func advice(
        on check: String, _ state: String, _ more: [String], _ environment: [String: String] = [:],
        prefix: [String] = [], location: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let found = try await Findings(arguments + more, environment, prefix: prefix)
        #expect(found.state(of: check) == state, "\(found.text(of: check))", sourceLocation: location)
        return found.advice(on: check)
    }

    private func expectOK(
        _ check: String, _ more: [String] = [], _ environment: [String: String] = [:], prefix: [String] = [],
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let found = try await Findings(arguments + more, environment, prefix: prefix)
        #expect(found.state(of: check) == "ok", "\(found.text(of: check))", sourceLocation: location)
    }

    /// The flags with values that an advice contains.
    private func flags(in advice: String) -> [String] {
        let words = advice.split(separator: " ").map { $0.without { $0 == "," } }
        return zip(words, words.dropFirst()).filter { $0.0.hasPrefix("--") }.flatMap { [$0.0, $0.1] }
    }

    private func follow(_ command: String) async throws {
        let (end, text) = try await ChildProcess.run("sh", ["-c", command])
        #expect(end == .exited(0), "\(command): \(text)")
    }

    private func write(_ text: String, _ name: String, mode: mode_t = 0o600) throws -> String {
        let path = try folder.write(text, to: name)
        chmod(path, mode)
        return path
    }

    // MARK: The machine

    @Test("another program has the port")
    func port() async throws {
        let (listener, port) = try listenOnLoopback()
        defer { close(listener) }
        let advice = try await advice(on: "port", "failure", ["--listen", "127.0.0.1:\(port)"])
        #expect(advice.contains("--listen"))
        try await expectOK("port", ["--listen", "127.0.0.1:0"])
    }

    @Test("the parent of the data folder is missing")
    func parent() async throws {
        let place = ["--data", folder.path + "/a/b/data"]
        try await follow(try await advice(on: "folder", "failure", place))
        try await expectOK("folder", place)
        try await expectOK("folder", ["--data", folder.path + "/new/"])
    }

    @Test("the data folder is a file")
    func file() async throws {
        let path = try write("", "file")
        #expect(try await advice(on: "folder", "failure", ["--data", path]).contains("remove"))
        unlink(path)
        try await expectOK("folder", ["--data", path])
    }

    @Test("others can enter the data folder")
    func permissions() async throws {
        mkdir(data, 0o755)
        chmod(data, 0o755)
        try await follow(try await advice(on: "folder", "warning", []))
        try await expectOK("folder")
    }

    @Test("another server has the data folder")
    func holder() async throws {
        let herald = try await HeraldProcess.start(
            command: ["serve", "--log-format", "json"] + arguments, folder: folder)
        #expect(try await advice(on: "folder", "failure", []).contains("stop that process"))
        try await herald.kill()
        try await expectOK("folder")
    }

    @Test("the retention is larger than the disk")
    func retention() async throws {
        let advice = try await advice(on: "disk", "warning", ["--retention-size", "8000TiB"])
        let flags = flags(in: advice)
        #expect(flags.count >= 4, "\(advice)")
        try await expectOK("disk", flags)
    }

    @Test("there are few file descriptors")
    func descriptors() async throws {
        func limited(_ count: Int) -> [String] { ["sh", "-c", "ulimit -n \(count); exec \"$0\" \"$@\""] }
        #expect(try await advice(on: "descriptors", "warning", [], prefix: limited(128)).contains("ulimit -n"))
        try await expectOK("descriptors", prefix: limited(2048))
    }

    @Test("the server may use more memory than there is")
    func memory() async throws {
        let advice = try await advice(on: "memory", "failure", ["--memory", "900TiB"])
        try await expectOK("memory", flags(in: advice))
    }

    // MARK: Settings and keys

    @Test("a setting of the file is misspelled, and another one invalid")
    func settings() async throws {
        let path = try write("HERALD_MEMROY=64MiB\nHERALD_GRACE=soon\n", "herald.conf")
        let found = try await Findings(arguments + ["--config", path])
        let advice = found.checks.filter { $0["check"]?.string == "settings" }.map { $0["advice"]?.string ?? "" }
        #expect(advice.count == 2)
        #expect(advice.contains("write HERALD_MEMORY"))
        #expect(advice.contains { $0.contains("0 to 600") })
        _ = try write("HERALD_MEMORY=64MiB\nHERALD_GRACE=5\n", "herald.conf")
        try await expectOK("settings", ["--config", path])
    }

    @Test("others may read the file of the admin key")
    func keyFile() async throws {
        let path = try write("\(Self.key)\n", "key", mode: 0o644)
        try await follow(try await advice(on: "settings", "failure", ["--admin-key-file", path]))
        try await expectOK("settings", ["--admin-key-file", path])
    }

    @Test("the admin key can be guessed")
    func weakKey() async throws {
        let advice = try await advice(on: "keys", "warning", [], ["HERALD_ADMIN_KEY": "change-me-change-me-change-me"])
        let command = try #require(advice.split(separator: "`").dropFirst().first)
        let key = try await ChildProcess.run("sh", ["-c", String(command)]).text
        try await expectOK("keys", [], ["HERALD_ADMIN_KEY": key.without { $0.isNewline }])
    }

    @Test("all clients of a public address have full access")
    func anonymous() async throws {
        let place = ["--listen", "0.0.0.0:0"]
        let advice = try await advice(on: "keys", "warning", place + ["--allow-anonymous", "true"])
        #expect(advice.contains("HERALD_ADMIN_KEY"))
        try await expectOK("keys", place, ["HERALD_ADMIN_KEY": Self.key])
    }

    @Test("the first admin key is still in the data folder")
    func firstKey() async throws {
        mkdir(data, 0o700)
        _ = try write("x", "data/admin-key")
        let advice = try await advice(on: "keys", "warning", [])
        try await follow(String(try #require(advice.split(separator: "then: ").last)))
        try await expectOK("keys")
    }

    // MARK: TLS

    private func files(_ certificate: String, _ key: String) -> [String] {
        ["--tls-certificate", certificate, "--tls-key", key]
    }

    @Test("the key does not belong to the certificate, the certificate has expired, or is for another name")
    func certificate() async throws {
        let authority = try CertificateAuthority()
        let (one, other) = (try authority.makeIdentity(), try authority.makeIdentity(isExpired: true))
        let (certificate, key) = (try write(one.certificate, "1.pem"), try write(one.key, "1.key"))
        let (expired, otherKey) = (try write(other.certificate, "2.pem"), try write(other.key, "2.key"))
        #expect(try await advice(on: "tls", "failure", files(certificate, otherKey)).contains("--tls-key"))
        #expect(try await advice(on: "tls", "failure", files(expired, otherKey)).contains("renew"))
        let named = ["--allowed-hosts", "herald.example"]
        let advice = try await advice(on: "tls", "warning", files(certificate, key) + named)
        #expect(advice.contains("--allowed-hosts"))
        try await expectOK("tls", files(certificate, key) + ["--allowed-hosts", "localhost,[::1]"])
    }

    @Test("others may read the key of the certificate, or it is encrypted")
    func tlsKey() async throws {
        let identity = try CertificateAuthority().makeIdentity()
        let certificate = try write(identity.certificate, "1.pem")
        let key = try write(identity.key, "1.key", mode: 0o640)
        try await follow(try await advice(on: "tls", "failure", files(certificate, key)))
        try await expectOK("tls", files(certificate, key))
        let locked = folder.path + "/locked.key"
        try await follow("openssl pkey -in \(key) -aes256 -passout pass:secret -out \(locked); chmod 600 \(locked)")
        let advice = try await advice(on: "tls", "failure", files(certificate, locked))
        let (new, words) = (folder.path + "/new.key", advice.split(separator: " writes"))
        let command = String(try #require(words.first)).replacing("NEW", with: new)
        try await follow("\(command) -passin pass:secret; chmod 600 \(new)")
        try await expectOK("tls", files(certificate, new))
    }

    // MARK: A delegate

    @Test("the name of the delegate's host does not exist")
    func name() async throws {
        #expect(try await advice(on: "names", "failure", ["--url", "http://receiver.invalid/"]).contains("DNS"))
        try await expectOK("names", ["--url", "http://localhost:9/"])
    }

    @Test("callbacks must not reach the delegate's address")
    func addressGuard() async throws {
        let receiver = try Receiver()
        let key = ["HERALD_ADMIN_KEY": Self.key]
        let advice = try await advice(on: "guard", "failure", ["--url", receiver.url()], key)
        let flags = flags(in: advice)
        #expect(flags.first == "--allow-networks", "\(advice)")
        try await expectOK("guard", ["--url", receiver.url()] + flags, key)
        try await expectOK("response", ["--url", receiver.url()] + flags, key)
        #expect(receiver.requests.last?.method == "OPTIONS")
    }

    @Test("callbacks go through a proxy: what the proxy reaches is no fault of the delegate")
    func proxy() async throws {
        // Nothing listens on this port.
        let more = ["--callback-proxy", "http://127.0.0.1:9", "--url", "http://127.0.0.1:9/"]
        #expect(try await advice(on: "connection", "warning", more).contains("herald delegates test"))
        let direct = ["--callback-proxy-overrides", "127.0.0.1=direct"]
        _ = try await advice(on: "connection", "failure", more + direct)
    }

    @Test("the delegate's port is closed, or what listens there is no HTTP server")
    func connection() async throws {
        let port = try unusedPort()
        let url = ["--url", "http://127.0.0.1:\(port)/"]
        #expect(try await advice(on: "connection", "failure", url).contains("start the receiver"))
        var configuration = Receiver.Configuration()
        configuration.port = port
        let receiver = try Receiver(configuration) { _ in .status(204) }
        try await expectOK("connection", url)
        receiver.close()
        let other = try Receiver { _ in .raw("220 mail ESMTP\r\n") }
        #expect(try await advice(on: "response", "failure", ["--url", other.url()]).contains("log"))
    }

    @Test("the delegate's certificate is of an unknown authority, or has expired")
    func delegateCertificate() async throws {
        let authority = try CertificateAuthority()
        var configuration = Receiver.Configuration()
        configuration.tls = ReceiverTLS(authority)
        let receiver = try Receiver(configuration) { _ in .status(204) }
        let advice = try await advice(on: "certificate", "failure", ["--url", receiver.url()])
        #expect(advice.contains("--certificate-authorities") && advice.contains("--tls-ca"))
        let trusting = ["--certificate-authorities", try write(authority.pem, "ca.pem")]
        try await expectOK("certificate", ["--url", receiver.url()] + trusting)
        configuration.tls?.isExpired = true
        let expired = try Receiver(configuration) { _ in .status(204) }
        let found = try await Findings(arguments + trusting + ["--url", expired.url()])
        #expect(found.text(of: "certificate").contains("expired"))
    }

    @Test("the delegate redirects")
    func redirect() async throws {
        let receiver = try Receiver { request in
            request.path == "/new" ? .status(204) : .status(308, headers: [("Location", "http://127.0.0.1/new")])
        }
        let advice = try await advice(on: "response", "warning", ["--url", receiver.url("/old")])
        #expect(advice.contains("http://127.0.0.1/new"))
        try await expectOK("response", ["--url", receiver.url("/new")])
    }

    @Test("the clock is ten minutes slow")
    func clock() async throws {
        // The time at which it responds.
        func receiver(secondsAhead: Int) throws -> Receiver {
            try Receiver { _ in .status(204, headers: [("Date", Self.date(time(nil) + secondsAhead))]) }
        }
        let wrong = try receiver(secondsAhead: 600)
        #expect(try await advice(on: "clock", "failure", ["--url", wrong.url()]).contains("timedatectl"))
        let right = try receiver(secondsAhead: 2)
        try await expectOK("clock", ["--url", right.url()])
    }

    /// As a header has it.
    private static func date(_ time: time_t) -> String {
        var (seconds, parts) = (time, tm())
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 64)
        let count = strftime(&text, 64, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return text.withUnsafeBytes { String(decoding: $0.prefix(count), as: UTF8.self) }
    }

    @Test("the database cannot be reached")
    func database() async throws {
        let port = try unusedPort()
        let found = try await Findings(
            ["--listen", "127.0.0.1:0"], ["HERALD_STORE": "postgres://me:hidden@127.0.0.1:\(port)/herald"])
        #expect(found.state(of: "database") == "failure")
        #expect(found.advice(on: "database").contains("HERALD_STORE"))
        #expect(!"\(found.checks)".contains("hidden"))
        let server = try PostgresServer.shared()
        let url = try server.makeDatabase()
        defer { server.drop(url) }
        let right = try await Findings(["--listen", "127.0.0.1:0"], ["HERALD_STORE": url])
        #expect(right.state(of: "database") == "ok", "\(right.text(of: "database"))")
        #expect(right.state(of: "clock") == "ok")
        #expect(right.state(of: "folder") == nil)
        // It has changed nothing.
        #expect(try server.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'herald'", url) == "0")
    }
}

extension StringProtocol {
    /// Without the last characters that fulfil a condition.
    fileprivate func without(_ isLast: (Character) -> Bool) -> String {
        String(self[..<(lastIndex { !isLast($0) }.map { index(after: $0) } ?? startIndex)])
    }
}
