import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("A file of settings", .timeLimit(.minutes(20)))
struct SettingsFileTests {
    private func file(_ text: String, mode: mode_t = 0o644, in folder: TemporaryFolder) throws -> String {
        let path = folder.path + "/herald.conf"
        try Files.write(Array(text.utf8), to: path)
        chmod(path, mode)
        return path
    }

    @Test(
        "has the format of a systemd EnvironmentFile",
        arguments: [
            ("", []), ("\n# A=1\n ; B=2\n", []), ("A=1\nB = two words \n", ["A=1", "B=two words"]),
            ("A=\"x # y\"\r\nB='a\\b'\n", ["A=x # y", "B=a\\b"]), ("A=a\\\nb\n", ["A=ab"]), ("A=\n", ["A="]),
            (#"A="a\"b\c\\""#, [#"A=a"b\c\"#]), ("A=x=y", ["A=x=y"]), ("A=a\\ \n", ["A=a "]),
            ("A='a'  \"b\"", ["A=ab"]), ("A=a'b", ["A=a'b"]), ("A='a\nb'\nC=1", ["A=a\nb", "C=1"]), ("A=a\\", ["A=a"]),
        ])
    func format(text: String, found: [String]) throws {
        #expect(try SettingsFile.entries(Array(text.utf8)).map { "\($0.variable)=\($0.value)" } == found)
    }

    @Test("says in which line a mistake is", arguments: [("A=1\n\nB\n", 3), ("A='1", 1), ("#\nA=\"\\", 2)])
    func mistakes(text: String, line: Int) {
        #expect { try SettingsFile.entries(Array(text.utf8)) } throws: { ($0 as? SettingsFile.Mistake)?.line == line }
        #expect(throws: SettingsFile.Mistake.self) { try SettingsFile.entries([0x41, 0x3d, 0xff]) }
    }

    @Test(
        "the error of an address of a database that is not valid does not show its password",
        arguments: [
            "herald:word-of-this-test@db/herald", "host=db user=herald password=word-of-this-test",
            "host=db password = word-of-this-test",
        ])
    func passwordOfStore(text: String) {
        let environment = ["HERALD_STORE": text]
        let error = #expect(throws: SettingsError.self) { try Settings(arguments: [], environment: environment) }
        let words = error?.description ?? ""
        #expect(words.contains("\"***\"") && !words.contains("word-of-this-test"), "\(words)")
    }

    @Test(
        "a refused value is named with values that the setting accepts, and a missing file with the reason",
        arguments: [
            ("--backup-every", "often", "at least 1m, a number with m, h or d, such as 12h or 1d"),
            ("--requests-per-second", "0", "a number from 1 to 1000000, or unlimited"),
            ("--admin-key-file", "/nowhere/key", "a file that can be read (No such file or directory)"),
            ("--master-key-file", "/nowhere/key", "a file that can be read (No such file or directory)"),
        ])
    func refusals(flag: String, value: String, allowed: String) {
        #expect {
            try Settings(arguments: [flag, value], environment: [:])
        } throws: { error in
            "\(error)" == "\(flag) is \"\(value)\", but must be \(allowed)."
        }
    }

    @Test("the password of an address is hidden, also if it is not percent-encoded")
    func rawPassword() throws {
        let store = try #require(Option.all.first { $0.name == "store" })
        for password in ["word", "a/b", "a?b", "a#b", "a@b"] {
            #expect(store.hides("postgres://herald:\(password)@db/herald"), "\(password)")
        }
        for address in ["postgres://herald@db:5432/herald", "postgres://db:5432/herald"] {
            #expect(!store.hides(address), "\(address)")
        }
    }

    @Test("an address as pairs of libpq is refused as an argument if it has a password")
    func passwordInPairs() {
        #expect(throws: CommandError.self) { try Option.refusePassword(in: ["host=db password=word-of-this-test"]) }
        let without = ["host=db user=herald", "postgres://herald@db/d"]
        #expect(throws: Never.self) { try Option.refusePassword(in: without) }
    }

