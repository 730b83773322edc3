import HeraldJSON
import Testing

@Suite("The cost of a schema")
struct BudgetTests {
    private func list(_ count: Int, _ element: (Int) -> String) -> String {
        (0..<count).map(element).joined(separator: ",")
    }

    private func text(_ piece: String, _ count: Int) -> String { String(repeating: piece, count: count) }

    /// Definitions of which each refers to the next one twice.
    private func doubling(_ keyword: String) -> String {
        let definitions = list(30) {
            let next = ##"{"$ref":"#/$defs/d\##($0 + 1)"}"##
            return "\"d\($0)\":{\"\(keyword)\":[\(next),\(next)]}"
        }
        return ##"{"$defs":{\##(definitions),"d30":{"type":"string"}},"$ref":"#/$defs/d0"}"##
    }

    @Test("definitions that double thirty times cost as much as thirty", arguments: ["allOf", "anyOf", "oneOf"])
    func doubling(keyword: String) throws {
        for value in ["1", "\"a\""] {
            var budget = WorkBudget()
            let found = try violations(doubling(keyword), value, within: &budget)
            // Both of two equal schemas fit, or neither does.
            #expect(found.isEmpty == (value != "1" && keyword != "oneOf"), "\(value)")
            #expect(WorkBudget.stepsPerRequest - budget.left < 2_000, "\(value)")
        }
    }

    @Test("nested values double nothing either, and every reason is listed once")
    func nesting() throws {
        let twice =
            ##"{"$defs":{"a":{"anyOf":[{"items":{"$ref":"#/$defs/a"}},{"items":{"$ref":"#/$defs/a"}}],"not":{"const":1}}},"$ref":"#/$defs/a"}"##
        var budget = WorkBudget()
        #expect(try violations(twice, text("[", 40) + "1" + text("]", 40), within: &budget).count == 1)
        #expect(!budget.isSpent)
        let a = ##"{"$ref":"#/$defs/a"}"##
        let same = ##"{"$defs":{"a":{"type":"string"}},"allOf":[\##(a),{"not":{"not":\##(a)}},\##(a)]}"##
        #expect(try violations(same, "1").filter { $0 == ": must be a string, not a number" }.count == 1)
    }

    static let longName = String(repeating: "a", count: 256)

    @Test(
        "the escapes of a member's name cost steps",
        arguments: [
            #"{"additionalProperties":{}}"#, #"{"unevaluatedProperties":{}}"#, #"{"required":["\#(longName)"]}"#,
            #"{"dependentRequired":{"\#(longName)":[]}}"#, #"{"const":{"\#(longName)":1}}"#,
        ])
    func escapedNames(schema: String) throws {
        func steps(_ letter: String) throws -> Int {
            var budget = WorkBudget()
            #expect(try violations(schema, #"{"\#(text(letter, 256))":1}"#, within: &budget) == [])
            return WorkBudget.stepsPerRequest - budget.left
        }
        #expect(try steps(#"\u0061"#) > steps("a") + 256)
    }

    @Test("member names are distinguished from values at the same pointer")
    func names() throws {
        let a = ##"{"$ref":"#/$defs/a"}"##
        let schema = ##"{"$defs":{"a":{"maxLength":1}},"propertyNames":\##(a),"properties":{"b":\##(a)}}"##
        #expect(try violations(schema, #"{"b":"cc"}"#) == ["/b: must have at most 1 characters"])
        #expect(try violations(schema, #"{"bb":"c"}"#) == ["/bb: has a name that the schema doesn't allow"])
    }

