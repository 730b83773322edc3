import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

// One browser at a time in each of these suites, as in DashboardTests. Each test of a suite waits for its turn among all other
// tests: so in one suite, the last ones would run when there is nothing else to run.
@Suite("The dashboard for operators and apps", .serialized, .timeLimit(.minutes(20)))
struct OperatorDashboardTests {
    @Test("event types, keys, apps, changes and storage are shown and changed", .enabled(if: Dashboard.hasBrowser))
    func operators() async throws {
        let herald = try await HeraldProcess.start()
        try await Dashboard.drive("operators.py", herald.url)
        #expect(herald.process.end == nil)
    }

    @Test("a user signs in with a key, and out", .enabled(if: Dashboard.hasBrowser))
    func signingIn() async throws {
        let key = "the-key-of-this-test-0123"
        let herald = try await HeraldProcess.start(adminKey: key)
        try await Dashboard.drive("signin.py", herald.url, key)
        #expect(herald.process.end == nil)
    }

    @Test("an app decides how its users see it, and which pages may frame it", .enabled(if: Dashboard.hasBrowser))
    func portal() async throws {
        let key = "the-key-of-this-test-0123"
        let herald = try await HeraldProcess.start(adminKey: key)
        try await Dashboard.drive("portal.py", herald.url, key)
        #expect(herald.process.end == nil)
    }

    @Test("hostile data is shown as text on every page, and the layout holds", .enabled(if: Dashboard.hasBrowser))
    func hostileData() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { .status(503, bytes: Array($0.body)) }
        try await Dashboard.drive("hostile.py", herald.url, receiver.url(""))
        #expect(herald.process.end == nil)
    }
}

@Suite("The dashboard of large and of other servers", .serialized, .timeLimit(.minutes(20)))
struct ServerDashboardTests {
    @Test("a server with many delegates and events is shown without gaps", .enabled(if: Dashboard.hasBrowser))
    func scale() async throws {
        try await Dashboard.drive("scale.py", try Binary.path())
    }

    @Test("each page is drawn while events arrive", .enabled(if: Dashboard.hasBrowser))
    func frames() async throws {
        try await Dashboard.drive("frames.py", try Binary.path())
    }

    @Test("it works below a path of a proxy", .enabled(if: Dashboard.hasBrowser))
    func prefix() async throws {
        try await Dashboard.drive("prefix.py", try Binary.path())
    }

    @Test("several servers that share a database are listed with their shards", .enabled(if: Dashboard.hasBrowser))
    func nodes() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        defer { try? PostgresServer.shared().drop(url) }
        let command = ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url]
        let first = try await HeraldProcess.start(command: command)
        // The second one gets its shards from the first one.
        _ = try await first.get("/v1/nodes") { $0.data.first?["shards"]?.count == 64 }
        let second = try await HeraldProcess.start(command: command)
        try await Dashboard.drive("nodes.py", "http://127.0.0.1:\(first.port)")
        #expect(first.process.end == nil && second.process.end == nil)
    }

    @Test(
        "a page of another origin changes nothing, and may use the API if the operator allows its origin",
        .enabled(if: Dashboard.hasBrowser))
    func foreign() async throws {
        try await Dashboard.drive("foreign.py", try Binary.path())
    }
}

@Suite("The live dashboard", .serialized, .timeLimit(.minutes(20)))
struct LiveDashboardTests {
    @Test("live views update by themselves, and continue after the server was down", .enabled(if: Dashboard.hasBrowser))
    func healing() async throws {
        let receiver = try Receiver { _ in .status(204) }
        defer { receiver.close() }
        try await Dashboard.drive("healing.py", try Binary.path(), receiver.url("/"))
    }

    @Test("no refusal for the time being ends a browser's EventSource for good", .enabled(if: Dashboard.hasBrowser))
    func eventSources() async throws {
        try await Dashboard.drive("eventsource.py", try Binary.path())
    }
}