    @Test(
        "a key and a file with the key exclude each other in one source, and a variable wins over the file of settings")
    func pairs() throws {
        let folder = TemporaryFolder()
        let key = try file("the-key-of-this-test-0123", mode: 0o600, in: folder)
        let both = ["HERALD_ADMIN_KEY": "another-key-of-this-test", "HERALD_ADMIN_KEY_FILE": key]
        #expect(throws: SettingsError.self) { try Settings(arguments: [], environment: both) }
        let path = folder.path + "/pairs.conf"
        let lines = both.map { "\($0.key)=\($0.value)\n" }.joined()
        try Files.write(Array(lines.utf8), to: path)
        #expect(throws: SettingsError.self) { try Settings(arguments: ["--config", path], environment: [:]) }
        try Files.write(Array("HERALD_ADMIN_KEY_FILE=\(key)\n".utf8), to: path)
        _ = try Settings(
            arguments: ["--config", path], environment: ["HERALD_ADMIN_KEY": "another-key-of-this-test"])
    }

    @Test(
        "hosts that no request can have are refused",
        arguments: ["a.example:80", "*", "*.example", "ä.example", "[a]", "::1::"])
    func hosts(text: String) throws {
        #expect(throws: SettingsError.self) { try Settings(arguments: ["--allowed-hosts", text], environment: [:]) }
        let valid = "herald.example,127.0.0.1,[::1],fe80::1,a_b"
        _ = try Settings(arguments: ["--allowed-hosts", valid], environment: [:])
    }

    @Test("yields to variables and flags, and `herald config` says where each setting comes from")
    func order() async throws {
        let folder = TemporaryFolder()
        // An empty variable of OpenTelemetry counts as not set.
        let empty = "OTEL_EXPORTER_OTLP_ENDPOINT=\nOTEL_EXPORTER_OTLP_HEADERS=\n"
        let path = try file("HERALD_GRACE=1\nHERALD_SOURCE=/file\nHERALD_ORIGIN=file\n" + empty, in: folder)
        let environment = ["HERALD_SOURCE": "/variable", "HERALD_ORIGIN": "variable", "HERALD_CONFIG": path]
        let settings = try Settings(arguments: ["--origin", "flag"], environment: environment)
        #expect(settings.graceSeconds == 1 && settings.source == "/variable" && settings.origin == "flag")

        let shown = try await Binary.run(["config", "--config", path, "--origin", "flag"])
        func line(_ setting: String) -> [Substring]? {
            shown.text.split(separator: "\n").map { $0.split(separator: " ") }.first { $0.first == setting[...] }
        }
        #expect(line("--grace") == ["--grace", "1", "\(path):1"])
        #expect(line("--origin") == ["--origin", "flag", "--origin"])
        #expect(line("--max-body") == ["--max-body", "262144", "default"])
        let json = try await Binary.run(["config", "--config", path, "--json"])
        #expect(json.text.contains(#"{"name":"source","variable":"HERALD_SOURCE","default":"/herald","value":"/file""#))
    }

    @Test("is refused with its name and line, and secrets are neither shown nor read from a file that others may read")
    func refused() async throws {
        let folder = TemporaryFolder()
        for (text, words) in [
            ("HERALD_LISTN=a:1", ["HERALD_LISTN in line 1 of", "did you mean HERALD_LISTEN"]),
            ("\nHERALD_GRACE=soon", ["HERALD_GRACE in line 2 of", "0 to 600"]), ("nothing", ["Line 1 of", "has no ="]),
            ("HERALD_CONFIG=x", ["is not a setting"]),
            ("HERALD_ADMIN_KEY=twenty-characters-long", ["has a secret, HERALD_ADMIN_KEY", "chmod 600"]),
            ("HERALD_STORE=postgres://herald:hidden@db/herald", ["has a secret, HERALD_STORE", "chmod 600"]),
            (
                "HERALD_CALLBACK_PROXY=http://me:hidden@proxy:3128",
                ["has a secret, HERALD_CALLBACK_PROXY", "chmod 600"]
            ),
        ] {
            let path = try file(text, in: folder)
            let found = try await Binary.run(["serve", "--config", path])
            #expect(found.end == .exited(64) && words.allSatisfy { found.text.contains($0) }, "\(found.text)")
        }
        #expect(try await Binary.run(["serve", "--config", folder.path + "/none"]).text.contains("none"))
        let path = try file("HERALD_ADMIN_KEY=twenty-characters-long", mode: 0o600, in: folder)
        let shown = try await Binary.run(["config", "--config", path])
        #expect(shown.end == .exited(0) && shown.text.contains("***") && !shown.text.contains("twenty-char"))
    }

