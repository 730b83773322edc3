import Foundation
import HeraldJSON
import Testing

/// The official JSON-Schema-Test-Suite, as the source package of `jsonschema` from PyPI contains it; `script/bootstrap`
/// puts it below HERALD_VENV.
@Suite("The official suite of JSON Schema", .timeLimit(.minutes(20)))
struct OfficialSuiteTests {
    private static let folder = getenv("HERALD_VENV").map { String(cString: $0) + "/json-schema-test-suite/tests" }

    private struct Tally {
        var right = 0
        var refused = 0
        var wrong: [String] = []
    }

    /// References to other documents and dialects of other documents are refused.
    @Test(
        "is decided right, or refused with a reason",
        .enabled(if: folder.map(FileManager.default.fileExists(atPath:)) ?? false),
        arguments: [("draft2020-12", 49), ("draft2019-09", 40), ("draft7", 27)])
    func suite(draft: String, mostRefused: Int) throws {
        let folder = try #require(Self.folder) + "/" + draft
        var tally = Tally()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() where name.hasSuffix(".json") {
            let text = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
            let groups = try JSONDocument(parsing: [UInt8](text), limits: JSONLimits(values: .max, keyBytes: 1_024))
            for group in groups.root.elements { try run(group, draft, name, &tally) }
        }
        #expect(tally.wrong == [])
        #expect(tally.right > 800 && tally.refused <= mostRefused, "\(tally.right) right, \(tally.refused) refused")
    }

    private func run(_ group: JSONValue, _ draft: String, _ name: String, _ tally: inout Tally) throws {
        let tests = try #require(group["tests"])
        let schema = try schemaText(try #require(group["schema"]), draft)
        var budget = WorkBudget()
        let document = try JSONDocument(parsing: schema, limits: JSONLimits(values: .max, keyBytes: 1_024))
        guard let compiled = try? JSONSchema(document.root, within: &budget) else {
            tally.refused += tests.count
            return
        }
        for test in tests.elements {
            let data = try JSONDocument(parsing: try #require(test["data"]).bytes)
            var budget = WorkBudget()
            let isValid = compiled.violations(of: data.root, within: &budget).isEmpty
            if isValid == test["valid"]?.bool {
                tally.right += 1
            } else {
                let words = [name, group["description"]?.string, test["description"]?.string].compactMap { $0 }
                tally.wrong.append(words.joined(separator: ": "))
            }
        }
    }

    /// The schema, which names its dialect.
    private func schemaText(_ schema: JSONValue, _ draft: String) throws -> [UInt8] {
        guard schema.kind == .object, schema["$schema"] == nil, draft == "draft7" else { return schema.bytes }
        let dialect = ##""$schema":"http://json-schema.org/draft-07/schema#""##
        let members = schema.bytes.dropFirst()
        return Array((schema.count == 0 ? "{\(dialect)" : "{\(dialect),").utf8) + members
    }
}
