import Glibc
import HeraldReceiver
import HeraldTestSupport
import Testing

/// Runs the commands and programs of `Documentation/guide/moving-from-svix.md`.
@Suite(
    "The guide to a move from Svix", .timeLimit(.minutes(20)),
    .enabled("needs the tools of script/requirements.txt") { getenv("HERALD_VENV") != nil })
struct MovingPageTests {
    /// The blocks of the page, in their order.
    private static func blocks() throws -> [(language: String, text: String)] {
        let root = #filePath.split(separator: "/").dropLast(3).reduce("/") { $0 + $1 + "/" }
        let page = String(decoding: try Files.read(root + "Documentation/guide/moving-from-svix.md"), as: UTF8.self)
        return page.split(separator: "```", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { _, text in
                let language = String(text.prefix { !$0.isNewline })
                return (language, String(text.dropFirst(language.count + 1)))
            }
    }

    @Test(
        "its commands import all endpoints, its programs compare them and publish, and the receiver gets the message once"
    )
    func page() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let venv = try #require(getenv("HERALD_VENV").map { String(cString: $0) })
        let script = #filePath.replacing("EndToEndTests/MovingPageTests.swift", with: "Import/svix_server.py")
        let svix = try ChildProcess(venv + "/bin/python3", ["-B", script, "1", "1", receiver.url("/hook")])
        defer { svix.signal(SIGKILL) }
        let port = try await eventually("the server's port") { svix.lines.first }
        let herald = try await HeraldProcess.start(["--svix-api", "true"], adminKey: MadeKey.admin.text)

        let token = "testsk_a-token-of-a-test-server"
        let folder = TemporaryFolder()
        _ = try folder.write(token + "\n", to: "svix-token")
        let environment = [
            "PATH": folder.path + ":/usr/bin:/bin", "XDG_CONFIG_HOME": "/nonexistent",
            "SVIX_URL": "http://127.0.0.1:\(port)", "SVIX_TOKEN": token,
            "HERALD_SERVER": herald.url, "HERALD_KEY": MadeKey.admin.text,
        ]
        try #require(symlink(try Binary.path(), folder.path + "/herald") == 0)
        var shown = ""
        for block in try Self.blocks() {
            let (program, arguments) =
                block.language == "sh"
                ? ("/bin/sh", ["-ec", "cd '\(folder.path)'\n\(block.text)"])
                : (venv + "/bin/python3", ["-c", block.text])
            let result = try await ChildProcess.run(program, arguments, environment: environment)
            #expect(result.end == .exited(0), "\(block.text): \(result.text)")
            shown += result.text + "\n"
        }
        #expect(shown.contains("Created the delegate \(receiver.url("/hook")) of the app tenant-0."), "\(shown)")
        #expect(shown.contains("tenant-0 is complete"), "\(shown)")
        let requests = await receiver.requests(1)
        let request = try #require(requests.first)
        #expect(requests.count == 1 && request.header("svix-signature") != nil)
        #expect(shown.split(separator: "\n").contains { $0 == request.header("svix-id") ?? "" }, "\(shown)")
    }
}
