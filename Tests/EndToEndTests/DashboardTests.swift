import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

// One browser at a time: eight at once would take the processors from all other tests.
@Suite("The dashboard", .serialized, .timeLimit(.minutes(20)))
struct DashboardTests {
    @Test(
        "the page has a policy that forbids content from elsewhere, and is cached by its version")
    func page() async throws {
        let herald = try await HeraldProcess.start()
        let page = try await herald.get("/")
        #expect(page.status == 200)
        #expect(page.header("content-type") == "text/html; charset=utf-8")
        #expect(page.header("cache-control") == "no-cache")
        #expect(page.header("x-content-type-options") == "nosniff")
        let policy = try #require(page.header("content-security-policy"))
        #expect(policy.contains("default-src 'none'") && policy.contains("require-trusted-types-for 'script'"))
        #expect(!policy.contains("unsafe"))
        #expect(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"))
        #expect(page.header("referrer-policy") == "no-referrer")

        let tag = try #require(page.header("etag"))
        let again = try await herald.get("/", ["If-None-Match": tag])
        #expect(again.status == 304 && again.body.isEmpty && again.header("etag") == tag)
        #expect(again.header("cache-control") == "no-cache")

        let head = try await herald.send("HEAD", "/")
        #expect(head.status == 200 && head.header("content-length") == "\(page.body.count)")
        #expect(try await herald.send("POST", "/", "{}").status == 405)
    }

    @Test("every file of the dashboard is served with its type, and all of one language are less than 192 KiB")
    func files() async throws {
        let herald = try await HeraldProcess.start()
        let folder =
            #filePath.split(separator: "/").dropLast(3).reduce("/") { $0 + $1 + "/" }
            + "Sources/HeraldAPI/Dashboard/Pages/"
        let types = ["js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"]
        var bytes = try await herald.get("/").body.count
        for name in try Files.names(in: folder) where name != "index.html" {
            let file = try await herald.get("/dashboard/\(name)")
            let suffix = name.split(separator: ".").last.map(String.init) ?? ""
            #expect(file.status == 200 && file.header("content-type") == types[suffix], "\(name)")
            #expect(file.body == (try Files.read(folder + name)), "\(name)")
            #expect(file.header("content-security-policy") != nil && file.header("etag") != nil, "\(name)")
            if name != "german.js" { bytes += file.body.count }
        }
        #expect(bytes < 192 * 1024)
        #expect(try await herald.get("/dashboard/passwords.txt").problem == "not-found")
        #expect(try await herald.get("/dashboard/../openapi.yaml").status == 400)
    }

