import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

/// Against a server that responds with the models of Svix's package from PyPI.
@Suite(
    "herald import", .timeLimit(.minutes(20)),
    .enabled("needs the tools of script/requirements.txt") { getenv("HERALD_VENV") != nil })
struct ImportTests {
    private static let token = "testsk_a-token-of-a-test-server"
    private static var python: String { (getenv("HERALD_VENV").map { String(cString: $0) } ?? "") + "/bin/python3" }

    /// A running server of another service, with its token in a file.
    private final class Foreign: Sendable {
        let service: String
        let process: ChildProcess
        let url: String
        let folder = TemporaryFolder()
        var arguments: [String] { ["import", service, "--from", url, "--token-file", folder.path + "/token"] }

        init(_ service: String, _ arguments: String..., token: String = ImportTests.token) async throws {
            self.service = service
            _ = try folder.write("\(token)\n", to: "token")
            let script = #filePath.replacing("EndToEndTests/ImportTests.swift", with: "Import/\(service)_server.py")
            process = try ChildProcess(ImportTests.python, ["-B", script] + arguments)
            url = "http://127.0.0.1:" + (try await eventually("the server's port") { [process] in process.lines.first })
        }

        deinit { process.signal(SIGKILL) }
    }

    @Test("apps, types, endpoints with their secrets and headers come, once; what has no counterpart is named")
    func svix() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let svix = try await Foreign("svix", "4", "3", receiver.url("/hook"))
        let client = Client(try await HeraldProcess.start())
        func run(_ more: String...) async throws -> Client.Result {
            try await Client.run(svix.arguments + more, server: "http://127.0.0.1:\(client.herald.port)")
        }
        let dry = try await run("--dry-run")
        #expect(dry.end == .exited(0), "\(dry.text)")
        #expect(dry.lines.count { $0.hasPrefix("Would create the ") } == 24, "\(dry.text)")
        #expect(try await client.herald.get("/v1/apps").data.count == 1)

