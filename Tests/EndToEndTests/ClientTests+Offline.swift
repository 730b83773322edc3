import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The command line without a server", .timeLimit(.minutes(20)))
struct ClientOfflineTests {
    /// All commands that do something, with those that they are in.
    private static var leaves: [[Command]] {
        func below(_ path: [Command]) -> [[Command]] {
            guard let commands = path.last?.commands, !commands.isEmpty else { return [path] }
            return commands.flatMap { below(path + [$0]) }
        }
        return Command.all.flatMap { below([$0]) }
    }

    @Test("every command has help with its arguments, flags and exit codes")
    func help() async throws {
        for path in Self.leaves {
            let help = Help.text(for: path)
            #expect(help.hasPrefix("Usage: herald \(path.map(\.name).joined(separator: " "))"))
            guard case .run = path[path.count - 1].action else { continue }
            for flag in path[path.count - 1].flags { #expect(help.contains("  \(flag.usage)")) }
            for argument in path[path.count - 1].arguments { #expect(help.contains("  \(argument.name)  ")) }
            #expect(help.split(separator: "\n").allSatisfy { $0.count <= 140 }, "\(help)")
        }
        for arguments in [
            ["delegates", "add", "--help"], ["help", "delegates", "add"], ["delegates", "add", "x", "-h"],
        ] {
            let result = try await Client.run(arguments)
            #expect(result.end == .exited(0))
            #expect(result.lines[0] == "Usage: herald delegates add [URL] [FLAGS]")
            #expect(result.text.contains("  69  no Herald server was reached"))
        }
        #expect(try await Client.run(["delegates", "--help"]).text.contains("\n  rotate "))
    }

    @Test(
        "a misspelled word gets a suggestion, and exit code 64",
        arguments: [
            (["pubish", "a"], "There is no command pubish. Did you mean publish?"),
            (["delegates", "lsit"], "There is no command delegates lsit. Did you mean list?"),
            (["events", "list", "--tpye=a"], "--tpye is not a flag of herald events list; did you mean --type?"),
            (["events", "list", "-x"], "-x is not a flag of herald events list."),
            (["help", "evnts"], "Did you mean events?"),
            (["delegates", "create", "http://x"], "There is no command delegates create. Did you mean add?"),
            (["apps", "update", "x"], "There is no command apps update. Did you mean change?"),
            (["event-types", "get", "x"], "Did you mean show?"), (["webhooks", "list"], "Did you mean delegates?"),
            (["replay"], "There is no command replay. `herald --help` lists all."),
            (["delegates", "add", "http://x", "--timeout-seconds", "1"], "did you mean --timeout?"),
            (
                ["publish", "order.paid", "{}"],
                "\"{}\" is too much: herald publish [TYPE] [FLAGS]. `herald publish --help` lists the flags."
            ),
            (["events"], "herald events is followed by one of: list, feed, show, redeliver"),
            (["events", "show"], "ID is missing: herald events show ID"),
            (["events", "list", "--limit"], "--limit needs a value: herald events list --limit NUMBER"),
            (["events", "list", "--limit=0"], "but must be a number from 1"),
            (["events", "list", "--json=yes"], "--json takes no value"),
            (
                ["delegates", "add", "http://x", "--max-in-flight", "many"],
                "--max-in-flight is \"many\", but must be a number."
            ),
            (["delegates", "add", "http://x", "--metadata", "team"], "must be KEY=VALUE"),
            (
                ["delegates", "add", "http://x", "--header", "X-Key s3cret"],
                "--header is \"***\", but must be NAME:VALUE."
            ),
            (["delegates", "change", "x"], "Nothing to change."), (["completion", "csh"], "bash, zsh or fish"),
        ])
    func mistakes(_ arguments: [String], _ hint: String) async throws {
        let result = try await Client.run(arguments)
        #expect(result.end == .exited(64))
        #expect(result.text.contains(hint), "\(result.text)")
        #expect(result.lines.count == 1)
    }

    @Test("every flag for a time accepts a duration, and its help says so")
    func times() {
        let flags = Self.leaves.flatMap { $0.last?.flags ?? [] }
        let times = flags.filter { $0.placeholder?.contains("TIME") == true }
        #expect(times.count >= 8)
        for flag in times { #expect(flag.time != nil, "--\(flag.name)") }
    }

    @Test(
        "lines fit on the screen, and no column takes the space of all others",
        arguments: [(80, "order.paid  customer:…  {\"amount\"…"), (120, ""), (220, "")])
    func tables(_ width: Int, _ end: String) throws {
        let id = "evt_01M7ZBVP6SEA9SZZ2NGM4EGXYC"
        let subject = "customer:" + String(repeating: "7", count: 60)
        let data = "{\"amount\": " + String(repeating: "1", count: 60) + "}"
        func cells(_ texts: String...) -> [Table.Cell] { texts.map { Table.Cell($0) } }
        var table = EventRow.table
        let first = table.lines([cells("17:21:12.123", id, "order.paid", "", "1")], width: width, usesColor: false)
        #expect(
            first == [
                "TIME          ID                              TYPE        SUBJECT  DATA",
                "17:21:12.123  \(id)  order.paid           1",
            ])
        let row = try #require(
            table.lines([cells("17:21:12.123", id, "order.paid", subject, data)], width: width, usesColor: false).first)
        #expect(row.count == min(width, 12 + 30 + 10 + subject.count + data.count + 8))
        #expect(row.hasPrefix("17:21:12.123  \(id)  order.paid  customer"), "\(row)")
        #expect(row.contains("{\"amount"), "\(row)")
        #expect(end.isEmpty || row.hasSuffix(end), "\(row)")
        // Wide enough for all: nothing is cut.
        #expect((width == 220) == !row.contains("…"), "\(row)")
        // The room that one needs less of is for the others.
        let wide = try #require(
            table.lines([cells("17:21:12.123", id, "order.paid", "s", data)], width: width, usesColor: false).first)
        #expect(wide.count <= width)
        var plain = EventRow.table
        #expect(plain.lines([cells("t", id, "a", subject, data)], width: nil, usesColor: false)[1].hasSuffix(data))
    }

