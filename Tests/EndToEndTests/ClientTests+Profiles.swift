import Foundation
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The command line: profiles, examples, nodes and storage", .timeLimit(.minutes(20)))
struct ClientProfileTests {
    /// Runs a command as a user with this home folder.
    private static func run(
        _ home: TemporaryFolder, _ arguments: String..., variables: [String: String] = [:], input: String = ""
    ) async throws -> Client.Result {
        var environment = ["HOME": home.path, "XDG_CONFIG_HOME": ""]
        environment.merge(variables) { $1 }
        let result = try await ChildProcess.run(
            try Binary.path(), arguments, environment: environment, input: Array(input.utf8))
        return Client.Result(end: result.end, text: result.text)
    }

    @Test("login stores a server and its key for the user alone, and later commands use them")
    func login() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let (home, server) = (TemporaryFolder(), herald.url)
        let wrong = try await Self.run(home, "login", "--server", server, input: "hrld_wrong_wrong_wrong\n")
        #expect(wrong.end == .exited(1) && wrong.text.contains("does not accept the key"), "\(wrong.text)")
        let none = try await Self.run(home, "login", "--server", server, input: "\n")
        #expect(none.end == .exited(1) && none.text.contains("requires an access key"), "\(none.text)")
        let file = home.path + "/.config/herald/config"
        #expect(!FileManager.default.fileExists(atPath: file))

