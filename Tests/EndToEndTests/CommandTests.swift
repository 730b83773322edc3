import HeraldJSON
import HeraldModel
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The command", .timeLimit(.minutes(20)), .serialized)
struct CommandTests {
    @Test("--help lists every setting as flag and variable, with its default")
    func help() async throws {
        for arguments in [["serve", "--help"], ["help", "serve"], ["serve", "-h"]] {
            let help = try await Binary.run(arguments)
            #expect(help.end == .exited(0))
            for option in Option.all {
                if option.isSecret {
                    #expect(help.text.contains("\n  \(option.variable)\n"))
                    #expect(help.text.contains("Default: \(option.defaultText). In the environment or a file only."))
                    continue
                }
                #expect(help.text.contains("--\(option.name) \(option.placeholder)\n"))
                #expect(help.text.contains("Default: \(option.defaultText). Environment: \(option.variable)."))
            }
        }
        let overview = try await Binary.run(["--help"])
        #expect(overview.end == .exited(0))
        for command in ["serve", "receiver", "rewrap", "health", "version"] {
            #expect(overview.text.contains("\n  \(command) "))
        }
        #expect(try await Binary.run(["health", "--help"]).text.hasPrefix("Usage: herald health"))
    }

    @Test("--version prints the version")
    func version() async throws {
        for arguments in [["--version"], ["-V"], ["version"]] {
            let version = try await Binary.run(arguments)
            #expect(version.end == .exited(0))
            #expect(version.text == "herald \(heraldVersion)")
        }
    }

    @Test("a missing or unknown command prints the list of commands")
    func noCommand() async throws {
        let none = try await Binary.run([])
        #expect(none.end == .exited(64))
        #expect(none.text.contains("Usage: herald COMMAND"))
        let unknown = try await Binary.run(["sevre"])
        #expect(unknown.end == .exited(64))
        #expect(unknown.text.contains("sevre") && unknown.text.contains("herald --help"))
    }

    @Test(
        "an invalid value is reported with its setting, the value and the allowed values",
        arguments: [
            ("listen", "8080", "127.0.0.1:8080"), ("listen", "127.0.0.1:99999", "127.0.0.1:8080"),
            ("listen", ":80", "address"),
            ("data", "", "folder"), ("allow-networks", "10.0.0.0/33", "networks"),
            ("deny-networks", "everything", "networks"),
            ("allow-anonymous", "yes", "true or false"), ("threads", "0", "1 to 64"), ("threads", "many", "1 to 64"),
            ("max-body", "1", "1024 to 16777216"), ("grace", "-1", "0 to 600"), ("log-format", "xml", "human or json"),
            ("memory", "47MiB", "at least 48MiB, in MiB, GiB or TiB"), ("memory", "64", "at least 48MiB"),
            ("log-level", "loud", "debug, info, warning or error"),
        ])
    func wrongValues(name: String, value: String, allowed: String) async throws {
        let variable = "HERALD_" + name.uppercased().split(separator: "-").joined(separator: "_")
        let results = [
            ("--\(name)", try await Binary.run(["serve", "--\(name)", value])),
            ("--\(name)", try await Binary.run(["serve", "--\(name)=\(value)"])),
            (variable, try await Binary.run(["serve"], environment: [variable: value])),
        ]
        for (key, result) in results {
            #expect(result.end == .exited(64))
            #expect(result.text.contains("\(key) is \"\(value)\""), "\(result.text)")
            #expect(result.text.contains(allowed), "\(result.text)")
            #expect(result.text.split(separator: "\n").count == 1)
        }
    }

