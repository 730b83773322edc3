import HeraldJSON
import Testing

@Suite("Invalid schemas")
struct SchemaErrorTests {
    @Test(
        "each error has a pointer",
        arguments: [
            ("1", [""]), (#"{"properties": {"a": 1}}"#, ["/properties/a"]),
            (#"{"unevaluatedProperties": 1}"#, ["/unevaluatedProperties"]),
            (##"{"$dynamicRef": "#a"}"##, ["/$dynamicRef"]), (#"{"$anchor": 1}"#, ["/$anchor"]),
            (#"{"allOf": [{"$anchor": "a"}, {"$anchor": "a"}]}"#, ["/allOf/1/$anchor"]),
            (#"{"allOf": [{"$id": "a"}, {"$id": "a"}]}"#, ["/allOf/1/$id"]),
            (##"{"items": {"$id": "#a"}}"##, ["/items/$id"]),
            (#"{"items": {"allOf": [{"x/y": 1}, {"properties": {"x/y": 1}}]}}"#, ["/items/allOf/1/properties/x~1y"]),
            (#"{"type": "text"}"#, ["/type"]), (#"{"type": []}"#, ["/type"]), (#"{"type": [1]}"#, ["/type"]),
            (#"{"enum": 1}"#, ["/enum"]), (#"{"minimum": "1"}"#, ["/minimum"]),
            (#"{"multipleOf": 0}"#, ["/multipleOf"]),
            (#"{"multipleOf": -1}"#, ["/multipleOf"]),
            (#"{"minLength": -1, "maxItems": 1.5}"#, ["/minLength", "/maxItems"]),
            (#"{"required": "a"}"#, ["/required"]), (#"{"required": [1]}"#, ["/required"]),
            (#"{"allOf": []}"#, ["/allOf"]),
            (#"{"items": [{}]}"#, ["/items"]), (#"{"uniqueItems": 1}"#, ["/uniqueItems"]),
            (#"{"format": 1}"#, ["/format"]),
            (#"{"pattern": "("}"#, ["/pattern"]), (#"{"pattern": 1}"#, ["/pattern"]),
            (#"{"patternProperties": {"(?=a)": {}}}"#, ["/patternProperties/(?=a)"]), (#"{"then": 1}"#, ["/then"]),
            (#"{"minContains": -1}"#, ["/minContains"]),
            (#"{"contains": {}, "maxContains": -1}"#, ["/maxContains"]),
            (#"{"$schema": "http://json-schema.org/draft-04/schema#"}"#, ["/$schema"]),
            (##"{"$id": "a", "items": {"$schema": "http://json-schema.org/draft-07/schema#"}}"##, ["/items/$schema"]),
            (#"{"$defs": []}"#, ["/$defs"]), (#"{"dependentRequired": {"a": "b"}}"#, ["/dependentRequired/a"]),
            (
                #"{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": 1}}"#,
                ["/dependencies/a"]
            ),
        ])
    func places(json: String, pointers: [String]) throws {
        #expect(try problems(json) == pointers)
    }

    @Test(
        "a reference must point into the document, and not directly to itself",
        arguments: [
            (##"{"$ref": "#/$defs/a"}"##, ["/$ref"]), (##"{"$ref": "https://example.com/s"}"##, ["/$ref"]),
            (##"{"$ref": "other.json#/a"}"##, ["/$ref"]), (##"{"$ref": "#a"}"##, ["/$ref"]),
            (##"{"$ref": 1}"##, ["/$ref"]),
            (##"{"$ref": "#/~2"}"##, ["/$ref"]), (##"{"$ref": "#/%GG"}"##, ["/$ref"]),
            (##"{"$ref": "#"}"##, [""]), (##"{"allOf": [{"$ref": "#"}]}"##, [""]),
            (##"{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}}"##, ["/$defs/a"]),
            (##"{"allOf": [{}], "$ref": "#/allOf/00"}"##, ["/$ref"]),
            (##"{"title": "x", "$ref": "#/title"}"##, ["/title"]),
        ])
    func references(json: String, pointers: [String]) throws {
        #expect(try problems(json) == pointers)
    }

    @Test("all errors are reported at once")
    func all() throws {
        #expect(
            try problems(#"{"type": 1, "properties": {"a": {"minimum": ""}, "b": {"not": 1}}}"#).sorted()
                == ["/properties/a/minimum", "/properties/b/not", "/type"])
    }

    @Test("64 KiB are accepted, and not one byte more")
    func bytes() throws {
        func json(_ count: Int) -> String {
            #"{"title": ""# + String(repeating: "a", count: count - #"{"title": ""}"#.utf8.count) + #""}"#
        }
        #expect(try problems(json(65_536)) == [])
        #expect(try problems(json(65_537)) == [""])
    }

    @Test("a deep chain of references is refused without a stack overflow")
    func chain() throws {
        let links = (0..<1000).map { ##""d\##($0)": {"$ref": "#/$defs/d\##($0 + 1)"}"## }.joined(separator: ",")
        let chain = ##"{"$defs": {\##(links), "d1000": {}}, "$ref": "#/$defs/d0"}"##
        #expect(try violations(chain, "1") == [": can't be checked: the schema is nested too deep for it"])
    }

    @Test(
        "parts that are accepted and not checked are listed",
        arguments: [
            (#"{"tpye": "string", "items": {"x-unit": "kg"}}"#, ["/tpye", "/items/x-unit"]),
            (#"{"format": "binary"}"#, ["/format"]), (#"{"contentMediaType": "a/b"}"#, ["/contentMediaType"]),
            (#"{"definitions": {"a": 1}, "discriminator": {}}"#, ["/definitions", "/discriminator"]),
            (#"{"title": "a", "description": "b", "default": 1, "examples": [], "deprecated": true}"#, []),
            (#"{"$schema": "http://json-schema.org/draft-07/schema", "$defs": {}}"#, ["/$defs"]),
            (
                ##"{"$schema": "http://json-schema.org/draft-07/schema", "items": {"$ref": "#", "title": "a", "maxItems": 1}}"##,
                ["/items/maxItems"]
            ),
        ])
    func unchecked(json: String, pointers: [String]) throws {
        #expect(try schema(json).unchecked.map(\.pointer) == pointers)
    }

    @Test("a format is listed as not checked until it is asserted")
    func formats() throws {
        let json = #"{"format": "date"}"#
        #expect(try schema(json).unchecked.map(\.pointer) == ["/format"])
        #expect(try violations(json, #""tomorrow""#) == [])
        #expect(try schema(json, assertsFormats: true).unchecked == [])
        #expect(try violations(json, #""tomorrow""#, assertsFormats: true) == [": must be a date such as 2026-01-31"])
    }
}
