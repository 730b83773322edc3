import HeraldJSON
import HeraldSchema
import Testing

@Suite("Invalid schemas")
struct SchemaErrorTests {
    @Test(
        "each error has a pointer",
        arguments: [
            ("1", [""]), (#"{"properties": {"a": 1}}"#, ["/properties/a"]), (#"{"tpye": "string"}"#, ["/tpye"]),
            (#"{"unevaluatedProperties": false}"#, ["/unevaluatedProperties"]),
            (##"{"$dynamicRef": "#a"}"##, ["/$dynamicRef"]),
            (#"{"$anchor": "a"}"#, ["/$anchor"]), (#"{"definitions": {}}"#, ["/definitions"]),
            (#"{"items": {"allOf": [{"x/y": 1}]}}"#, ["/items/allOf/0/x~1y"]), (#"{"type": "text"}"#, ["/type"]),
            (#"{"type": []}"#, ["/type"]), (#"{"type": [1]}"#, ["/type"]), (#"{"enum": []}"#, ["/enum"]),
            (#"{"enum": 1}"#, ["/enum"]), (#"{"minimum": "1"}"#, ["/minimum"]),
            (#"{"multipleOf": 0}"#, ["/multipleOf"]),
            (#"{"multipleOf": -1}"#, ["/multipleOf"]),
            (#"{"minLength": -1, "maxItems": 1.5}"#, ["/minLength", "/maxItems"]),
            (#"{"required": "a"}"#, ["/required"]), (#"{"required": [1]}"#, ["/required"]),
            (#"{"allOf": []}"#, ["/allOf"]),
            (#"{"items": [{}]}"#, ["/items"]), (#"{"uniqueItems": 1}"#, ["/uniqueItems"]),
            (#"{"format": "hostname"}"#, ["/format"]),
            (#"{"pattern": "("}"#, ["/pattern"]), (#"{"pattern": 1}"#, ["/pattern"]),
            (#"{"patternProperties": {"(?=a)": {}}}"#, ["/patternProperties/(?=a)"]), (#"{"then": {}}"#, ["/then"]),
            (#"{"if": {}}"#, ["/if"]), (#"{"minContains": 1}"#, ["/minContains"]),
            (#"{"contains": {}, "maxContains": -1}"#, ["/maxContains"]),
            (#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#, ["/$schema"]),
            (#"{"items": {"$id": "b"}}"#, ["/items/$id"]), (#"{"$defs": []}"#, ["/$defs"]),
            (#"{"dependentRequired": {"a": "b"}}"#, ["/dependentRequired/a"]),
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
            try problems(#"{"type": 1, "properties": {"a": {"minimum": ""}, "b": {"x": 1}}}"#).sorted()
                == ["/properties/a/minimum", "/properties/b/x", "/type"])
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
}
