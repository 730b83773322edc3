import Foundation
import Testing

@testable import HeraldCLI

@Suite("README.md says what is so")
struct ReadmeTests {
    private let readme: String

    init() throws { readme = try Repository.text("README.md") }

    @Test("the table of the configuration is the one that the help is made of")
    func configuration() throws {
        let section = try #require(readme.section("Configuration"))
        let table = section.split(separator: "\n").filter { $0.hasPrefix("|") }.joined(separator: "\n")
        // `herald help table` prints what belongs there.
        #expect(table == Help.table)
    }

    @Test("the Swift example is the code that these tests run")
    func embedding() async throws {
        let section = try #require(readme.section("As a Swift library"))
        let shown = try #require(CodeBlock.all(in: section).first { $0.language == "swift" })
        #expect(try Repository.text("Tests/HeraldAPITests/EmbeddingExample.swift") == shown.text)
    }

    @Test("the signature by openssl comes out as shown")
    func signature() async throws {
        let blocks = CodeBlock.all(in: try #require(readme.section("Verifying a signature")))
        let index = try #require(blocks.firstIndex { $0.language == "sh" })
        let answer = try await Shell.run(blocks[index].text, in: FileManager.default.temporaryDirectory.path)
        #expect(answer.status == 0, "\(answer.errors)")
        #expect(answer.output == blocks[index + 1].text)
    }

    @Test("the metrics are those that the server has")
    func metrics() async throws {
        let section = try #require(readme.section("Metrics"))
        let table = section.split(separator: "\n").filter { $0.hasPrefix("|") }.joined()
        #expect(MetricsFixture.names(in: table) == (try await MetricsFixture.metrics()))
    }
}