    @Test("an unknown flag is refused, with a suggestion if a similar one exists")
    func unknownSettings() async throws {
        for (arguments, wanted) in [
            (["serve", "--lissten", "127.0.0.1:0"], "--lissten is not a flag of herald serve; did you mean --listen?"),
            (["serve", "--grease=3"], "--grease is not a flag of herald serve; did you mean --grace?"),
            (["serve", "--zzzzzzzz", "1"], "--zzzzzzzz is not a flag of herald serve."),
            (["serve", "extra"], "extra is not a flag"),
            (["serve", "--listen"], "--listen needs a value: herald serve --listen HOST:PORT"),
            (["rewrap", "--daata", "x"], "--daata is not a flag of herald rewrap; did you mean --data?"),
            (["rewrap", "--listen", "x"], "not a flag of herald rewrap. `herald rewrap --help` lists all."),
            (["rewrap", "--data"], "--data needs a value: herald rewrap --data FOLDER"),
            (["rewrap", "extra"], "\"extra\" is too much: herald rewrap [FLAGS]."),
        ] as [([String], String)] {
            let result = try await Binary.run(arguments)
            #expect(result.end == .exited(64))
            #expect(result.text.contains(wanted), "\(result.text)")
        }
    }

    @Test("a variable that is no setting is a warning in the log, and stops nothing")
    func unknownVariables() async throws {
        // Kubernetes sets such variables for services called herald, herald-server and herald-listen.
        var environment = ["HERALD_LISTN": "127.0.0.1:0"]
        for service in ["HERALD", "HERALD_SERVER", "HERALD_LISTEN"] {
            environment["\(service)_SERVICE_HOST"] = "10.0.0.11"
            environment["\(service)_PORT_8080_TCP_ADDR"] = "10.0.0.11"
        }
        // Those of other commands are no mistake.
        let known = ["HERALD_SERVER": "http://127.0.0.1:1", "HERALD_KEY_FILE": "/none"]
        let herald = try await HeraldProcess.start(environment: environment.merging(known) { $1 })
        #expect(try await herald.get("/healthz").status == 200)
        let lines = herald.log("variables that are no settings are ignored")
        #expect(lines.count == 1)
        let names = lines.first?["variables"]?.string?.split(separator: ", ").map(String.init)
        #expect(
            names
                == environment.keys.sorted().map {
                    $0 == "HERALD_LISTN" ? $0 + " (did you mean HERALD_LISTEN?)" : $0
                },
            "\(names ?? [])")
        // None of them is taken for the server to ask.
        environment["HERALD_SERVER"] = "127.0.0.1:\(herald.port)"
        let result = try await Binary.run(["health"], environment: environment)
        #expect(result.end == .exited(0), "\(result.text)")
        let plain = try await HeraldProcess.start(environment: known)
        #expect(plain.log("variables that are no settings are ignored").isEmpty)
    }

    @Test("a flag overrides the environment")
    func precedence() async throws {
        let herald = try await HeraldProcess.start(
            ["--max-body", "2048"], environment: ["HERALD_MAX_BODY": "4096", "HERALD_LOG_LEVEL": "info"])
        let body = #"{"type": "a", "data": "\#(String(repeating: "x", count: 3000))"}"#
        #expect(try await herald.post("/v1/events", body).status == 413)
        let other = try await HeraldProcess.start(environment: ["HERALD_MAX_BODY": "4096"])
        #expect(try await other.post("/v1/events", body).status == 202)
    }

    @Test("the line of the start contains the address and the allowed callbacks, as JSON or text")
    func logs() async throws {
        let herald = try await HeraldProcess.start(["--allow-networks", "10.0.0.0/8"])
        let first = try #require(herald.log("listening").first)
        #expect(first["level"]?.string == "info")
        #expect(first["time"]?.timestamp != nil)
        #expect(first["address"]?.string == "http://127.0.0.1:\(herald.port)")
        #expect(first["loopback_callbacks"]?.string == "allowed until there is a key")
        #expect(first["private_callbacks"]?.string == "10.0.0.0/8")
        // Normal traffic is not logged.
        try await herald.publish()
        _ = try await herald.get("/v1/nothing")
        #expect(try await herald.stop() == .exited(0))
        // With a database, who has its shards and who may connect to it are logged, too.
        let others = ["shards", "the database is open to others"]
        #expect(herald.process.lines.filter { line in !others.contains { line.contains($0) } }.count == 3)
        #expect(herald.log("stopping").first?["signal"]?.string == "TERM")

        let folder = TemporaryFolder()
        let human = try ChildProcess(
            try Binary.path(), ["serve", "--listen", "127.0.0.1:0", "--data", folder.path, "--log-format", "human"])
        try await eventually("herald listens") { human.text.contains("info  listening  address=http://127.0.0.1:") }
        human.signal(15)
        #expect(try await human.ended() == .exited(0))
    }

    @Test("health is served if the first of the allowed hosts is an IPv6 address without brackets")
    func healthOfAddress() async throws {
        let hosts = ["HERALD_ALLOWED_HOSTS": "fd00::1,127.0.0.1"]
        let herald = try await HeraldProcess.start(environment: hosts)
        let good = try await Binary.run(["health", "--listen", "127.0.0.1:\(herald.port)"], environment: hosts)
        #expect(good.end == .exited(0) && good.text == "ok", "\(good.text)")
    }

    @Test("health of this machine does not use the proxy of the environment, whatever the address")
    func healthWithoutProxy() async throws {
        let hosts = ["HERALD_ALLOWED_HOSTS": "localhost,127.0.0.1", "http_proxy": "http://127.0.0.1:9"]
        let herald = try await HeraldProcess.start(environment: hosts)
        let listen = "[::ffff:127.0.0.1]:\(herald.port)"
        let good = try await Binary.run(["health", "--listen", listen], environment: hosts)
        #expect(good.end == .exited(0) && good.text == "ok", "\(good.text)")
    }

    @Test("health uses --server, or HERALD_SERVER if no local server is configured")
    func healthElsewhere() async throws {
        let herald = try await HeraldProcess.start()
        let server = "http://127.0.0.1:\(herald.port)"
        let good = try await Binary.run(["health", "--server", server], environment: ["HERALD_LISTEN": "127.0.0.1:1"])
        #expect(good.end == .exited(0) && good.text == "ok", "\(good.text)")
        #expect(try await Binary.run(["health"], environment: ["HERALD_SERVER": server]).end == .exited(0))
        // A container's own health doesn't depend on whom its commands ask.
        let local = ["HERALD_SERVER": "http://127.0.0.1:1", "HERALD_LISTEN": "0.0.0.0:\(herald.port)"]
        #expect(try await Binary.run(["health"], environment: local).end == .exited(0))
        try await herald.stop()
        let bad = try await Binary.run(["health", "--server", server])
        #expect(bad.end == .exited(1))
        #expect(bad.text.contains("127.0.0.1:\(herald.port) was not reached"), "\(bad.text)")
        let wrong = try await Binary.run(["health", "--server", "ftp://x"])
        #expect(wrong.end == .exited(64), "\(wrong.text)")
    }

    @Test("health is not that of another server that responds with 200 to any path")
    func healthOfAnother() async throws {
        let other = try Receiver()
        defer { other.close() }
        for place in [["--server", other.url()], ["--listen", "127.0.0.1:\(other.port)"]] {
            let run = try await Binary.run(["health"] + place)
            #expect(run.end == .exited(1) && run.text.contains("is not a Herald server"), "\(run.text)")
        }
    }

    @Test("health reports whether a server responds")
    func health() async throws {
        let herald = try await HeraldProcess.start()
        let listen = "127.0.0.1:\(herald.port)"
        let good = try await Binary.run(["health", "--listen", listen])
        #expect(good.end == .exited(0))
        #expect(good.text == "ok")
        #expect(
            try await Binary.run(["health"], environment: ["HERALD_LISTEN": "0.0.0.0:\(herald.port)"]).end == .exited(0)
        )
        try await herald.stop()
        let bad = try await Binary.run(["health", "--listen", listen])
        #expect(bad.end == .exited(1))
        #expect(bad.text.contains(listen))
    }
}