        let done = try await run()
        #expect(done.end == .exited(0), "\(done.text)")
        #expect(done.lines.count { $0.hasPrefix("Created the ") } == 24, "\(done.text)")
        #expect(
            done.text.contains("app tenant-0 (Svix's Tenant No. 0): throttle rate 9: an app has none"), "\(done.text)")
        #expect(done.text.contains(#"app tenant-0 (Svix's Tenant No. 0): metadata {"plan": "pro"}: an app has none"#))
        #expect(
            done.text.contains("event type user.joined: deprecated true: Herald has no counterpart"), "\(done.text)")
        #expect(done.text.contains("header Authorization: Svix does not show its value"), "\(done.text)")
        // The uid, or a name of the title without one, which is not the uid of another application.
        let apps = try await client.herald.get("/v1/apps").data
        let names = apps.compactMap { $0["name"]?.string }
        #expect(Set(names) == ["default", "tenant-0", "Tenant.1", "tenant-no-2-00000002", "tenant-no-2"])
        let titles = apps.compactMap { $0["portal"]?["title"]?.string }.sorted()
        #expect(titles == (0..<4).map { "Tenant No. \($0)" }, "\(titles)")
        #expect(done.text.contains("app tenant-no-2-00000002 (Svix's Tenant No. 2)"), "\(done.text)")
        #expect(try await run().lines.contains("Unchanged: 24."))

        let delegates = try await client.run("delegates", "list", "--kind=webhook", "--app=tenant-0", "--json").json
        try #require(delegates.map { $0.text("status") } == ["active", "paused", "active"])
        #expect(delegates.map { $0["events"]?.plainText } == ["*", "user.joined, user.left", "order.paid"])
        #expect(delegates[1]["rate_limit"]?.integer == 7 && delegates[1]["metadata"]?["number"]?.string == "1")
        #expect(delegates[1]["metadata"]?["svix_uid"]?.string == "uid-1")
        #expect(delegates[0].text("url") == "http://localhost/2")
        #expect(delegates.map { $0["filter"]?.compactText } == [#"{"channels":["eu"]}"#, "null", "null"])
        let type = try await client.run("event-types", "show", "order.paid", "--app=tenant-0", "--json").document()
        #expect(type["schema"]?["type"]?.string == "object" && type.text("check") == "off")

        // The receiver verifies as before, with Svix's own library.
        let published = try await client.run("publish", "order.paid", "--app=tenant-0", "--data", #"{"amount": 12.50}"#)
        #expect(published.end == .exited(0), "\(published.text)")
        let request = try #require(await receiver.requests(1).first)
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"amount": 12.50}"#)
        #expect(request.header("x-tenant") == "0")
        let script = """
            import sys, svix, base64
            headers = dict(zip(["svix-id", "svix-timestamp", "svix-signature"], sys.argv[1:]))
            secret = "whsec_" + base64.b64encode(b"secret 00000000 00000000 of 32 b").decode()
            svix.Webhook(secret).verify(sys.stdin.read(), headers)
            print("verified")
            """
        let signature = ["svix-id", "svix-timestamp", "svix-signature"].map { request.header($0) ?? "" }
        let verified = try await ChildProcess.run(Self.python, ["-c", script] + signature, input: request.body)
        #expect(verified.text == "verified", "\(verified.text)")
    }

    @Test("a page that is no JSON is not called that of a server of Herald")
    func page() async throws {
        let server = try Receiver { _ in .status(200, body: "<html></html>") }
        defer { server.close() }
        let folder = TemporaryFolder()
        let token = try folder.write("token\n", to: "token")
        let run = try await Client.run(
            ["import", "svix", "--from", server.url(""), "--token-file", token], server: "http://127.0.0.1:9")
        #expect(run.end == .exited(69) && run.text.contains("Svix's server"), "\(run.text)")
        #expect(!run.text.contains("Herald"), "\(run.text)")
    }

    @Test("an import ends when the server is busy, and says that it may be repeated with the exit code")
    func busy() async throws {
        let (svix, busy) = (try await Foreign("svix", "4", "3"), try await Foreign("busy"))
        let run = try await Client.run(svix.arguments, server: busy.url)
        #expect(run.end == .exited(75), "\(run.text)")
        #expect(!run.text.contains("could not be imported"), "\(run.text)")
        try await eventually("a request is refused") { busy.process.lines.count > 1 }
        #expect(busy.process.lines.dropFirst() == ["POST /v1/apps"])
    }

    @Test(
        "an import that is killed again and again brings each endpoint exactly once",
        arguments: [[0, 3, 17, 8, 24, 1], [1, 30, 2, 5, 40, 12]])
    func kills(lines: [Int]) async throws {
        let svix = try await Foreign("svix", "2", "60")
        let herald = try await HeraldProcess.start()
        for count in lines {
            let process = try ChildProcess(
                try Binary.path(), svix.arguments,
                environment: ["XDG_CONFIG_HOME": "/nonexistent", "HERALD_SERVER": herald.url])
            _ = try await eventually("\(count) lines, or the end") {
                process.end != nil || process.lines.count { $0.hasPrefix("Created") } >= count ? true : nil
            }
            process.signal(SIGKILL)
            _ = try await eventually("the end") { process.end }
        }
        let last = try await Client.run(svix.arguments, server: herald.url)
        #expect(last.end == .exited(0), "\(last.text)")
        for app in ["tenant-0", "Tenant.1"] {
            let all = try await Client.run(
                ["delegates", "list", "--all", "--kind=webhook", "--app", app, "--json"],
                server: herald.url
            ).json
            let numbers = all.compactMap { $0["metadata"]?["number"]?.string }
            #expect(numbers.count == 60 && Set(numbers).count == 60, "\(app): \(numbers.sorted())")
        }
    }

    @Test("a delegate that was resumed stays active when its disabled endpoint is imported again")
    func resumed() async throws {
        let svix = try await Foreign("svix", "1", "2")
        let client = Client(try await HeraldProcess.start())
        let server = "http://127.0.0.1:\(client.herald.port)"
        let first = try await Client.run(svix.arguments, server: server)
        #expect(first.end == .exited(0), "\(first.text)")
        func delegates() async throws -> [JSONValue] {
            try await client.run("delegates", "list", "--kind=webhook", "--app=tenant-0", "--json").json
        }
        let imported = try await delegates()
        let paused = try #require(imported.first { $0.text("status") == "paused" })
        let resumed = try await client.run("delegates", "resume", paused.text("id"), "--app=tenant-0")
        #expect(resumed.end == .exited(0), "\(resumed.text)")
        let again = try await Client.run(svix.arguments, server: server)
        #expect(again.end == .exited(0) && again.text.contains("the delegate was changed after"), "\(again.text)")
        let statuses = try await delegates().map { $0.text("status") }
        #expect(statuses == ["active", "active"])
    }

    @Test("a project of Convoy: subscriptions become webhooks that sign as the project does")
    func convoy() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let convoy = try await Foreign("convoy", receiver.url("/hook"), token: "CO.a-token-of-a-test-server")
        let client = Client(try await HeraldProcess.start())
        let arguments = convoy.arguments + ["--project", "01HPROJECT"]
        let done = try await Client.run(arguments, server: "http://127.0.0.1:\(client.herald.port)")
        #expect(done.end == .exited(0), "\(done.text)")
        for line in [
            "subscription sub-a: filter of the body for the event type order.paid: write a filter of the delegate",
            "subscription sub-a: event type order.new is disabled: remove it from the events of the delegate",
            "subscription sub-b: filter of the body: write a filter of the delegate",
            "subscription sub-b: delivery mode at_most_once: Herald retries; set retry_schedule to []",
            "endpoint \(receiver.url("/hook")): timeout of 120 s: that of the delegate is 60 s",
            "endpoint \(receiver.url("/hook")): 2 signatures in each request: Herald sends the last one",
            "subscription sub-c: it has no endpoint with a URL",
            "endpoint https://unused.example/hooks: it has no subscription",
        ] {
            #expect(done.lines.contains("app acme-s-shop (Convoy's Acme's Shop): \(line)"), "\(done.text)")
        }
        #expect(done.lines.count { $0.contains("subscription sub-a: filter of") } == 1, "\(done.text)")
        let again = try await Client.run(arguments, server: "http://127.0.0.1:\(client.herald.port)")
        #expect(again.lines.contains("Unchanged: 4."), "\(again.text)")
        let delegates = try await client.run("delegates", "list", "--kind=webhook", "--app=acme-s-shop", "--json").json
        try #require(delegates.map { $0.text("status") } == ["paused", "active"])
        #expect(
            delegates[0]["request"]?["auth"]?["basic"]?["user"]?.string == "ada" && delegates[0].text("events") == "*")
        #expect(delegates[0]["timeout_seconds"]?.integer == 60)
        #expect(delegates[1]["rate_limit"]?.compactText == "0.5" && delegates[1]["timeout_seconds"]?.integer == 10)
        #expect(delegates[1]["metadata"]?["convoy_owner"]?.string == "acme")

        _ = try await client.run("publish", "order.paid", "--app=acme-s-shop", "--data", #"{"amount": 12.50}"#)
        let request = try #require(await receiver.requests(1).first)
        #expect(
            request.header("x-key") == "k3y" && String(decoding: request.body, as: UTF8.self) == #"{"amount": 12.50}"#)
        let script = """
            import base64, hmac, sys
            moment, given = [part.removeprefix(name) for name, part in zip(["t=", "v2="], sys.argv[1].split(","))]
            content = moment.encode() + b"," + sys.stdin.buffer.read()
            print(base64.b64encode(hmac.digest(b"secret-text-of-convoy", content, "sha512")).decode() == given)
            """
        let signature = request.header("x-acme-signature") ?? ""
        let verified = try await ChildProcess.run(Self.python, ["-c", script, signature], input: request.body)
        #expect(verified.text == "True", "\(signature) \(verified.text)")
    }

    @Test("a token may be shorter and longer than a key of Herald", arguments: [1, 5, 2_000])
    func token(length: Int) async throws {
        let svix = try await Foreign("svix", "1", "3", "http://127.0.0.1:9/")
        let herald = try await HeraldProcess.start()
        _ = try svix.folder.write(String(repeating: "t", count: length) + "\n", to: "token")
        let asked = try await Client.run(svix.arguments, server: herald.url)
        #expect(asked.end == .exited(69) && asked.text.contains("refuses the token of --token-file"), "\(asked.text)")
        for text in ["", "two words", String(repeating: "t", count: 16_385)] {
            _ = try svix.folder.write(text + "\n", to: "token")
            let refused = try await Client.run(svix.arguments, server: herald.url)
            #expect(refused.end == .exited(65) && refused.text.contains("a token of 1 to 16,384"), "\(refused.text)")
        }
    }

    @Test("a wrong token, a server that is away, and what Herald refuses are different errors")
    func failures() async throws {
        let svix = try await Foreign("svix", "1", "3", "ftp://receiver.example/")
        let herald = try await HeraldProcess.start()
        let server = herald.url
        _ = try svix.folder.write("another-token-than-the-one", to: "token")
        let wrong = try await Client.run(svix.arguments, server: server)
        #expect(wrong.end == .exited(69) && wrong.text.contains("refuses the token of --token-file"), "\(wrong.text)")
        _ = try svix.folder.write("\(Self.token)\n", to: "token")
        let refused = try await Client.run(svix.arguments, server: server)
        #expect(refused.end == .exited(1), "\(refused.text)")
        #expect(refused.lines.contains("herald: 2 could not be imported."), "\(refused.text)")
        #expect(refused.text.contains("delegate ftp://receiver.example/: "), "\(refused.text)")
        // The others came.
        #expect(
            refused.lines.contains("Created the delegate http://LocalHost:80/2 of the app tenant-0."), "\(refused.text)"
        )
        let none = try await Client.run(["import", "svix"], server: server)
        #expect(none.end == .exited(64) && none.text.contains("--from URL and --token-file FILE are needed"))
    }
}
