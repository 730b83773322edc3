import Foundation
import Testing

@Suite("The page about production shows the files of deploy, and texts that Herald has")
struct ProductionPageTests {
    private static let page = "Documentation/guide/production.md"

    @Test("each configuration of a proxy is shown as its file has it")
    func proxies() throws {
        let folder = Repository.root.appending(path: "deploy/proxies").path
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let section = try #require(try Repository.text(Self.page).section("Proxies"))
        let shown = CodeBlock.all(in: section).map(\.text)
        #expect(names.count >= 4)
        for name in names {
            #expect(shown.contains(try Repository.text("deploy/proxies/" + name)), "\(name)")
            #expect(section.contains("`deploy/proxies/\(name)`"), "\(name) is named")
        }
    }

    @Test("fourteen symptoms are listed, with messages that the sources have and alerts that exist")
    func symptoms() throws {
        let section = try #require(try Repository.text(Self.page).section("Troubleshooting"))
        let rows = section.split(separator: "\n").map(String.init).filter { $0.firstMatch(of: #/^\| \d+ \|/#) != nil }
        #expect(rows.count == 14)
        let sources = try Self.sources().lowercased()
        let alerts = try Repository.text("deploy/prometheus/alerts.yaml")
        var count = 0
        for row in rows {
            for span in row.matches(of: #/`([^`]+)`/#).map({ String($0.1) }) {
                // Headers have a hyphen.
                if span.hasPrefix("Herald"), !span.contains("-") {
                    #expect(alerts.contains("alert: \(span)\n"), "\(span)")
                }
                // Messages are sentences: commands, settings and names have less than three words, or begin otherwise.
                guard span.split(separator: " ").count >= 3, !span.hasPrefix("herald "), !span.hasPrefix("systemctl ")
                else {
                    continue
                }
                for part in span.split(separator: "…").map({ $0.trimmingCharacters(in: .whitespaces) })
                where part.count > 3 {
                    count += 1
                    // A reason becomes a sentence in a response.
                    let text = part.lowercased().replacing(#/\.$/#, with: "")
                    #expect(sources.contains(text), "no source has \"\(part)\"")
                }
            }
        }
        #expect(count >= 10)
    }

    @Test("thirty questions link to sections of pages, and README links to the questions")
    func questions() throws {
        let section = try #require(try Repository.text(Self.page).section("Questions"))
        let questions = section.split(separator: "\n").filter { $0.hasPrefix("- ") }
        #expect(questions.count == 30)
        #expect(Set(questions).count == 30)
        // `script/check-links` checks where the links lead.
        for question in questions {
            #expect(question.wholeMatch(of: #/- \[[^\]]+\?\]\([^)\s]+\)/#) != nil, "\(question)")
        }
        #expect(try Repository.text("README.md").contains("(\(Self.page)#questions)"))
    }

    /// The code of Herald, in which strings that are joined by `+` are one.
    private static func sources() throws -> String {
        let folder = Repository.root.appending(path: "Sources").path
        return try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
            .map { try Repository.text("Sources/" + $0) }.joined(separator: "\n")
            .replacing(#/"\s*\+\s*"/#, with: "")
    }
}
