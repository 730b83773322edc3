import Testing

@Suite("Keywords of JSON Schema")
struct KeywordTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let schema: String
        let valid: [String]
        let invalid: [String]
        var testDescription: String { schema }
        init(_ schema: String, _ valid: [String], not invalid: [String]) {
            (self.schema, self.valid, self.invalid) = (schema, valid, invalid)
        }
    }

    static let cases: [Case] = [
        Case("true", ["1", "null"], not: []), Case("false", [], not: ["1", "null"]), Case("{}", ["1", "[]"], not: []),
        Case(#"{"type": "integer"}"#, ["1", "1.0", "1e3", "-0"], not: ["1.5", #""1""#, "true", "null"]),
        Case(#"{"type": "number"}"#, ["1", "1.5", "1e400"], not: [#""1""#, "null"]),
        Case(#"{"type": ["string", "null"]}"#, [#""a""#, "null"], not: ["1", "[]", "{}", "false"]),
        Case(#"{"type": ["array", "object", "boolean"]}"#, ["[]", "{}", "false"], not: ["1", #""a""#]),
        Case(#"{"const": {"a": [1, true]}}"#, [#"{"a": [1.0, true]}"#], not: [#"{"a": [1, 1]}"#, "{}"]),
        Case(#"{"const": 9007199254740993}"#, ["9007199254740993.0"], not: ["9007199254740992"]),
        Case(
            #"{"enum": [1, "a", null, {"a": 1, "b": 2}]}"#, ["1.0", #""\u0061""#, "null", #"{"b": 2, "a": 1}"#],
            not: ["true", #""b""#, #"{"a": 1}"#, "0"]),
        Case(#"{"minimum": 1, "maximum": 3.5}"#, ["1", "3.50", #""x""#], not: ["0.999", "3.51"]),
        Case(#"{"exclusiveMinimum": 1, "exclusiveMaximum": 3}"#, ["1.001", "2"], not: ["1", "1.0", "3"]),
        Case(#"{"multipleOf": 0.01}"#, ["19.99", "4.35", "0", "-1"], not: ["0.001", "19.995"]),
        Case(#"{"multipleOf": 3}"#, ["9", "3e300", "0"], not: ["10", "1e300", "1.5"]),
        Case(
            #"{"minLength": 2, "maxLength": 3}"#, [#""ab""#, #""üüü""#, #""😀😀""#, "1"],
            not: [#""a""#, #""😀""#, #""abcd""#]),
        Case(#"{"minLength": 2.0}"#, [#""ab""#], not: [#""a""#]),
        Case(
            #"{"properties": {"a": {"type": "string"}, "b": false}}"#, ["{}", #"{"a": "x", "c": 1}"#, "[]", "1"],
            not: [#"{"a": 1}"#, #"{"b": 1}"#]),
        Case(
            #"{"properties": {"a": {}}, "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false}"#,
            [#"{"a": 1, "x-b": 2}"#, "{}"], not: [#"{"b": 1}"#, #"{"x-b": "2"}"#, #"{"ax-": 1}"#]),
        Case(
            #"{"patternProperties": {"a": {"minimum": 1}, "b": {"maximum": 5}}, "additionalProperties": {"type": "string"}}"#,
            [#"{"ab": 3, "c": "x"}"#], not: [#"{"ab": 0}"#, #"{"ab": 6}"#, #"{"c": 1}"#]),
        Case(#"{"required": ["a", "b"]}"#, [#"{"a": null, "b": 1}"#, "[]"], not: [#"{"a": 1}"#, "{}"]),
        Case(
            #"{"propertyNames": {"pattern": "^[a-z]+$"}}"#, [#"{"abc": 1}"#, "{}"], not: [#"{"aB": 1}"#, #"{"": 1}"#]),
        Case(#"{"propertyNames": {"const": "a\"b"}}"#, [#"{"a\u0022b": 1}"#], not: [#"{"ab": 1}"#]),
        Case(#"{"minProperties": 1, "maxProperties": 2}"#, [#"{"a": 1}"#], not: ["{}", #"{"a": 1, "b": 1, "c": 1}"#]),
        Case(#"{"dependentRequired": {"a": ["b"]}}"#, ["{}", #"{"b": 1}"#, #"{"a": 1, "b": 1}"#], not: [#"{"a": 1}"#]),
        Case(
            #"{"dependentSchemas": {"a": {"minProperties": 2}}}"#, [#"{"b": 1}"#, #"{"a": 1, "b": 1}"#],
            not: [#"{"a": 1}"#]),
        Case(
            #"{"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": {"type": "null"}}"#,
            ["[]", #"["a"]"#, #"["a", 1, null, null]"#], not: [#"[1]"#, #"["a", "b"]"#, #"["a", 1, 2]"#]),
        Case(#"{"items": false}"#, ["[]", "{}"], not: ["[1]"]),
        Case(#"{"contains": {"type": "integer"}}"#, [#"["a", 1]"#, "1"], not: ["[]", #"["a"]"#]),
        Case(
            #"{"contains": {"const": 1}, "minContains": 2, "maxContains": 3}"#, ["[1, 1]", "[1, 0, 1, 1]"],
            not: ["[1]", "[1, 1, 1, 1]"]),
        Case(#"{"contains": {"const": 1}, "minContains": 0}"#, ["[]", "[2]"], not: []),
        Case(#"{"minItems": 1, "maxItems": 2}"#, ["[1]", "[1, 2]"], not: ["[]", "[1, 2, 3]"]),
        Case(
            #"{"uniqueItems": true}"#,
            ["[]", "[1, true, \"1\", null, 0, false]", "[[1], [2]]", #"[{"a": 1}, {"b": 1}]"#],
            not: ["[1, 1.0]", #"[{"a": 1, "b": [2]}, 7, {"b": [2.0], "a": 1}]"#, "[[], []]", #"["a", "\u0061"]"#]),
        Case(#"{"uniqueItems": false}"#, ["[1, 1]"], not: []),
        Case(#"{"allOf": [{"minimum": 1}, {"maximum": 2}]}"#, ["1", "2"], not: ["0", "3"]),
        Case(#"{"anyOf": [{"type": "string"}, {"minimum": 5}]}"#, [#""a""#, "5"], not: ["4"]),
        Case(#"{"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}"#, ["2", "9"], not: ["6", "7"]),
        Case(#"{"not": {"type": "string"}}"#, ["1"], not: [#""a""#]),
        Case(
            #"{"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}"#,
            [#"{"a": 1, "b": 1}"#, #"{"a": 2, "c": 1}"#, #"{"c": 1}"#], not: [#"{"a": 1}"#, #"{"a": 2, "b": 1}"#]),
        Case(
            ##"{"$defs": {"n~/%": {"type": "integer"}}, "items": {"$ref": "#/$defs/n~0~1%25"}}"##, ["[1]"],
            not: [#"["a"]"#]),
        Case(
            ##"{"type": "object", "properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}}}"##,
            [#"{"next": {"next": {"v": 1}}}"#], not: [#"{"next": {"next": {"v": "x"}}}"#, #"{"next": 1}"#]),
        Case(##"{"$ref": "#/allOf/0", "allOf": [{"minimum": 3}]}"##, ["3"], not: ["2"]),
        Case(
            ##"{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/a", "title": "t", "description": "d", "default": 1, "examples": [1], "deprecated": true, "readOnly": true, "writeOnly": true, "$comment": "c", "type": "string"}"##,
            [#""a""#], not: ["1"]),
    ]

    @Test("every keyword accepts and refuses the right values", arguments: cases)
    func keywords(example: Case) throws {
        for value in example.valid { #expect(try violations(example.schema, value) == [], "\(value)") }
        for value in example.invalid { #expect(try !violations(example.schema, value).isEmpty, "\(value)") }
    }

    @Test("violations have a pointer and a reason, all of them")
    func words() throws {
        let order = """
            {"type": "object", "required": ["id", "total"], "additionalProperties": false, "properties": {
              "id": {"type": "string", "pattern": "^o-[0-9]+$"}, "total": {"type": "number", "minimum": 0},
              "lines": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"required": ["sku"]}},
              "state": {"enum": ["open", "paid"]}, "to/from": {"format": "email"}, "kind": {"const": 1}}}
            """
        #expect(try violations(order, "7") == [": must be an object, not a number"])
        #expect(
            try violations(
                order,
                #"{"id": "x", "lines": [{}, {"sku": 1}, {"sku": 1}], "state": "x", "to/from": "x", "more": 1, "kind": 2}"#,
                assertsFormats: true
            ).sorted() == [
                "/id: must match the pattern ^o-[0-9]+$", "/kind: must be 1",
                #"/lines/0: must have the member "sku""#, "/lines/2: must differ from the element 1",
                "/more: is not allowed here", #"/state: must be one of "open", "paid""#,
                "/to~1from: must be an e-mail address", #": must have the member "total""#,
            ])
        #expect(
            try violations(#"{"anyOf": [{"type": "null"}, {"type": "string"}]}"#, "1")
                == [": must match one of 2 schemas, but matches none"])
        #expect(
            try violations(#"{"dependentRequired": {"a": ["b"]}}"#, #"{"a": 1}"#)
                == [#": must have the member "b", since it has "a""#])
    }

    @Test(
        "a member or an element that no schema has evaluated is reported by itself",
        arguments: [
            (
                #"{"allOf": [{"properties": {"a": true}}], "properties": {"b": true}, "unevaluatedProperties": false}"#,
                #"{"a": 1, "b": 2, "c": 3}"#, ["/c: is not allowed here"]
            ),
            (
                #"{"prefixItems": [true], "contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}}"#,
                #"[1, "a", null, 2]"#, ["/3: must be null, not a number"]
            ),
            // A value that breaks another rule is not reported twice.
            (
                #"{"properties": {"a": {"type": "string"}}, "unevaluatedProperties": false}"#,
                #"{"a": 1, "c": 3}"#, ["/a: must be a string, not a number"]
            ),
        ])
    func unevaluated(schema: String, value: String, expected: [String]) throws {
        #expect(try violations(schema, value) == expected)
    }

    @Test("dynamic references that lead to each other without end are stopped")
    func endless() throws {
        let schema = ##"""
            {"$id": "https://a/outer", "$dynamicAnchor": "x", "$ref": "inner",
             "$defs": {"inner": {"$id": "inner", "$dynamicAnchor": "x", "$defs": {"y": {"$dynamicRef": "#x"}},
               "allOf": [{"$ref": "#/$defs/y"}]}}}
            """##
        let found = (try? violations(schema, "1")) ?? [": refused"]
        #expect(found.count == 1 && !found[0].isEmpty)
    }

    @Test("the number of violations is limited")
    func limit() throws {
        let value = "[" + Array(repeating: "1", count: 100).joined(separator: ",") + "]"
        #expect(try violations(#"{"items": {"type": "string"}}"#, value).count == 20)
        #expect(try violations(#"{"items": {"allOf": [false, false]}}"#, value, limit: 3).count == 3)
    }
}
