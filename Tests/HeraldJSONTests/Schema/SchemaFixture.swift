import HeraldJSON
import Testing

func schema(_ json: String, assertsFormats: Bool = false) throws -> JSONSchema {
    var budget = WorkBudget()
    return try JSONSchema(JSONDocument(parsing: json).root, assertsFormats: assertsFormats, within: &budget)
}

/// `pointer: detail` of each violation.
func violations(
    _ schema: String, _ value: String, limit: Int = 20, assertsFormats: Bool = false
) throws -> [String] {
    var budget = WorkBudget()
    return try violations(schema, value, limit: limit, assertsFormats: assertsFormats, within: &budget)
}

/// Returns the violations and their cost.
func violations(
    _ schema: String, _ value: String, limit: Int = 20, assertsFormats: Bool = false, within budget: inout WorkBudget
) throws -> [String] {
    let document = try JSONDocument(parsing: value, limits: JSONLimits(values: .max, keyBytes: 1_024))
    let schema = try HeraldJSONTests.schema(schema, assertsFormats: assertsFormats)
    return schema.violations(of: document.root, limit: limit, within: &budget).map { "\($0.pointer): \($0.detail)" }
}

/// Returns the errors of a schema, by location; none if it is correct.
func problems(_ json: String) throws -> [String] {
    let value = try JSONDocument(parsing: json, limits: JSONLimits(values: .max, keyBytes: 1_024)).root
    var budget = WorkBudget()
    do throws(SchemaError) {
        _ = try JSONSchema(value, within: &budget)
        return []
    } catch {
        #expect(error.problems.allSatisfy { !$0.detail.isEmpty })
        return error.problems.map(\.pointer)
    }
}

/// A text as a JSON string.
func quoted(_ text: String) -> String {
    String(decoding: JSONWriter.document(of: text), as: UTF8.self)
}
