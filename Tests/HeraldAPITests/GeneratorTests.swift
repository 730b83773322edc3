import HeraldJSON
import Testing

/// Constructs that generators of clients cannot read, each found with openapi-python-client or openapi-generator. That it is valid
/// OpenAPI 3.0, which knows no `const`, no `type: "null"` and no list of types, is what script/lint checks.
/// `EndToEndTests/GeneratedClientTests` use what they generate.
@Suite("openapi.yaml works with generators")
struct GeneratorTests {
    private let specification: JSONDocument
    private let schemas: [(key: String, value: JSONValue)]
    private let operations: [(place: String, value: JSONValue)]

    init() throws {
        specification = try Repository.specification()
        schemas = try #require(specification["components"]?["schemas"]).members.map { ($0.key, $0.value) }
        operations = try #require(specification["paths"]).members.flatMap { path, item in
            item.members.filter { $0.key != "parameters" }.map { ("\($0.key) \(path)", $0.value) }
        }
    }

    @Test("it is OpenAPI 3.0, without keywords of later versions")
    func version() {
        #expect(specification["openapi"]?.string?.hasPrefix("3.0.") == true)
    }

    @Test("the schema of each request and response body has a name, or is a plain text")
    func names() {
        var places: [(place: String, value: JSONValue?)] = []
        for (place, operation) in operations {
            places.append((place, operation["requestBody"]))
            for (status, response) in members(operation["responses"]) {
                places.append(("\(place) \(status)", response))
            }
        }
        for kind in ["requestBodies", "responses"] {
            for (name, value) in members(specification["components"]?[kind]) {
                places.append(("\(kind) \(name)", value))
            }
        }
        var seen = 0
        for (place, body) in places {
            for (type, content) in members(body?["content"]) {
                guard let schema = content["schema"] else { continue }
                seen += 1
                #expect(schema["$ref"] != nil || schema["type"]?.string == "string", "\(place) \(type)")
            }
        }
        #expect(seen > 80)
    }

    @Test("all successful responses of an operation that have a body have the same schema")
    func responses() {
        for (place, operation) in operations {
            let schemas = members(operation["responses"]).filter { $0.key.hasPrefix("2") }.flatMap {
                members($0.value["content"]).compactMap { $0.value["schema"]?["$ref"]?.string }
            }
            #expect(Set(schemas).count < 2, "\(place)")
        }
    }

    @Test("a body of several types is never an array in one of them")
    func bodies() {
        for (place, operation) in operations {
            let types = members(operation["requestBody"]?["content"]).compactMap {
                $0.value["schema"]
            }
            guard types.count > 1 else { continue }
            for type in types { #expect(!canBeList(type), "\(place)") }
        }
    }

    @Test("objects with properties and unions have names; a default is not an object; what may be null says so")
    func nesting() {
        var seen = 0
        for (name, schema) in schemas {
            visit(schema, name) { place, schema in
                seen += 1
                let isPart = place != name && !place.hasSuffix("/allOf")
                #expect(!isPart || schema["properties"] == nil, "\(place): an object without a name")
                #expect(
                    place == name || schema["oneOf"] == nil && schema["anyOf"] == nil,
                    "\(place): a union without a name")
                #expect(schema["default"]?.kind != .object, "\(place): an object as default")
                let isNullable = schema["nullable"]?.bool == true
                // OpenAPI 3.0.3: `nullable` has an effect only beside a type, and an enum has to contain null then.
                #expect(!isNullable || schema["type"] != nil, "\(place): nullable without a type")
                if let values = schema["enum"]?.elements {
                    #expect(values.contains { $0.isNull } == isNullable, "\(place): null in an enum, or not")
                }
                // Go's and Rust's engines of regular expressions have no look-around.
                #expect(schema["pattern"]?.string?.contains("(?") != true, "\(place): look-around in a pattern")
                // Without it, openapi-python-client names the type after the place.
                let isType = place == name && (schema["enum"] != nil || schema["type"]?.string == "object")
                #expect(
                    !isNullable || !isType || schema["title"]?.string == name, "\(place): nullable without a title")
                #expect(schema["$ref"] == nil || schema.count == 1, "\(place): what stands beside $ref is passed over")
                #expect(schema["const"] == nil && schema["type"]?.kind != .array, "\(place)")
            }
        }
        #expect(seen > 300)
    }

    @Test("a parameter is a string, a number or a boolean, or an array of strings")
    func parameters() {
        let shared = specification["components"]?["parameters"]?.members.map(\.value) ?? []
        let own = operations.flatMap { elements($0.value["parameters"]) }
        for parameter in (shared + own) where parameter["$ref"] == nil {
            let name = parameter["name"]?.string ?? ""
            guard let schema = parameter["schema"] else {
                Issue.record("\(name) has no schema")
                continue
            }
            let type = schema["$ref"].map { resolve($0.string ?? "") } ?? schema
            #expect(["string", "integer", "boolean"].contains(type?["type"]?.string), "\(name)")
            #expect(type?["enum"]?.elements.allSatisfy { $0.kind == .string } != false, "\(name)")
        }
    }

    @Test("the names that generators derive from schemas and enum values are unique")
    func constants() {
        let names = Set(schemas.map(\.key))
        for name in names { #expect(!names.contains("New" + name), "In Go, New\(name) makes a \(name)") }
        // In Go, the values of all enums are constants of one package.
        var values: [String: String] = [:]
        for (name, schema) in schemas {
            for value in (schema["x-enum-varnames"] ?? schema["enum"])?.elements.map({ $0 }) ?? [] where !value.isNull {
                let word = value.string?.uppercased() ?? ""
                #expect(values[word] == nil, "\(word) is of \(name) and \(values[word] ?? "")")
                values[word] = name
            }
        }
        #expect(values.count > 20)
    }

    @Test("no operation has scopes in its security, which OpenAPI 3.0 allows for OAuth only")
    func security() {
        for (place, operation) in operations {
            for scheme in elements(operation["security"]) {
                #expect(scheme.members.allSatisfy { $0.value.count == 0 }, "\(place)")
            }
        }
    }

    /// Calls `body` for a schema and each one inside it, with where it is.
    private func visit(_ schema: JSONValue, _ place: String, _ body: (String, JSONValue) -> Void) {
        body(place, schema)
        for (name, property) in members(schema["properties"]) {
            visit(property, place + "." + name, body)
        }
        for key in ["items", "additionalProperties", "not"] {
            if let inner = schema[key], inner.kind == .object { visit(inner, place + "." + key, body) }
        }
        for key in ["allOf", "oneOf", "anyOf"] {
            for inner in elements(schema[key]) { visit(inner, place + "/" + key, body) }
        }
    }

    private func resolve(_ reference: String) -> JSONValue? {
        schemas.first { "#/components/schemas/" + $0.key == reference }?.value
    }

    private func canBeList(_ schema: JSONValue) -> Bool {
        if let reference = schema["$ref"]?.string { return resolve(reference).map(canBeList) ?? false }
        let parts = ["allOf", "oneOf", "anyOf"].flatMap { elements(schema[$0]) }
        return schema["type"]?.string == "array" || parts.contains(where: canBeList)
    }

    private func members(_ value: JSONValue?) -> [(key: String, value: JSONValue)] {
        value.map { Array($0.members) } ?? []
    }

    private func elements(_ value: JSONValue?) -> [JSONValue] { value.map { Array($0.elements) } ?? [] }
}