    @Test("every page and action works in a browser", .enabled(if: Self.hasBrowser))
    func browser() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try Receiver { $0.path.hasPrefix("/broken") ? .status(503) : .status(204) }
        defer { receiver.close() }
        try await drive(
            "dashboard.py", "http://127.0.0.1:\(herald.port)", String(receiver.url("").prefix { $0 != "?" }))
        #expect(herald.process.end == nil)
    }

    @Test("twelve daily tasks take four steps each, by keyboard alone", .enabled(if: Self.hasBrowser))
    func tasks() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try Receiver { $0.path.hasPrefix("/broken") ? .status(503) : .status(204) }
        defer { receiver.close() }
        try await drive("tasks.py", "http://127.0.0.1:\(herald.port)", String(receiver.url("").prefix { $0 != "?" }))
        #expect(herald.process.end == nil)
    }

    @Test("a recipe is chosen, written, previewed and changed, by keyboard alone", .enabled(if: Self.hasBrowser))
    func recipes() async throws {
        let herald = try await HeraldProcess.start()
        try await drive("recipes.py", "http://127.0.0.1:\(herald.port)", "http://127.0.0.1:9")
        #expect(herald.process.end == nil)
    }

    @Test("event types, keys, apps, changes and storage are shown and changed", .enabled(if: Self.hasBrowser))
    func operators() async throws {
        let herald = try await HeraldProcess.start()
        try await drive("operators.py", "http://127.0.0.1:\(herald.port)")
        #expect(herald.process.end == nil)
    }

    @Test("a user signs in with a key, and out", .enabled(if: Self.hasBrowser))
    func signingIn() async throws {
        let key = "the-key-of-this-test-0123"
        let herald = try await HeraldProcess.start(adminKey: key)
        try await drive("signin.py", "http://127.0.0.1:\(herald.port)", key)
        #expect(herald.process.end == nil)
    }

    @Test("an app decides how its users see it, and which pages may frame it", .enabled(if: Self.hasBrowser))
    func portal() async throws {
        let key = "the-key-of-this-test-0123"
        let herald = try await HeraldProcess.start(adminKey: key)
        try await drive("portal.py", "http://127.0.0.1:\(herald.port)", key)
        #expect(herald.process.end == nil)
    }

    @Test("hostile data is shown as text on every page, and the layout holds", .enabled(if: Self.hasBrowser))
    func hostileData() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try Receiver { .status(503, bytes: Array($0.body)) }
        defer { receiver.close() }
        try await drive("hostile.py", "http://127.0.0.1:\(herald.port)", String(receiver.url("").prefix { $0 != "?" }))
        #expect(herald.process.end == nil)
    }

    @Test("a server with many delegates and events is shown without gaps", .enabled(if: Self.hasBrowser))
    func scale() async throws {
        try await drive("scale.py", try Binary.path())
    }

    @Test("each page is drawn while events arrive", .enabled(if: Self.hasBrowser))
    func frames() async throws {
        try await drive("frames.py", try Binary.path())
    }

    @Test("it works below a path of a proxy", .enabled(if: Self.hasBrowser))
    func prefix() async throws {
        try await drive("prefix.py", try Binary.path())
    }

    @Test("live views update by themselves, and continue after the server was down", .enabled(if: Self.hasBrowser))
    func healing() async throws {
        let receiver = try Receiver { _ in .status(204) }
        defer { receiver.close() }
        try await drive("healing.py", try Binary.path(), receiver.url("/"))
    }

    @Test("no refusal for the time being ends a browser's EventSource for good", .enabled(if: Self.hasBrowser))
    func eventSources() async throws {
        try await drive("eventsource.py", try Binary.path())
    }

    @Test("several servers that share a database are listed with their shards", .enabled(if: Self.hasBrowser))
    func nodes() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        defer { try? PostgresServer.shared().drop(url) }
        let command = ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url]
        let first = try await HeraldProcess.start(command: command)
        // The second one gets its shards from the first one.
        _ = try await first.get("/v1/nodes") { $0.data.first?["shards"]?.count == 64 }
        let second = try await HeraldProcess.start(command: command)
        try await drive("nodes.py", "http://127.0.0.1:\(first.port)")
        #expect(first.process.end == nil && second.process.end == nil)
    }

    @Test(
        "a page of another origin changes nothing, and may use the API if the operator allows its origin",
        .enabled(if: Self.hasBrowser))
    func foreign() async throws {
        try await drive("foreign.py", try Binary.path())
    }

    /// The steps are in Tests/Dashboard: Selenium and axe-core come from PyPI.
    private func drive(_ script: String, _ arguments: String...) async throws {
        let venv = try #require(getenv("HERALD_VENV").map { String(cString: $0) })
        let folder = #filePath.split(separator: "/").dropLast(2).reduce("/") { $0 + $1 + "/" } + "Dashboard/"
        let result = try await ChildProcess.run(
            venv + "/bin/python3", ["-B", folder + script] + arguments)
        // The page can be long: the condition that failed is before it.
        if result.end != .exited(0) { Issue.record("\(result.text.prefix(4000)) […] \(result.text.suffix(2000))") }
    }

    /// `script/bootstrap --test` installs all of it.
    private static var hasBrowser: Bool {
        guard let venv = getenv("HERALD_VENV").map({ String(cString: $0) }) else { return false }
        let programs: [String] = ["/usr/bin/chromium", "/usr/bin/chromedriver", venv + "/bin/python3"]
        return programs.allSatisfy { access($0, X_OK) == 0 }
    }
}