    @Test("openapi prints the server's response")
    func openapi() async throws {
        let json = try await Client.run(["openapi"])
        #expect(try JSONDocument(parsing: json.text, limits: JSONLimits(values: 100_000))["openapi"]?.string == "3.0.3")
        #expect(try await Client.run(["openapi", "--yaml"]).lines.contains("openapi: 3.0.3"))
    }

    // MARK: verify

    @Test("verify checks whether a callback was signed with the key", arguments: ["v1", "v1a"])
    func verify(_ scheme: String) async throws {
        let receiver = try Receiver()
        let herald = try await HeraldProcess.start()
        let answer = try await herald.register(receiver.url(), "\"signature\": \"\(scheme)\"")
        let key = try #require(answer.string(scheme == "v1" ? "secret" : "public_key"))
        try await herald.publish("a.b", #""data": {"x": 1}"#)
        let request = try #require(await receiver.requests(1).first)
        let folder = TemporaryFolder()
        let lines = request.headers.map { "> \($0.name): \($0.value)\r\n" }.joined()
        let headers = try folder.write("> POST / HTTP/1.1\r\n" + lines, to: "headers")
        let secret = try folder.write(key + "\n", to: "secret")

        let good = try await Client.run(["verify", "--secret-file", secret, "--headers", headers], input: request.text)
        #expect(good.end == .exited(0) && good.text == "The signature is valid.", "\(good.text)")
        let values = ["id", "timestamp", "signature"].flatMap { ["--\($0)", request.header("webhook-\($0)") ?? ""] }
        #expect(try await Client.run(["verify", "--secret", key] + values, input: request.text).end == .exited(0))

        let other = try await Client.run(
            ["verify", "--secret=\(key)", "--headers", headers], input: request.text + " ")
        #expect(other.end == .exited(1) && other.text.contains("No signature is valid"), "\(other.text)")
        let unsigned = try await Client.run(["verify", "--secret", key, "--id", "x"], input: "{}")
        #expect(unsigned.end == .exited(1) && unsigned.text.contains("webhook-timestamp"), "\(unsigned.text)")
    }

    @Test("verify accepts the signatures of other providers, and says why one is wrong")
    func verifyScheme() async throws {
        // docs.github.com, "Testing the webhook payload validation".
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        func verify(_ arguments: [String], _ body: String = "Hello, World!") async throws -> (ChildProcess.End, String)
        {
            let result = try await Client.run(["verify", "--scheme"] + arguments, input: body)
            return (result.end, result.text)
        }
        let secret = "It's a Secret to Everybody"
        let folder = TemporaryFolder()
        let file = try folder.write(secret + "\n", to: "secret")
        let headers = try folder.write("X-Hub-Signature-256: \(signature) \t\r\n", to: "headers")
        let good = try await verify(["github", "--secret-file", file, "--headers", headers])
        #expect(good == (.exited(0), "The signature is valid."))
        let changed = try await verify(["github", "--secret", secret, "--signature", signature], "Hello, World!\n")
        #expect(
            changed == (
                .exited(1), "herald: No signature is valid: the body was changed: it is right without the last newline."
            ))
        let newline = try await verify(["github", "--secret", secret + "\n", "--signature", signature])
        #expect(newline.0 == .exited(1) && newline.1.contains("the secret begins or ends with white space"))
        let missing = try await verify(["stripe", "--secret", secret])
        #expect(missing == (.exited(1), "herald: The message is not signed: the header Stripe-Signature is missing."))
        #expect(try await verify(["nobody", "--secret", "x"]).0 == .exited(64))
        #expect(try await verify(["github", "--secret", "x", "--timestamp", "1"]).0 == .exited(64))
    }

