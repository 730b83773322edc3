import Foundation
import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

/// Runs the first steps of README.md word for word, in a folder of its own, then those that other pages add to them, and compares
/// the output.
///
/// The text differs from what runs in three points. `script/server` and `script/receiver` run the binary of `HERALD_BINARY`. If the port 8080
/// or 9000 is in use, another port replaces it everywhere in the text. Ids, secrets and times are masked, and the lines of an output may
/// have another order, because callbacks have none.
@Suite("The first steps of README.md", .timeLimit(.minutes(20)), .serialized, .enabled(if: Shell.herald != nil))
struct QuickStartTests {
    @Test("its commands have the output that is shown, and so have the steps of other pages")
    func firstSteps() async throws {
        let ports = [(8080, try freePort(8080)), (9000, try freePort(9000))]
        let blocks = CodeBlock.all(in: try Self.text(of: .firstSteps, ports))
        let further = try Self.steps(of: ShellSection.furtherSteps, ports)
        let kill = try Self.steps(of: [.killTheServer], ports)
        #expect(further.count == 4 && kill.count == 3)
        let folder = TemporaryFolder()
        try prepare(folder.path)
        // An output of an earlier run has no effect.
        try "listening".write(toFile: folder.path + "/received.log", atomically: true, encoding: .utf8)

        let programs = try start(try #require(blocks.first { $0.language == "console" }), in: folder.path, ports[0].1)
        #expect(programs.count == 2)
        do {
            for program in programs {
                try await eventually("a program listens") { program.text.contains("listening") }
            }
            let receiver = try #require(programs.last)
            let curl = try #require(blocks.first { $0.language == "sh" }).text
            let answer = try await Shell.run(curl, in: folder.path)
            #expect(answer.status == 0, "\(answer.errors)")
            #expect(answer.output.contains("\"id\":\"order-1\""), "\(answer.output)")
            let shown = Self.comparable(try #require(blocks.first { $0.language == "text" }).text)
            try await eventually("the receiver prints \(shown)") {
                Self.comparable(receiver.text) == shown
            }
            try await run(further, in: folder.path, port: ports[0].1)
        } catch {
            for program in programs { program.signal(SIGKILL) }
            throw error
        }
        for program in programs {
            program.signal(SIGINT)
            try await program.ended()
        }
        try await run(kill, in: folder.path, port: ports[0].1)
    }

    @Test(
        "with the programs of compose.yaml they have the same output",
        .enabled("needs the tools of script/requirements.txt") { getenv("HERALD_VENV") != nil })
    func compose() async throws {
        let ports = [(8080, try freePort(8080)), (9000, try freePort(9000))]
        let blocks = CodeBlock.all(in: try Self.text(of: .firstSteps, ports))
        let services = try #require(try await Repository.yaml("compose.yaml")["services"])
        let folder = TemporaryFolder()
        // As the image sets them.
        var environment = ["HERALD_LISTEN": "0.0.0.0:\(ports[0].1)", "HERALD_DATA": folder.path + "/data"]
        let own = try #require(services["herald"]?["environment"])
        for (name, value) in own.members { environment[name] = value.string }
        let command = try #require(services["receiver"]?["command"]).elements.compactMap(\.string)
        let herald = try #require(Shell.herald)
        let programs = [
            try ChildProcess(herald, ["serve"], environment: environment),
            try ChildProcess(herald, command.map { $0.replacing("9000", with: "\(ports[1].1)") }),
        ]
        defer { for program in programs { program.signal(SIGKILL) } }
        for program in programs {
            try await eventually("a program listens") { program.text.contains("listening") }
        }
        let answer = try await Shell.run(try #require(blocks.first { $0.language == "sh" }).text, in: folder.path)
        #expect(answer.status == 0 && answer.output.contains("\"id\":\"order-1\""), "\(answer.errors)")
        let shown = Self.comparable(try #require(blocks.first { $0.language == "text" }).text)
        try await eventually("the receiver prints \(shown)") { Self.comparable(programs[1].text) == shown }
    }

    @Test(
        "the containers of Herald have no rights that it does not need",
        .enabled("needs the tools of script/requirements.txt") { getenv("HERALD_VENV") != nil },
        arguments: ["compose.yaml", "deploy/compose.yaml"])
    func rights(path: String) async throws {
        let services = try #require(try await Repository.yaml(path)["services"])
        let own = services.members.filter { $0.value["image"]?.string == "herald" }
        #expect(own.count == 2)
        #expect(own.filter { $0.value["build"] != nil }.count == 1, "two builds at once of one image fail")
        for (name, service) in own {
            #expect(service["read_only"]?.bool == true, "\(name)")
            #expect(service["cap_drop"]?.elements.map(\.string) == ["ALL"], "\(name)")
            #expect(service["security_opt"]?.elements.map(\.string) == ["no-new-privileges:true"], "\(name)")
        }
    }

    @Test("a condition that never becomes true is reported, and the waiting ends")
    func failures() async throws {
        let loops = try Self.steps(of: [.killTheServer]).map(\.script).filter { $0.contains("until ") }
        #expect(loops.count == 2)
        let folder = TemporaryFolder()
        try prepare(folder.path, program: "/bin/false")
        // `sleep` is shortened, so that no loop takes long.
        let script = loops.joined().replacing("kill $server $receiver\n", with: "")
        let answer = try await Shell.run("sleep() { command sleep 0.01; }\n" + script, in: folder.path)
        #expect(answer.status == 0, "\(answer.errors)")
        #expect(
            answer.output.split(separator: "\n") == [
                "A program has ended: see herald.log, and the lines above.",
                "Events are missing after 30 seconds: see herald.log.",
            ], "\(answer.errors)")
    }

    /// Starts the programs of a block: one for each line with a prompt.
    private func start(_ block: CodeBlock, in folder: String, _ port: UInt16) throws -> [ChildProcess] {
        try block.text.split(separator: "\n").map { line in
            let words = line.prefix { $0 != "#" }.split(separator: " ").map(String.init)
            try #require(words.count >= 2 && words[0] == "$")
            // By the shell: a file that was just written may still be open in a process that another test starts.
            return try ChildProcess(
                "sh", [folder + "/" + words[1]] + words.dropFirst(2),
                environment: ["HERALD_LISTEN": "127.0.0.1:\(port)", "HERALD_DATA": folder + "/herald-data"])
        }
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

    /// - Parameter ports: the ports in the pages, and their replacements.
    private static func steps(of sections: [ShellSection], _ ports: [(Int, UInt16)] = []) throws -> [Step] {
        try sections.flatMap { Step.all(in: CodeBlock.all(in: try text(of: $0, ports))) }
    }

    private static func text(of section: ShellSection, _ ports: [(Int, UInt16)]) throws -> Substring {
        ports.reduce(try section.text()) { $0.replacing("\($1.0)", with: "\($1.1)")[...] }
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
        guard let (socket, port) = try? listenOnLoopback("127.0.0.1", wanted) else { return try unusedPort() }
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
