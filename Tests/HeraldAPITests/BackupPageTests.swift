import Foundation
import HeraldTestSupport
import Testing

/// Runs the commands of Documentation/guide/backup.md word for word, in one shell, and compares what is printed.
@Suite("Documentation/guide/backup.md", .enabled(if: Shell.herald != nil))
struct BackupPageTests {
    @Test("its commands do what is shown", .timeLimit(.minutes(20)))
    func commands() async throws {
        let herald = try #require(Shell.herald)
        let folder = TemporaryFolder()
        var script = """
            herald() { '\(herald)' "$@"; }
            '\(herald)' serve --listen 127.0.0.1:0 --data herald-data --log-format json 2>log & server=$!
            until grep -q '"listening"' log; do sleep 0.05; done
            HERALD_SERVER=$(sed -n 's/.*"message":"listening".*"address":"\\([^"]*\\)".*/\\1/p' log) herald publish order.paid >/dev/null

            """
        var expected: [String] = []
        for section in ShellSection.backup {
            for block in CodeBlock.all(in: try section.text()) {
                switch block.language {
                case "sh": script += block.text
                case "": expected.append(block.text)
                default: break
                }
            }
        }
        let answer = try await Shell.run(script, in: folder.path)
        #expect(answer.status == 0, "\(answer.errors)")
        #expect(Self.comparable(answer.output) == Self.comparable(expected.joined()))
    }

    /// Sizes are those of the version.
    private static func comparable(_ output: String) -> [String] {
        output.split(separator: "\n").map { String($0).replacing(#/[0-9]+ bytes/#, with: "… bytes") }
    }
}
