import Glibc
import HeraldTestSupport
import Testing

@Suite("The scripts of a clone", .timeLimit(.minutes(20)))
struct BuildScriptTests {
    private static let script = #filePath.replacing("Tests/EndToEndTests/BuildScriptTests.swift", with: "script/build")

    /// README starts the server and the receiver in two terminals: each of them builds first.
    @Test("of two builds of a clone at once, the second one waits for the first, and has nothing left to do")
    func builds() async throws {
        let clone = TemporaryFolder()
        _ = try clone.write("", to: "Package.swift")
        for folder in ["script", "Sources", "tools"] { try #require(mkdir(clone.path + "/" + folder, 0o700) == 0) }
        let build = try clone.write(String(decoding: Files.read(Self.script), as: UTF8.self), to: "script/build")
        let compiler = try clone.write(
            """
            #!/bin/sh
            echo compiling
            read -r line < gate
            mkdir -p .build/release
            touch .build/release/herald
            chmod +x .build/release/herald

            """, to: "tools/swift")
        try #require(chmod(compiler, 0o700) == 0 && mkfifo(clone.path + "/gate", 0o600) == 0)
        let path = "\(clone.path)/tools:/usr/bin:/bin"
        let first = try ChildProcess("bash", [build], environment: ["PATH": path])
        try await eventually("the first one compiles") { first.lines.contains("compiling") }
        let second = try ChildProcess("bash", [build], environment: ["PATH": path])
        try await eventually("the second one waits") { second.text.contains("waits for another build") }
        _ = try clone.write("go\n", to: "gate")
        #expect(try await first.ended() == .exited(0))
        #expect(try await second.ended() == .exited(0))
        #expect(!second.lines.contains("compiling"))
    }
}
