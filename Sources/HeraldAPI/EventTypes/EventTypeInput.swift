import HeraldCore
import HeraldJSON
import HeraldModel

/// An event type in a request: `{"description", "example", "schema", "check", "assert_formats"}`.
struct EventTypeInput: Sendable {
    let description: EventTypeWrite.Description
    /// The parts of the schema that are accepted and not checked.
    let unchecked: [SchemaProblem]

    static let fields = ["description", "example", "schema", "check", "assert_formats"]
    static let limits = EventTypeWrite.limits

    /// Not for a loop's thread.
    /// - Parameter budget: for reading the schema and validating the example.
    /// - Throws: 422 with all invalid fields.
    static func read(
        _ document: JSONDocument, of type: String, within budget: inout WorkBudget
    ) throws(Problem) -> EventTypeInput {
        var reader = FieldReader(document, fields: fields)
        var description = EventTypeWrite.Description()
        description.text = reader.member("description") { $0.text($1, $2) } ?? ""
        description.check = reader.member("check") { $0.choice($1, $2, default: EventTypeRecord.Check.off) } ?? .off
        description.assertsFormats = reader.member("assert_formats") { $0.flag($1, $2) } ?? false
        var schema: JSONSchema?
        if let value = document.nonNull("schema") {
            schema = compile(value, assertsFormats: description.assertsFormats, &reader, &budget)
            description.schema = value.bytes
        }
        if let value = document["example"] {
            description.example = value.bytes
            if let schema {
                reader.wrong(
                    schema.violations(of: value, within: &budget).map {
                        FieldError("/example" + $0.pointer, $0.detail)
                    })
            }
        }
        reader.add(EventTypeWrite(type: type, action: .set(description)) { _ in }.problems)
        try reader.check()
        return EventTypeInput(description: description, unchecked: schema?.unchecked ?? [])
    }

    private static func compile(
        _ value: JSONValue, assertsFormats: Bool, _ reader: inout FieldReader, _ budget: inout WorkBudget
    ) -> JSONSchema? {
        do throws(SchemaError) {
            return try JSONSchema(value, assertsFormats: assertsFormats, within: &budget)
        } catch {
            reader.wrong(error.problems.map { FieldError("/schema" + $0.pointer, $0.detail) })
            return nil
        }
    }
}
