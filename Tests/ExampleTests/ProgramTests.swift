import Foundation
import HeraldTestSupport
import Testing

/// Behavior that depends on the start of a program, and on its thread. The programs are in `Tests/Programs`.
@Suite("Delegates in a program", .timeLimit(.minutes(20)))
struct ProgramTests {
    private static let programs = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    @Test(
        "of the main actor are called on it alone, also when the main thread has ended",
        arguments: ["AsyncMain", "DispatchMain"])
    func mainActor(_ name: String) async throws {
        let (end, text) = try await ChildProcess.run(Self.programs.appending(path: name).path)
        #expect(end == .exited(0))
        #expect(text.contains("all calls were made on the main actor"), "\(text)")
    }

    @Test("that name no actor are called while the main thread is blocked")
    func topLevel() async throws {
        let (end, text) = try await ChildProcess.run(Self.programs.appending(path: "TopLevel").path)
        #expect(end == .exited(0))
        #expect(text.contains("all were notified while the main thread waited"), "\(text)")
    }
}
