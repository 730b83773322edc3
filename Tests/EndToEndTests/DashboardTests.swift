import Glibc
import HeraldReceiver
import HeraldTestSupport
import Testing

// One browser at a time here, and in each suite of OperatorDashboardTests: eight at once would take the processors from all others.
@Suite("The dashboard", .serialized, .timeLimit(.minutes(20)))
struct DashboardTests {
    // The longest test of all: it begins first.
    @Test("every page and action works in a browser", .enabled(if: Dashboard.hasBrowser))
    func browser() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { $0.path.hasPrefix("/broken") ? .status(503) : .status(204) }
        try await Dashboard.drive("dashboard.py", herald.url, receiver.url(""))
        #expect(herald.process.end == nil)
    }

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

    @Test("twelve daily tasks take four steps each, by keyboard alone", .enabled(if: Dashboard.hasBrowser))
    func tasks() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { $0.path.hasPrefix("/broken") ? .status(503) : .status(204) }
        try await Dashboard.drive("tasks.py", herald.url, receiver.url(""))
        #expect(herald.process.end == nil)
    }

    @Test("a recipe is chosen, written, previewed and changed, by keyboard alone", .enabled(if: Dashboard.hasBrowser))
    func recipes() async throws {
        let herald = try await HeraldProcess.start()
        try await Dashboard.drive("recipes.py", herald.url, "http://127.0.0.1:9")
        #expect(herald.process.end == nil)
    }
}