    @Test(
        "expensive checks of every kind are stopped",
        arguments: [
            "pattern", "types", "digits", "elements", "members", "absent", "enum", "formats", "names", "report",
            "unevaluated", "nothing",
        ])
    func expensive(what: String) throws {
        func all(_ count: Int, _ schema: String) -> String { "{\"allOf\":[" + list(count) { _ in schema } + "]}" }
        let (schema, value) =
            switch what {
            case "pattern": (#"{"pattern":"^(([a-z])+.)+[A-Z]([a-z])+$"}"#, "\"\(text("a", 200_000))\"")
            case "types": ("{\"items\":\(all(3_000, #"{"type":"integer"}"#))}", "[\(list(2_000) { "\($0)" })]")
            case "digits": (all(3_000, #"{"multipleOf":7}"#), text("7", 250_000))
            case "elements": (all(300, #"{"uniqueItems":true}"#), "[\(list(1_000) { "[\($0)]" })]")
            case "members": (all(1_000, #"{"properties":{"a":{}}}"#), "{\(list(1_000) { "\"k\($0)\":1" })}")
            case "absent":
                ("{\"required\":[\(list(5_000) { "\"k\($0)\"" })]}", "{\(list(5_000) { "\"k\(4_999 - $0)\":1" })}")
            case "enum":
                (
                    "{\"items\":{\"enum\":[\(list(5_000) { "\($0)" })]}}", "[\(list(1_000) { _ in "4999" })]"
                )
            case "formats":
                ("{\"items\":\(all(300, #"{"format":"email"}"#))}", "[\(list(1_000) { "\"a\($0)@example.com\"" })]")
            case "names": (all(100, #"{"propertyNames":{"minLength":1}}"#), "{\(list(1_000) { "\"k\($0)\":1" })}")
            case "unevaluated":
                (all(300, #"{"unevaluatedProperties":true}"#), "{\(list(1_000) { "\"k\($0)\":1" })}")
            case "report":
                // Of a few bytes a long answer.
                (
                    #"{"items":{"additionalProperties":false}}"#,
                    "[\(list(100) { _ in "{\"" + text("~", 1_000) + "\":1}" })]"
                )
            default: ("{\"items\":\(all(5_000, "{}"))}", "[\(list(1_000) { "\($0)" })]")
            }
        var budget = WorkBudget(steps: what == "report" ? 20_000 : WorkBudget.stepsPerRequest)
        _ = try violations(schema, value, assertsFormats: true, within: &budget)
        #expect(budget.isSpent)
    }

    @Test(
        "a schema that takes too long to read is refused",
        arguments: ["{\"allOf\":[{},{}", "{\"x\":1,\"y\":1"])
    func reading(start: String) throws {
        // Deep down every pointer is long.
        let deep = text("{\"properties\":{\"\(text("~", 1_000))\":", 25)
        let more = list(3_000) { start.hasSuffix("{}") ? "{}" : "\"x\($0)\":{}" }
        let end = start.hasSuffix("{}") ? "]}" : "}"
        let json = deep + start + "," + more + end + text("}}", 25)
        let value = try JSONDocument(parsing: json, limits: JSONLimits(values: .max, keyBytes: 1_024)).root
        var budget = WorkBudget()
        #expect(throws: SchemaError.self) { _ = try JSONSchema(value, within: &budget) }
        #expect(budget.isSpent)
    }

    @Test("what draft 7 ignores beside a reference is listed until the budget is spent")
    func ignored() throws {
        let deep = text("\"properties\":{\"\(text("~", 1_000))\":{", 10)
        let others = list(3_000) { "\"x\($0)\":1" }
        let schema = ##"{"$schema":"http://json-schema.org/draft-07/schema",\##(deep)"$ref":"#",\##(others)"##
        let json = schema + text("}}", 10) + "}"
        let value = try JSONDocument(parsing: json, limits: JSONLimits(values: .max, keyBytes: 1_024)).root
        var budget = WorkBudget()
        #expect(throws: SchemaError.self) { _ = try JSONSchema(value, within: &budget) }
        #expect(budget.isSpent && budget.left > -100_000)
    }

    /// A pattern that searches a set two thousand times for each character.
    private func lookups(_ set: String) -> String { #"{"pattern":"(?:(?:[\#(set)]?){1000}){2}c"}"# }

    @Test("a pattern is stopped within one character")
    func stopped() throws {
        // No two of them adjoin.
        let scalars = (0..<10_000).compactMap { Unicode.Scalar(UInt32(0x4e00 + 2 * $0)) }
        var budget = WorkBudget()
        _ = try violations(lookups(String(String.UnicodeScalarView(scalars))), "\"b\"", within: &budget)
        #expect(budget.isSpent)
        #expect(budget.left > -2_000)
    }

    @Test("characters that a set repeats cost nothing")
    func repeatedCharacters() throws {
        var budget = WorkBudget()
        #expect(try violations(lookups(text("aba", 10_000)), "\"c\"", within: &budget) == [])
        #expect(WorkBudget.stepsPerRequest - budget.left < 20_000)
    }

    @Test("a pattern that is too long for the budget is not compiled")
    func longPattern() throws {
        let value = try JSONDocument(parsing: "{\"pattern\":\"\(text("(", 1_000))\"}").root
        var budget = WorkBudget(steps: 1_000)
        let error = #expect(throws: SchemaError.self) { _ = try JSONSchema(value, within: &budget) }
        #expect(error?.problems.map(\.detail) == ["takes too much work to read"])
    }

    @Test("a dynamic reference costs the resources that it searches")
    func dynamicReferences() throws {
        let links = list(200) { "\"r\($0)\":{\"$id\":\"r\($0)\",\"$ref\":\"r\($0 + 1)\"}" }
        let last = ##""r200":{"$id":"r200","items":{"$dynamicRef":"#x"},"$defs":{"x":{"$dynamicAnchor":"x"}}}"##
        let schema = #"{"$id":"http://h/","$ref":"r0","$defs":{\#(links),\#(last)}}"#
        var budget = WorkBudget()
        #expect(try violations(schema, "[\(list(1_000) { _ in "0" })]", within: &budget) == [])
        #expect(!budget.isSpent)
        #expect(WorkBudget.stepsPerRequest - budget.left > 200 * 1_000)
    }

    @Test("each name below a long base costs the length of the base", arguments: ["$ref", "$id"])
    func bases(keyword: String) throws {
        let more = list(1_000) { keyword == "$ref" ? #"{"$ref":"a"}"# : "{\"$id\":\"b\($0)\"}" }
        func json(_ base: String) -> String { #"{"$id":"\#(base)","$defs":{"a":{"$id":"a"}},"allOf":[\#(more)]}"# }
        #expect(try problems(json("http://h/x./")) == [])
        // Too much work as a whole, and no name is said to be missing.
        #expect(try problems(json("http://h/\(text("x", 30_000))./")) == [""])
    }

    @Test("the text of a violation is short, however long the pattern or the number")
    func words() throws {
        let pattern = #"{"pattern":"^\#(text("a", 3_000))$"}"#
        #expect(try violations(pattern, "\"b\"").allSatisfy { $0.utf8.count < 300 })
        let number = #"{"minimum":\#(text("9", 3_000))}"#
        #expect(try violations(number, "1").allSatisfy { $0.utf8.count < 300 })
    }

    @Test("strings and keys are compared by bytes, not by canonical equivalence")
    func equivalence() throws {
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        #expect(try violations("{\"const\":\"\(composed)\"}", "\"\(decomposed)\"").count == 1)
        #expect(try violations("{\"uniqueItems\":true}", "[\"\(composed)\",\"\(decomposed)\"]") == [])
        let named = "{\"properties\":{\"\(composed)\":{}},\"additionalProperties\":false}"
        #expect(try violations(named, "{\"\(decomposed)\":1}").count == 1)
        #expect(try violations(named, "{\"\(composed)\":1}") == [])
    }
}
