import Foundation
import HeraldJSON
import HeraldTestSupport
import Testing

/// The files of the clone that the tests were built in.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// README.md and all pages of Documentation, as paths from the root.
    static func pages() throws -> [String] {
        let inFolder = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: "Documentation").path)
        return ["README.md"] + inFolder.filter { $0.hasSuffix(".md") }.map { "Documentation/" + $0 }.sorted()
    }

    /// `openapi.json`, which `script/openapi` makes of `openapi.yaml`.
    static func specification() throws -> JSONDocument {
        let text = try text("Sources/HeraldAPI/Server/openapi.json")
        return try JSONDocument(parsing: text, limits: JSONLimits(values: 100_000))
    }

    /// A file of YAML, as JSON. Needs the tools of `script/requirements.txt`.
    static func yaml(_ path: String) async throws -> JSONDocument { try await json(ofYAML: text(path)) }

    static func json(ofYAML yaml: String) async throws -> JSONDocument {
        let venv = try #require(getenv("HERALD_VENV").map { String(cString: $0) })
        let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))"
        let json = try await ChildProcess.run(venv + "/bin/python3", ["-c", script], input: Array(yaml.utf8))
        return try JSONDocument(parsing: json.text)
    }
}

/// The code blocks of a Markdown text, in order.
struct CodeBlock {
    let language: String
    let text: String

    static func all(in markdown: some StringProtocol) -> [CodeBlock] {
        var blocks: [CodeBlock] = []
        var open: (language: String, lines: [Substring])?
        for line in markdown.split(separator: "\n", omittingEmptySubsequences: false) {
            if let block = open {
                if line == "```" {
                    blocks.append(CodeBlock(language: block.language, text: block.lines.map { $0 + "\n" }.joined()))
                    open = nil
                } else {
                    open?.lines.append(Substring(line))
                }
            } else if line.hasPrefix("```") {
                open = (String(line.dropFirst(3)), [])
            }
        }
        return blocks
    }
}

extension String {
    /// The headings of the second level.
    var headings: [String] {
        split(separator: "\n").filter { $0.hasPrefix("## ") }.map { String($0.dropFirst(3)) }
    }

    /// The text between two headings of the second level.
    func section(_ heading: String) -> Substring? {
        guard let start = range(of: "\n## \(heading)\n") else { return nil }
        let rest = self[start.upperBound...]
        return rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
    }
}
