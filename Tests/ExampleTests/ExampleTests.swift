import Foundation
import HeraldTestSupport
import Testing

/// The examples print the output that `Examples/README.md` shows.
@Suite("The examples", .timeLimit(.minutes(20)))
struct ExampleTests {
    /// The folder with the built programs: that of the tests.
    private static let programs = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test(
        "print what Examples/README.md says",
        arguments: ["DispatchSystem", "MirrorDrawing", "AppStates", "LoginObservers", "EmbeddedHub"])
    func output(_ name: String) async throws {
        let (end, text) = try await ChildProcess.run(Self.programs.appending(path: name).path)
        #expect(end == .exited(0))
        #expect(text == (try Self.shown(name)))
    }

    @Test("publish a login to Herald when the sign-up form is done")
    func signUpForm() async throws {
        let folder = TemporaryFolder()
        let herald = try ChildProcess(
            ProcessInfo.processInfo.environment["HERALD_BINARY"] ?? Self.programs.appending(path: "herald").path,
            ["serve", "--listen", "127.0.0.1:0", "--data", folder.path + "/data", "--log-format", "json"])
        defer { herald.signal(SIGKILL) }
        let address = try await eventually("herald listens") {
            herald.text.firstMatch(of: #/"address":"(http:[^"]+)"/#).map { String($0.1) }
        }
        let (end, text) = try await ChildProcess.run(
            Self.programs.appending(path: "SignUpForm").path, [address], input: Array("Ada\n\npro\n".utf8))
        #expect(end == .exited(0))
        #expect(text == (try Self.shown("SignUpForm")))
        herald.signal(SIGTERM)
        try await herald.ended()
    }

    @Test("a server with a hub inside takes orders, and calls the webhook of a partner")
    func orderServer() async throws {
        let folder = TemporaryFolder()
        let receiver = try Receiver()
        defer { receiver.close() }
        let url = receiver.url("/hook")
        // The page names a port; the receiver has one that is free.
        let (requests, shown) = try Self.blocks("OrderServer")
        let (end, text) = try await ChildProcess.run(
            Self.programs.appending(path: "OrderServer").path, [folder.path],
            input: Array(requests.replacing("http://127.0.0.1:9000/hook", with: url).utf8))
        #expect(end == .exited(0), "\(text)")
        #expect(text.replacing(url, with: "http://127.0.0.1:9000/hook") == shown)
        #expect(await receiver.requests(1)[0].text.contains(#""type":"order.placed""#))

        // The mailer continues where it stopped.
        let (again, more) = try await ChildProcess.run(
            Self.programs.appending(path: "OrderServer").path, [folder.path],
            input: Array(#"POST /orders {"id": 1003, "total": 1}"#.utf8))
        #expect(again == .exited(0), "\(more)")
        #expect(more.contains("Mail: Thank you for order 1003") && !more.contains("order 1001"))
    }

    @Test("a command-line tool keeps its tasks in a log")
    func taskList() async throws {
        let folder = TemporaryFolder()
        let program = Self.programs.appending(path: "TaskList").path
        let (session, _) = try Self.blocks("TaskList", language: "console")
        var lines: [String] = []
        for line in session.split(separator: "\n") where line.hasPrefix("$ ") {
            let words = line.split(separator: "'").enumerated().flatMap { index, part in
                index % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
            }
            #expect(words.starts(with: ["$", "swift", "run", "TaskList", "tasks"]))
            let (_, output) = try await ChildProcess.run(program, [folder.path + "/tasks"] + words.dropFirst(5))
            lines += ["\(line)", output].filter { !$0.isEmpty }
        }
        #expect(lines.joined(separator: "\n") == session)
    }

    @Test("report when Herald is not running")
    func noHerald() async throws {
        // Port 9 is discard: nothing listens there.
        let (end, text) = try await ChildProcess.run(
            Self.programs.appending(path: "SignUpForm").path, ["http://127.0.0.1:9"], input: Array("Ada\npro\n".utf8))
        #expect(end == .exited(1))
        #expect(text.contains("Herald at http://127.0.0.1:9 can't be reached"))
    }

    @Test("contain the code of the article about Herald")
    func article() throws {
        let article = try String(
            contentsOf: Self.root.appending(path: "Sources/Delegation/Delegation.docc/FromDelegateToWebhook.md"),
            encoding: .utf8)
        let example = try String(
            contentsOf: Self.root.appending(path: "Examples/EmbeddedHub/main.swift"), encoding: .utf8)
        let blocks = article.components(separatedBy: "\n```swift\n").dropFirst()
        #expect(!blocks.isEmpty)
        for block in blocks {
            let code = try #require(block.components(separatedBy: "\n```").first)
            #expect(example.contains(code))
        }
    }

    /// The first block of text below the example's heading.
    private static func shown(_ name: String) throws -> String { try blocks(name).first }

    /// The first two blocks of this language below the example's heading. The second one is empty if there is none.
    private static func blocks(_ name: String, language: String = "text") throws -> (first: String, second: String) {
        let readme = try String(contentsOf: root.appending(path: "Examples/README.md"), encoding: .utf8)
        let section = try #require(
            readme.components(separatedBy: "\n## \(name)\n").dropFirst().first?.components(separatedBy: "\n## ").first)
        let blocks = try section.components(separatedBy: "\n```\(language)\n").dropFirst().map {
            try #require($0.components(separatedBy: "\n```").first)
        }
        return (try #require(blocks.first), blocks.count > 1 ? blocks[1] : "")
    }
}