    @Test("a signature of the future is a matter of the clocks")
    func future() async throws {
        let text = try await ChildProcess.run(
            "sh",
            [
                "-c",
                "printf 'evt_1.4000000000.{}' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef -binary | openssl base64 -A",
            ]
        ).text
        let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
        let early = try await Client.run(
            [
                "verify", "--secret", secret, "--id", "evt_1", "--timestamp", "4000000000", "--signature", "v1,\(text)",
            ], input: "{}")
        #expect(early.end == .exited(1) && early.text.contains("set the clocks"), "\(early.text)")
    }

    @Test("an old signature is accepted only with --any-age")
    func age() async throws {
        // As in the README's example by openssl.
        let key = Array("0123456789abcdef0123456789abcdef".utf8)
        let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
        let code = try await ChildProcess.run(
            "sh",
            [
                "-c",
                "printf 'evt_1.1700000000.{}' | openssl dgst -sha256 -hmac '\(String(decoding: key, as: UTF8.self))' -binary | openssl base64 -A",
            ])
        let arguments = [
            "verify", "--secret", secret, "--id", "evt_1", "--timestamp", "1700000000", "--signature",
            "v1,\(code.text)",
        ]
        let old = try await Client.run(arguments, input: "{}")
        #expect(old.end == .exited(1) && old.text.contains("--any-age accepts it"), "\(old.text)")
        let fine = try await Client.run(arguments + ["--any-age"], input: "{}")
        #expect(fine.end == .exited(0) && fine.text.hasPrefix("The signature is valid, and "), "\(fine.text)")
        #expect(try await Client.run(["verify"], input: "{}").end == .exited(64))
        #expect(try await Client.run(["verify", "--secret", "abc"], input: "{}").end == .exited(64))
    }

    // MARK: Shells and the manual

    @Test("bash completes commands, flags and known values")
    func bash() async throws {
        let folder = TemporaryFolder()
        let script = try folder.write(try await Client.run(["completion", "bash"]).text, to: "herald.bash")
        #expect(try await ChildProcess.run("bash", ["-n", script]).text == "")
        for (words, wanted) in [
            ("herald de", "delegates deliveries"), ("herald delegates re", "remove resume renew replay replays"),
            ("herald delegates list --st", "--status"), ("herald events list --json --unt", "--until"),
            ("herald delegates add --format cloudevents_", "cloudevents_binary"),
            ("herald deliveries list --state re", "retrying"), ("herald publish --data ''", ""),
            ("herald serve --lis", "--listen"), ("herald verify --any", "--any-age"),
            ("herald li", "listen"), ("herald listen --for", "--forward-to"), ("herald be", "bench"),
            ("herald bench --del", "--deliver"), ("herald events ta", "tail"), ("herald events tail --li", "--lines"),
            ("herald events tail -n ''", ""), ("herald event-types set order.paid --check re", "report"),
            ("herald subjects er", "erase"), ("herald delegates replay x --only fa", "failed"),
        ] {
            let command = """
                . \(script); complete -p herald >/dev/null || exit 1
                COMP_WORDS=(\(words)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _herald; echo "${COMPREPLY[*]}"
                """
            let result = try await ChildProcess.run("bash", ["--norc", "-c", command])
            #expect(result.end == .exited(0))
            #expect(result.text == wanted, "\(words)")
        }
    }

    @Test(
        "zsh and fish accept their scripts, and fish completes",
        .enabled(if: ChildProcess.exists("zsh") && ChildProcess.exists("fish")))
    func otherShells() async throws {
        let folder = TemporaryFolder()
        let zsh = try folder.write(try await Client.run(["completion", "zsh"]).text, to: "_herald")
        #expect(try await ChildProcess.run("zsh", ["-f", "-n", zsh]).text == "")
        let fish = try folder.write(try await Client.run(["completion", "fish"]).text, to: "herald.fish")
        for (words, wanted) in [
            ("herald deli", "deliveries"), ("herald delegates pa", "pause"),
            ("herald deliveries list --state re", "retrying"),
            ("herald events list --unt", "--until"), ("herald events tail --li", "--lines"),
            ("herald event-types set a --check enf", "enforce"), ("herald listen --forw", "--forward-to"),
        ] {
            let result = try await ChildProcess.run(
                "fish", ["--no-config", "-c", "source \(fish); complete -C '\(words)'"])
            let found = result.text.split(separator: "\n").map { $0.split(separator: "\t")[0] }
            #expect(found == [Substring(wanted)], "\(words)")
        }
    }

    @Test("the manual page contains every command and has no errors", .enabled(if: ChildProcess.exists("groff")))
    func manual() async throws {
        let page = try await Client.run(["man"]).text
        for path in Self.leaves {
            let name = path.map(\.name).joined(separator: " ").replacing("-", with: "\\-")
            #expect(page.contains(".SS herald \(name)"), "\(name)")
        }
        let folder = TemporaryFolder()
        let file = try folder.write(page, to: "herald.1")
        let errors = try await ChildProcess.run("sh", ["-c", "groff -man -Tutf8 -ww -z \(file) 2>&1"])
        #expect(errors.end == .exited(0))
        #expect(errors.text == "")
    }
}
