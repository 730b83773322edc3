import Foundation
import HeraldJSON
import HeraldModel
import Testing

@testable import HeraldCLI

@Suite("README.md and Documentation say what is so", .timeLimit(.minutes(20)))
struct ReadmeTests {
    @Test("the table of the configuration equals the one that the help is made from")
    func configuration() throws {
        // `herald help table` prints what belongs there.
        #expect(try table(of: "Documentation/reference/configuration.md") == Help.table)
    }

    @Test("the Swift example is the code that these tests run")
    func embedding() async throws {
        let page = try Repository.text("Documentation/guide/swift.md")
        let shown = try #require(CodeBlock.all(in: page).first { $0.language == "swift" })
        #expect(try Repository.text("Tests/HeraldAPITests/EmbeddingExample.swift") == shown.text)
    }

    @Test("the openssl example prints the documented signature")
    func signature() async throws {
        let blocks = CodeBlock.all(in: try ShellSection.signature.text())
        let index = try #require(blocks.firstIndex { $0.language == "sh" })
        let answer = try await Shell.run(blocks[index].text, in: FileManager.default.temporaryDirectory.path)
        #expect(answer.status == 0, "\(answer.errors)")
        #expect(answer.output == blocks[index + 1].text)
    }

    @Test("the metrics table lists the metrics of the server")
    func metrics() async throws {
        let table = try table(of: "Documentation/reference/metrics.md")
        #expect(MetricsFixture.names(in: table) == (try await MetricsFixture.metrics()))
    }

    @Test("every block of shell is run by a test")
    func shellBlocks() throws {
        var found: Set<ShellSection> = []
        for page in try Repository.pages() {
            let text = try Repository.text(page)
            let blocks = CodeBlock.all(in: text).count { $0.language == "sh" }
            let sections = text.headings.filter { heading in
                text.section(heading).map { CodeBlock.all(in: $0).contains { $0.language == "sh" } } ?? false
            }
            found.formUnion(sections.map { ShellSection(page, $0) })
            let inSections = sections.compactMap(text.section).flatMap { CodeBlock.all(in: $0) }
            #expect(inSections.count { $0.language == "sh" } == blocks, "\(page): each stands below a heading")
        }
        // Other commands are shown as `console`, with their prompts.
        let run =
            [.firstSteps, .killTheServer, .signature] + ShellSection.furtherSteps + ShellSection.backup
            + ShellSection.move
            + ShellSection.pull
        #expect(found == Set(run))
    }

    @Test("every herald command that is shown exists, with its flags")
    func commands() throws {
        func check(_ block: CodeBlock, of page: String) {
            for arguments in block.heraldCommands {
                do throws(CommandError) {
                    _ = try CommandParser.parse(arguments)
                } catch {
                    Issue.record("\(page): herald \(arguments.joined(separator: " ")): \(error.description)")
                }
            }
        }
        var count = 0
        for page in try Repository.pages() {
            for block in CodeBlock.all(in: try Repository.text(page)) where block.language == "console" {
                count += block.heraldCommands.count
                check(block, of: page)
            }
        }
        #expect(count >= 8)
        var commands = Command.all
        while let command = commands.popLast() {
            commands += command.commands
            let examples = command.examples.map { "$ \($0)\n" }.joined()
            check(CodeBlock(language: "console", text: examples), of: "the help of \(command.name)")
        }
    }

    @Test("the version is the same in the program, the API description and the change log")
    func version() throws {
        let version = heraldVersion
        #expect(try Repository.specification()["info"]?["version"]?.string == version)
        let repeated = try Repository.text("openapi.yaml").matches(of: #/(?:Herald\/|version: )(\d+\.\d+\.\d+(-dev)?)/#)
        #expect(repeated.count >= 2 && repeated.allSatisfy { $0.1 == version })
        let changes = try Repository.text("CHANGELOG.md").headings
        #expect(changes.first == "[Unreleased]")
        let parts = version.split(separator: "-")
        if parts.count == 1 {
            #expect(changes.dropFirst().first?.hasPrefix("[\(version)]") == true)
        } else {
            // A version in development has no section of its own.
            #expect(parts.count == 2 && parts[1] == "dev")
            #expect(!changes.contains { $0.hasPrefix("[\(parts[0])]") })
        }
        let numbers = parts[0].split(separator: ".")
        #expect(numbers.count == 3 && numbers.allSatisfy { UInt($0) != nil })
    }

    private func table(of page: String) throws -> String {
        try Repository.text(page).split(separator: "\n").filter { $0.hasPrefix("|") }.joined(separator: "\n")
    }
}

/// A section of a page whose blocks of shell a test runs.
struct ShellSection: Hashable, CustomStringConvertible {
    /// Run word for word by `QuickStartTests`, which starts the two programs itself.
    static let firstSteps = ShellSection("README.md", "Try it")
    /// `MovingPageTests` runs them.
    static let move = ["Import", "Switch the publisher"].map {
        ShellSection("Documentation/guide/moving-from-svix.md", $0)
    }
    /// Run after them, one after the other in one shell, and compared with the output that is shown.
    static let furtherSteps = [
        ShellSection("Documentation/guide/receivers.md", "Register a webhook"),
        ShellSection("Documentation/guide/senders.md", "Follow an event"),
        ShellSection("Documentation/guide/receivers.md", "The feed"),
    ]
    /// Run last, without the two programs.
    static let killTheServer = ShellSection("Documentation/reliability.md", "Try it: kill the server")
    /// Run by `BackupPageTests`, in this order.
    static let backup = [
        "Make a backup", "Restore", "Upgrade", "Go back", "A full disk", "A damaged file", "Move to another machine",
    ].map { ShellSection("Documentation/guide/backup.md", $0) }
    /// Run by `PullTests`, one after the other in one shell.
    static let pull = ["Pull and acknowledge", "A program for each event", "Move the position"].map {
        ShellSection("Documentation/guide/pull.md", $0)
    }
    static let signature = ShellSection("Documentation/guide/receivers.md", "Verify the signature")

    let page: String
    let heading: String

    var description: String { "\(page), \(heading)" }

    init(_ page: String, _ heading: String) {
        self.page = page
        self.heading = heading
    }

    func text() throws -> Substring { try #require(try Repository.text(page).section(heading), "\(self)") }
}

extension CodeBlock {
    /// The arguments of each command `herald` at a prompt, without what the shell does with its input and output.
    fileprivate var heraldCommands: [[String]] {
        text.replacing("\\\n", with: " ").split(separator: "\n").compactMap { line in
            guard line.hasPrefix("$ herald ") else { return nil }
            return words(of: line.dropFirst("$ herald ".count))
        }
    }

    private func words(of line: Substring) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            if let open = quote {
                if character == open { quote = nil } else { word?.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " {
                if let word { words.append(word) }
                word = nil
            } else if "|<>".contains(character) {
                break
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + [word].compactMap { $0 }
    }
}