        let stored = try await Self.run(home, "login", "--server", server + "/", input: MadeKey.admin.text + "\n")
        #expect(
            stored.end == .exited(0) && stored.text.contains("\"default\" (app default, scopes: "), "\(stored.text)")
        #expect(!stored.text.contains(MadeKey.admin.text))
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try await Self.run(home, "keys", "list").end == .exited(0))
        #expect(try await Self.run(home, "keys", "list", "--profile", "default").end == .exited(0))
        let shown = try await Self.run(home, "keys", "show")
        #expect(shown.end == .exited(0) && shown.text.contains("default"), "\(shown.text)")
        #expect(shown.text.contains("admin") && !shown.text.contains(MadeKey.admin.text), "\(shown.text)")
        let other = try await Self.run(home, "keys", "show", variables: ["HERALD_KEY": "hrld_wrong_wrong_wrong"])
        #expect(other.end == .exited(1) && other.text.contains("does not accept the key"), "\(other.text)")

        // The key goes to no other server.
        let receiver = try Receiver()
        _ = try await Self.run(home, "keys", "list", "--server", receiver.url())
        _ = try await Self.run(home, "keys", "list", variables: ["HERALD_SERVER": receiver.url()])
        #expect(await receiver.requests(2).allSatisfy { $0.header("authorization") == nil })
        let both = try await Self.run(home, "keys", "list", "--profile", "default", "--server", server)
        #expect(both.end == .exited(64) && both.text.contains("--profile and --server"), "\(both.text)")

        chmod(file, 0o644)
        let open = try await Self.run(home, "keys", "list")
        #expect(open.end == .exited(66) && open.text.contains("chmod 600"), "\(open.text)")
        chmod(file, 0o600)
        let removed = try await Self.run(home, "logout")
        #expect(removed.text.hasPrefix("Removed the profile \"default\". Its key is still valid"), "\(removed.text)")
        #expect(try await Self.run(home, "logout").end == .exited(1))
    }

    @Test("several profiles are kept apart, and a name or a file that is none is refused")
    func names() async throws {
        let (one, two) = (try await HeraldProcess.start(), try await HeraldProcess.start())
        let home = TemporaryFolder()
        for (name, herald) in [("one", one), ("two", two)] {
            let server = herald.url
            let stored = try await Self.run(home, "login", "--server", server, "--profile", name)
            #expect(stored.text.contains("without a key"), "\(stored.text)")
        }
        _ = try await Self.run(home, "publish", "a.b", "--profile", "two")
        #expect(try await Self.run(home, "events", "list", variables: ["HERALD_PROFILE": "two"]).lines.count == 2)
        #expect(try await Self.run(home, "events", "list", "--profile", "one").text == "No events.")
        // There is no key to revoke.
        #expect(try await Self.run(home, "logout", "--profile", "two").text == "Removed the profile \"two\".")
        let unknown = try await Self.run(home, "events", "list", "--profile", "three")
        #expect(unknown.end == .exited(64) && unknown.text.contains("herald login --profile three"), "\(unknown.text)")
        let description = try await Self.run(home, "openapi", "--profile", "three")
        #expect(description.end == .exited(64), "\(description.text)")
        for name in ["", "a b", "../x", String(repeating: "n", count: 65)] {
            let refused = try await Self.run(home, "login", "--profile=\(name)")
            #expect(refused.end == .exited(64), "\(refused.text)")
        }
        let file = home.path + "/.config/herald/config"
        for content in ["", "{", "[]", "{\"one\": 1}"] {
            try content.write(toFile: file, atomically: false, encoding: .utf8)
            let result = try await Self.run(home, "events", "list", "--profile", "one")
            #expect(result.end == .exited(65) || result.end == .exited(64), "\(content): \(result.text)")
        }
    }

    @Test("open prints a link that signs in with an admin key, and the address of the server otherwise")
    func open() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let (home, server) = (TemporaryFolder(), herald.url)
        let variables = ["HERALD_SERVER": server, "HERALD_KEY": MadeKey.admin.text]
        let link = try await Self.run(home, "open", variables: variables)
        #expect(link.end == .exited(0) && link.text.hasPrefix(server + "/") && link.text.contains("#"), "\(link.text)")
        let plain = try await Self.run(home, "open", variables: ["HERALD_SERVER": server])
        #expect(plain.end == .exited(0) && plain.text == server + "/", "\(plain.text)")
        let json = try await Self.run(home, "open", "--json", variables: ["HERALD_SERVER": server])
        #expect(try json.document().text("url") == server + "/", "\(json.text)")
    }

    @Test("trigger publishes the example of a type, and says what is missing without one")
    func trigger() async throws {
        let receiver = try Receiver()
        let client = Client(try await HeraldProcess.start())
        _ = try await client.herald.register(receiver.url())
        let missing = try await client.run("trigger", "order.paid")
        #expect(missing.end == .exited(1), "\(missing.text)")
        _ = try await client.run("event-types", "set", "order.paid", "--description", "Paid")
        let empty = try await client.run("trigger", "order.paid")
        #expect(empty.end == .exited(1) && empty.text.contains("has no example"), "\(empty.text)")
        _ = try await client.run("event-types", "set", "order.paid", "--example", #"{"amount": 12.50}"#)
        let dry = try await client.run("trigger", "order.paid", "--dry-run")
        #expect(dry.text.hasSuffix("1 would receive it, 0 would not."), "\(dry.text)")
        let done = try await client.run("trigger", "order.paid", "--wait", "30", "--subject", "order:1")
        #expect(done.end == .exited(0) && done.text.contains("delivered"), "\(done.text)")
        let body = try #require(await receiver.requests(1).first).body
        #expect(String(decoding: body, as: UTF8.self).contains(#""data":{"amount": 12.50}"#))
    }

    @Test("storage and nodes are shown, for people and as JSON")
    func system() async throws {
        let client = Client(try await HeraldProcess.start())
        let storage = try await client.run("storage")
        for label in ["events and other data  ", "storage works  ", "failed backups since the start  "] {
            #expect(storage.lines.contains { $0.hasPrefix(label) }, "\(storage.text)")
        }
        #expect(try await client.run("storage", "--json").json.count == 1)
        let nodes = try await client.run("nodes", "list")
        #expect(nodes.lines.count == 2 && nodes.lines[0].hasPrefix("ID "), "\(nodes.text)")
        let json = try await client.run("nodes", "list", "--json")
        #expect(try json.document()["present"]?.bool == true)
        #expect(try await client.run("nodes", "moves").end == .exited(0))
    }
}
