import Foundation
import Glibc
import HeraldTestSupport
import Testing

/// Runs the quick start of README.md word for word, in a folder of its own, and compares what is printed: first alone, then
/// with the steps that other pages add to it.
///
/// What the words don't say: `script/server` and `script/receiver` run the binary of `HERALD_BINARY`, and where something else holds one of the
/// ports 8080 and 9000, another one takes its place everywhere in the text. Ids, secrets and times are masked, and the
/// lines of an output may come in another order, since callbacks do.
@Suite("The quick start of README.md", .timeLimit(.minutes(5)), .enabled(if: Shell.herald != nil))
struct QuickStartTests {
    @Test("runs as written, and again with the steps of other pages", .timeLimit(.minutes(5)))
    func quickStart() async throws {
        let ports = [(8080, try freePort(8080)), (9000, try freePort(9000))]
        let quickStart = try Self.steps(of: ShellSection.quickStart, ports)
        let further = try Self.steps(of: ShellSection.furtherSteps, ports)
        #expect(quickStart.count >= 5 && further.count >= 5)

        let folder = TemporaryFolder()
        try prepare(folder.path)
        // What a visitor who started the server before leaves behind: nothing of it may matter.
        try FileManager.default.createDirectory(atPath: folder.path + "/herald-data", withIntermediateDirectories: true)
        for steps in [quickStart, quickStart.dropLast() + further + quickStart.suffix(1)] {
            try await run(steps, in: folder.path, port: ports[0].1)
        }
    }

    @Test("a condition that never becomes true is reported, and the waiting ends", .timeLimit(.minutes(5)))
    func failures() async throws {
        let loops = try Self.steps(of: ShellSection.quickStart + ShellSection.furtherSteps).map(\.script)
            .filter { $0.contains("until ") }
        #expect(loops.count == 4)
        let folder = TemporaryFolder()
        try prepare(folder.path, program: "/bin/false")
        // No output of an earlier run, no delegate, and nobody who sleeps: so no loop takes longer than it must.
        let answer = try await Shell.run(
            "sleep() { command sleep 0.01; }; touch delegate.json\n" + loops.joined(), in: folder.path)
        #expect(answer.status == 0, "\(answer.errors)")
        #expect(
            answer.output.split(separator: "\n") == [
                "The server has ended: herald.log says why.", "The receiver has ended: see above.",
                "They have not arrived in 10 seconds: herald.log may say why.",
                "Not all have arrived in 30 seconds: herald.log may say why.",
            ], "\(answer.errors)")
    }

    private func run(_ steps: [Step], in folder: String, port: UInt16) async throws {
        // A line that no output has, after each step.
        let mark = "--- \(UUID())"
        let answer = try await Shell.run(
            steps.map { $0.script + "echo '\(mark)'\n" }.joined(), in: folder,
            environment: ["HERALD_LISTEN": "127.0.0.1:\(port)"])
        let log = (try? String(contentsOfFile: folder + "/herald.log", encoding: .utf8)) ?? ""
        #expect(answer.status == 0, "\(answer.errors)\(log)")

        let outputs = answer.output.components(separatedBy: mark + "\n")
        #expect(outputs.count == steps.count + 1, "\(answer.output)")
        for (step, output) in zip(steps, outputs) {
            #expect(Self.comparable(output) == Self.comparable(step.output), "after:\n\(step.script)")
        }
    }

    /// - Parameter ports: those that the pages name, and what takes their place.
    private static func steps(of sections: [ShellSection], _ ports: [(Int, UInt16)] = []) throws -> [Step] {
        try sections.flatMap { section in
            let text = ports.reduce(String(try section.text())) { $0.replacing("\($1.0)", with: "\($1.1)") }
            return Step.all(in: CodeBlock.all(in: text))
        }
    }

    private struct Step {
        let script: String
        var output = ""

        /// A block of shell, and the block after it when that is no shell: its output.
        static func all(in blocks: [CodeBlock]) -> [Step] {
            var steps: [Step] = []
            for block in blocks {
                if block.language == "sh" {
                    steps.append(Step(script: block.text))
                } else if !steps.isEmpty {
                    steps[steps.count - 1].output = block.text
                }
            }
            return steps
        }
    }

    private func prepare(_ folder: String, program: String = Shell.herald ?? "") throws {
        let files = FileManager.default
        try files.createDirectory(atPath: folder + "/script", withIntermediateDirectories: true)
        for (script, command) in [("server", "serve"), ("receiver", "receiver")] {
            let path = folder + "/script/" + script
            let text = "#!/bin/sh\nexec '\(program)' \(command) \"$@\"\n"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
    }

    /// The port itself, or another one when it is taken.
    private func freePort(_ wanted: UInt16) throws -> UInt16 {
        let (socket, port) = try (try? listenOnLoopback("127.0.0.1", wanted)) ?? listenOnLoopback()
        close(socket)
        return port
    }

    private static func comparable(_ output: String) -> [String] {
        let masked = output.replacing(#/(evt|dlg|att)_[0-9A-Z]{26}/#) { "\($0.1)_…" }
            .replacing(#/whsec_[A-Za-z0-9+\/=]+/#, with: "whsec_…")
            .replacing(#/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#, with: "…")
        return masked.split(separator: "\n").map(String.init).sorted()
    }
}
