import Foundation
import HeraldTestSupport
import Testing

/// What `Examples/README.md` shows is what the examples print.
@Suite("The examples", .timeLimit(.minutes(5)))
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

    @Test("post a login to Herald when the sign-up form is done")
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
    private static func shown(_ name: String) throws -> String {
        let readme = try String(contentsOf: root.appending(path: "Examples/README.md"), encoding: .utf8)
        let section = try #require(readme.components(separatedBy: "\n## \(name)\n").dropFirst().first)
        let block = try #require(section.components(separatedBy: "\n```text\n").dropFirst().first)
        return try #require(block.components(separatedBy: "\n```").first)
    }
}
