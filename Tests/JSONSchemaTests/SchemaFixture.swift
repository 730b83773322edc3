import JSON
import JSONSchema
import Testing

func schema(_ json: String) throws -> JSONSchema { try JSONSchema(JSONDocument(parsing: json).root) }

/// `pointer: detail` of each violation.
func violations(_ schema: String, _ value: String, limit: Int = 20) throws -> [String] {
    try JSONSchemaTests.schema(schema).violations(of: JSONDocument(parsing: value).root, limit: limit).map {
        "\($0.pointer): \($0.detail)"
    }
}

/// What is wrong with a schema, by place; nothing when it is right.
func problems(_ json: String) throws -> [String] {
    let value = try JSONDocument(parsing: json, limits: JSONLimits(values: .max)).root
    do throws(SchemaError) {
        _ = try JSONSchema(value)
        return []
    } catch {
        #expect(error.problems.allSatisfy { !$0.detail.isEmpty })
        return error.problems.map(\.pointer)
    }
}

/// A text as a JSON string.
func quoted(_ text: String) -> String {
    var json = JSONWriter()
    json.string(text)
    return String(decoding: json.bytes, as: UTF8.self)
}