    @Test("HUP changes the allowed hosts, the origins and the limit of an address while the server runs")
    func reloadOfRules() async throws {
        let folder = TemporaryFolder()
        let path = try file("", in: folder)
        let herald = try await HeraldProcess.start(
            listen: "0.0.0.0:0", ["--config", path, "--allow-anonymous", "true"])
        func reload(_ text: String, _ count: Int) async throws {
            _ = try file(text, in: folder)
            herald.process.signal(SIGHUP)
            try await eventually("the file was read") { herald.log("settings reloaded").count == count }
        }
        let port = herald.port
        func status(_ fields: String, host: String = "localhost", method: String = "GET") async throws -> Int? {
            try await RawHTTP.onThread {
                let client = try RawHTTPClient(port: port, source: 7)
                client.send("\(method) /v1/events HTTP/1.1\r\nHost: \(host)\r\n\(fields)\r\n")
                return try client.readResponse()?.status
            }
        }
        let page = "Origin: https://shop.example\r\nContent-Length: 0\r\n"
        #expect(try await status("", host: "other.example") == 200)
        #expect(try await status(page, method: "POST") == 403)
        try await reload("HERALD_ALLOWED_HOSTS=localhost\nHERALD_CORS_ORIGINS=https://shop.example\n", 1)
        // The loop reads its mail before it reads a request that comes later.
        #expect(try await status("", host: "other.example") == 421)
        #expect(try await status(page, method: "POST") != 403)
        try await reload("HERALD_CONNECTIONS_PER_ADDRESS=8\n", 2)
        #expect(try await status("", host: "other.example") == 200)
        #expect(try await status(page, method: "POST") == 403)
        func refusals() async throws -> Int {
            let line = try await herald.get("/metrics").text.split(separator: "\n")
                .first { $0.hasPrefix(#"herald_http_connections_refused_total{cause="address"}"#) }
            return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
        }
        #expect(try await refusals() == 0)
        try await herald.exceedAddressLimit()
        #expect(try await refusals() > 0)
    }

    @Test("HUP reads it again: the log level changes at once, and the log names what needs a restart")
    func reload() async throws {
        let folder = TemporaryFolder()
        let path = try file("HERALD_LOG_LEVEL=info\n", in: folder)
        let herald = try await HeraldProcess.start(["--config", path])
        func hangUp(_ text: String, _ message: String, _ count: Int = 1) async throws {
            _ = try file(text, in: folder)
            herald.process.signal(SIGHUP)
            try await eventually(message) { herald.log(message).count == count }
        }
        let (refused, partly) = (
            "settings not reloaded; the previous ones stay in use",
            "settings reloaded; some that have changed need a restart"
        )
        try await hangUp("HERALD_GRACE=never\n", refused)
        try await hangUp("HERALD_LOG_LEVEL=info\nHERALD_GRACE=5\n", partly)
        #expect(herald.log(partly).first?["settings"]?.string == "--grace")
        try await hangUp("HERALD_LOG_LEVEL=info\n", "settings reloaded")
        try await hangUp("HERALD_LOG_LEVEL=warning\nHERALD_GRACE=5\n", partly, 2)
        // Lines of the level info are dropped from now on.
        #expect(try await herald.stop() == .exited(0))
        #expect(herald.log("stopped").isEmpty)
    }
}
