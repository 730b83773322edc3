import Glibc
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("herald receiver", .serialized, .timeLimit(.minutes(20)))
struct ReceiverCommandTests {
    /// The command, running on a free port.
    private struct Running {
        let process: ChildProcess
        let url: String

        init(_ arguments: [String] = [], port: UInt16 = 0) async throws {
            process = try ChildProcess(try Binary.path(), ["receiver", "--port", "\(port)"] + arguments)
            url = try await eventually("the receiver listens") { [process] in
                if process.end != nil { throw HeraldFailure(what: "no receiver: \(process.text)") }
                let line = process.lines.first { $0.hasPrefix("listening on ") }
                return line.map { String($0.dropFirst("listening on ".count)) }
            }
        }

        func stop() async throws {
            process.signal(SIGTERM)
            #expect(try await process.ended() == .exited(0))
        }
    }

    private func curl(_ arguments: String...) async throws -> String {
        try await ChildProcess.run("curl", ["-sS", "--max-time", "\(Int(patience))"] + arguments).text
    }

    @Test("--help lists every flag and every directive")
    func help() async throws {
        for arguments in [["receiver", "--help"], ["receiver", "-h"], ["help", "receiver"]] {
            let help = try await Binary.run(arguments)
            #expect(help.end == .exited(0))
            for flag in ReceiverSettings.flags { #expect(help.text.contains("  --\(flag.name)")) }
            for request in ReceiverControl.requests { #expect(help.text.contains("  \(request.usage)")) }
            for directive in Directive.all {
                #expect(help.text.contains("  \(directive.usage) ") && help.text.contains(directive.help))
            }
        }
    }

    @Test("prints requests with their headers, and responds as the URL says")
    func printing() async throws {
        let receiver = try await Running()
        #expect(try await curl("-d", "hello", receiver.url + "status/503/body/no", "-w", " %{http_code}") == "no 503")
        let answer = try await curl("--http2-prior-knowledge", "-H", "x-a: b", "-d", #"{"a":1}"#, receiver.url + "echo")
        #expect(answer == #"{"a":1}"#)
        try await eventually("both are printed") { receiver.process.text.contains(#"{"a":1}"#) }
        let text = receiver.process.text
        #expect(text.contains("POST /status/503/body/no  HTTP/1.1, connection 1 → 503\n"))
        #expect(text.contains("POST /echo  HTTP/2, connection 2 → 200\n"))
        #expect(text.contains("\n    x-a: b\n"))
        try await receiver.stop()
    }

    @Test("control characters are not printed")
    func escaping() async throws {
        let receiver = try await Running(["--brief"])
        _ = try await curl("--data-binary", "\u{1b}[2J\nsecond line\u{9b}1m", receiver.url)
        try await eventually("it is printed") { receiver.process.text.contains("second") }
        #expect(receiver.process.lines.last == "POST / \\u{1b}[2J\\u{a}second line\\u{9b}1m")
        try await receiver.stop()
    }

    @Test("verifies Herald's signatures, and responds with 401 to others")
    func signatures() async throws {
        let port = try unusedPort()
        let herald = try await HeraldProcess.start()
        let secret = try #require(try await herald.register("http://127.0.0.1:\(port)/").string("secret"))
        let receiver = try await Running(["--brief", "--secret", secret], port: port)
        let event = try await herald.publish()
        let line: String = try await eventually("the callback is printed") {
            receiver.process.lines.first { $0.contains(event) }
        }
        #expect(line.hasPrefix(#"verified \#(event) attempt 1 {"type":"test.happened""#))
        #expect(try await curl("-d", "x", "-w", "%{http_code}", receiver.url) == "401")
        #expect(
            try await curl("-X", "OPTIONS", "-w", "%{http_code}", receiver.url) == "200", "handshakes are not signed")
        try await eventually("it is printed") { receiver.process.text.contains("UNSIGNED (no webhook-id) x") }
        try await receiver.stop()
    }

    @Test("verifies the signatures of other providers, and prints why one is wrong")
    func schemes() async throws {
        let receiver = try await Running(["--brief", "--scheme", "twilio", "--secret", "12345"])
        func code(_ url: String, _ body: String) async throws -> String {
            let code = try await ChildProcess.run(
                "sh",
                [
                    "-c", "printf '%s' \"$1\" | openssl dgst -sha1 -hmac 12345 -binary | openssl base64 -A", "sh",
                    url + body,
                ])
            return code.text
        }
        let signature = try await code(receiver.url + "sms?a=1", "BodyHi & byeTo+1")
        func post(_ body: String, _ signature: String) async throws -> String {
            try await curl(
                "-d", body, "-H", "X-Twilio-Signature: \(signature)", "-o", "/dev/null", "-w", "%{http_code}",
                receiver.url + "sms?a=1")
        }
        #expect(try await post("To=%2B1&Body=Hi+%26+bye", signature) == "200")
        #expect(try await post("To=%2B2&Body=Hi+%26+bye", signature) == "401")
        try await eventually("both are printed") { receiver.process.lines.count >= 3 }
        #expect(receiver.process.text.contains("verified To=%2B1"))
        #expect(receiver.process.text.contains("FORGED (the signature is of another secret or body) To=%2B2"))
        try await receiver.stop()
    }

    @Test("a script sets the responses of its paths, --reply those of all others")
    func script() async throws {
        let folder = TemporaryFolder()
        let file = try folder.write(#"{"/a": [{"status": 500}, {"status": 201}]}"#, to: "script.json")
        let receiver = try await Running(["--script", file, "--reply=status=404&body=none"])
        var answers: [String] = []
        for path in ["a", "a", "b", "status/403"] {
            answers.append(try await curl("-o", "/dev/null", "-w", "%{http_code}", receiver.url + path))
        }
        #expect(answers == ["500", "201", "404", "403"])
        try await receiver.stop()
    }

    @Test("control requests start and end an outage, replace a script, and return counts; nothing is printed")
    func control() async throws {
        let receiver = try await Running(["--control", "0", "--quiet"])
        let prefix = "control requests on "
        let control: String = try await eventually("its control requests are told") {
            receiver.process.lines.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        }
        func status() async throws -> String {
            try await curl("-o", "/dev/null", "-w", "%{http_code}", receiver.url + "orders")
        }
        func order(_ path: String, _ body: String = "") async throws {
            let answer = try await curl("-w", "%{http_code}", "-d", body, control + path)
            #expect(answer == "204")
        }
        try await order("script", #"{"/orders": {"status": 429}}"#)
        #expect(try await status() == "429")
        try await order("outage")
        #expect(try await status() == "503")
        try await order("refusal")
        #expect(try await ChildProcess.run("curl", ["-sS", receiver.url]).end != .exited(0))
        try await order("recovery")
        try await order("script", #"{"/orders": null}"#)
        #expect(try await status() == "200")
        let counts = try await curl(control + "counts")
        #expect(counts.contains(#""/orders":{"attempts":["#), "\(counts)")
        #expect(receiver.process.lines.count == 2)
        try await receiver.stop()
    }

    @Test("serves TLS, and prints the authority to trust")
    func tls() async throws {
        let receiver = try await Running(["--tls", "--names", "localhost,hooks.example"])
        #expect(receiver.url.hasPrefix("https://"))
        let line: String = try await eventually("the file is told") {
            receiver.process.lines.first { $0.contains("signed by ") }
        }
        let file = try #require(line.split(separator: " ").last.map(String.init))
        let port = try #require(receiver.url.split(separator: ":").last?.dropLast())
        let version = try await curl(
            "--cacert", file, "-o", "/dev/null", "-w", "%{http_version}", "https://localhost:\(port)/")
        #expect(version == "2")
        try await receiver.stop()
        #expect(access(file, F_OK) != 0)
    }

    @Test("connections can be ended at once")
    func connections() async throws {
        let receiver = try await Running(["--connections", "reset"])
        #expect(try await ChildProcess.run("curl", ["-sS", receiver.url]).end != .exited(0))
        try await receiver.stop()
    }

    @Test(
        "invalid arguments are refused with one line",
        arguments: [
            (["--port", "many"], "0 to 65535", 64), (["--port"], "needs a value", 64), (["--sekret"], "--sekret", 64),
            (["--secret", "abc"], "whsec_", 64), (["--reply", "nothing"], "no directive", 64),
            (["--script", "/nonexistent"], "/nonexistent cannot be read", 64), (["--brief=yes"], "takes no value", 64),
            (["--quiet", "--brief"], "can't be combined", 64),
            (["--connections", "drop"], "serve, ignore, close or reset", 64), (["--names", "a b"], "host names", 64),
            (["--control", "x"], "0 to 65535", 64), (["--seed", "x"], "from 0 on", 64),
            (["--address", "192.0.2.1"], "192.0.2.1", 69), (["--address", "localhost"], "IPv4", 69),
        ] as [([String], String, Int32)])
    func refusals(_ arguments: [String], _ hint: String, _ code: Int32) async throws {
        let result = try await Binary.run(["receiver"] + arguments)
        #expect(result.end == .exited(code))
        #expect(result.text.contains(hint), "\(result.text)")
        #expect(result.text.split(separator: "\n").count == 1)
    }
}
