import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

/// Held against `jsonschema` from PyPI, when HERALD_VENV names a Python that has it.
@Suite("JSON Schema and another implementation of it", .timeLimit(.minutes(20)))
struct OracleTests {
    @Test("agree on random schemas and values", .enabled(if: getenv("HERALD_VENV") != nil))
    func agree() async throws {
        let venv = try #require(getenv("HERALD_VENV").map { String(cString: $0) })
        var random = SeededRandom(seed: 20_201_200)
        var cases: [(schema: String, value: String)] = []
        var ours: [Bool] = []
        while cases.count < 3000 {
            // A schema that several places refer to is evaluated once for each value.
            let schema =
                ##"{"$defs":{"a":\##(randomSchema(2, &random)),"b":\##(randomSchema(2, &random))},"##
                + ##""allOf":[\##(randomSchema(3, &random, mayRefer: true))]}"##
            guard let compiled = try? HeraldJSONTests.schema(schema) else { continue }
            for _ in 0..<3 {
                let value = randomValue(3, &random)
                cases.append((schema, value))
                var budget = WorkBudget()
                ours.append(compiled.violations(of: try JSONDocument(parsing: value).root, within: &budget).isEmpty)
            }
        }
        let script = """
            import json, sys
            from jsonschema import Draft202012Validator
            for line in sys.stdin:
                schema, value = json.loads(line)
                print(int(Draft202012Validator(schema).is_valid(value)))
            """
        let input = cases.map { "[\($0.schema),\($0.value)]\n" }.joined()
        let result = try await ChildProcess.run(venv + "/bin/python3", ["-c", script], input: Array(input.utf8))
        let theirs = result.text.split(separator: "\n").map { $0 == "1" }
        try #require(theirs.count == cases.count, "\(result.text.suffix(2000))")
        for (index, example) in cases.enumerated() where ours[index] != theirs[index] {
            Issue.record("\(example.schema) accepts \(example.value): we say \(ours[index])")
        }
        // Neither answer is rare, or there would be nothing to compare.
        #expect((500...2500).contains(ours.filter { $0 }.count))
    }

    private func randomSchema(_ depth: Int, _ random: inout SeededRandom, mayRefer: Bool = false) -> String {
        if mayRefer, random.below(3) == 0 {
            return random.pick([##"{"$ref":"#/$defs/a"}"##, ##"{"$ref":"#/$defs/b"}"##])
        }
        if random.below(10) == 0 || depth == 0 {
            return random.pick(["true", "false", "{}", #"{"type":"integer"}"#, #"{"type":"string"}"#])
        }
        var keywords: [String: String] = [:]
        for _ in 0...random.below(3) {
            let (keyword, value) = randomKeyword(depth - 1, &random, mayRefer)
            keywords[keyword] = value
        }
        if keywords["if"] != nil { keywords["then"] = randomSchema(depth - 1, &random, mayRefer: mayRefer) }
        return "{" + keywords.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
            + "}"
    }

    private func randomKeyword(
        _ depth: Int, _ random: inout SeededRandom, _ mayRefer: Bool
    ) -> (String, String) {
        func randomSchema(_ depth: Int, _ random: inout SeededRandom) -> String {
            self.randomSchema(depth, &random, mayRefer: mayRefer)
        }
        func schemas(_ count: Int) -> String {
            "[" + (0..<count).map { _ in randomSchema(depth, &random) }.joined(separator: ",") + "]"
        }
        func byKey() -> String {
            #"{"a":\#(randomSchema(depth, &random)),"b":\#(randomSchema(depth, &random))}"#
        }
        switch random.below(28) {
        case 0:
            return (
                "type",
                random.pick([
                    #""object""#, #""array""#, #""string""#, #"["integer","null"]"#, #""boolean""#, #""number""#,
                ])
            )
        case 1: return ("enum", "[\(randomValue(1, &random)),\(randomValue(0, &random)),\(randomValue(0, &random))]")
        case 2: return ("const", randomValue(1, &random))
        case 3: return ("properties", byKey())
        case 4:
            return (
                "patternProperties",
                #"{"^a":\#(randomSchema(depth, &random)),"[bc]$":\#(randomSchema(depth, &random))}"#
            )
        case 5: return ("additionalProperties", randomSchema(depth, &random))
        case 6: return ("required", random.pick([#"["a"]"#, #"["a","b"]"#, "[]"]))
        case 7: return ("propertyNames", #"{"maxLength":\#(random.below(3))}"#)
        case 8: return (random.pick(["minProperties", "maxProperties", "minItems", "maxItems"]), "\(random.below(3))")
        case 9: return ("items", randomSchema(depth, &random))
        case 10: return ("prefixItems", schemas(2))
        case 11: return ("contains", randomSchema(depth, &random))
        case 12: return ("minContains", "\(random.below(3))")
        case 13: return ("uniqueItems", "true")
        case 14: return (random.pick(["minimum", "exclusiveMinimum"]), random.pick(["0", "1", "1.5", "-1"]))
        case 15: return (random.pick(["maximum", "exclusiveMaximum"]), random.pick(["1", "2", "2.5"]))
        case 16: return ("multipleOf", random.pick(["1", "2", "0.5"]))
        case 17: return (random.pick(["minLength", "maxLength"]), "\(random.below(3))")
        case 18: return ("pattern", random.pick([#""^a+b?$""#, #""[a-c]{2}""#, #""^(a|é)*$""#, #""\\d""#]))
        case 19: return (random.pick(["allOf", "anyOf", "oneOf"]), schemas(2 + random.below(2)))
        case 20: return ("not", randomSchema(depth, &random))
        case 21: return ("if", randomSchema(depth, &random))
        case 22: return ("dependentRequired", #"{"a":["b"]}"#)
        case 23, 24: return ("unevaluatedProperties", randomSchema(depth, &random))
        case 25, 26: return ("unevaluatedItems", randomSchema(depth, &random))
        default: return ("dependentSchemas", byKey())
        }
    }

    private func randomValue(_ depth: Int, _ random: inout SeededRandom) -> String {
        let scalars = [
            "0", "1", "1.0", "-1", "1.5", "2", "true", "false", "null", #""""#, #""a""#, #""ab""#, #""é""#, #""1""#,
        ]
        guard depth > 0 else { return random.pick(scalars) }
        switch random.below(4) {
        case 0:
            return "[" + (0..<random.below(4)).map { _ in randomValue(depth - 1, &random) }.joined(separator: ",") + "]"
        case 1, 2:
            let keys = ["a", "b", "abc", "d"].filter { _ in random.below(2) == 0 }
            return "{" + keys.map { "\"\($0)\":\(randomValue(depth - 1, &random))" }.joined(separator: ",") + "}"
        default: return random.pick(scalars)
        }
    }
}

extension SeededRandom {
    fileprivate mutating func below(_ bound: Int) -> Int { number(0...bound - 1) }
    fileprivate mutating func pick(_ values: [String]) -> String { values[below(values.count)] }
}
