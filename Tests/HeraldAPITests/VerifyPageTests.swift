import Foundation
import HeraldTestSupport
import Testing

@Suite("The functions for receivers accept what is signed, and nothing else", .timeLimit(.minutes(20)))
struct VerifyPageTests {
    @Test("each function, in the languages that are installed")
    func functions() async throws {
        let script = Repository.root.appending(path: "Tests/Receivers/verify.py").path
        let all = ["csharp", "go", "java", "js", "php", "python", "ruby", "rust", "swift"]
        // CI has installed all of them.
        let required = getenv("CI") == nil ? ["python"] : all
        let (end, text) = try await ChildProcess.run("python3", ["-B", script, "--require"] + required)
        #expect(end == .exited(0), "\(text)")
    }
}
