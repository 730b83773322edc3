import HeraldCore
import HeraldJSON
import HeraldSchema

/// Parses an event type: `{"description", "example", "schema", "check"}`.
enum EventTypeInput {
    static let fields = ["description", "example", "schema", "check"]
    static let limits = EventTypeWrite.limits

    /// Not for a loop's thread.
    /// - Parameter budget: for reading the schema and validating the example.
    /// - Throws: 422 with all invalid fields.
    static func read(
        _ document: JSONDocument, of type: String, within budget: inout WorkBudget
    ) throws(Problem) -> EventTypeWrite.Description {
        var reader = FieldReader()
        reader.wrong(document.errors(unlessObjectOf: fields))
        var description = EventTypeWrite.Description()
        if let value = document["description"], !value.isNull {
            description.text = reader.text(value, "/description") ?? ""
        }
        if let value = document["check"], !value.isNull {
            description.check = reader.choice(value, "/check", default: .off)
        }
        var schema: JSONSchema?
        if let value = document["schema"], !value.isNull {
            schema = compile(value, &reader, &budget)
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
        return description
    }

    private static func compile(
        _ value: JSONValue, _ reader: inout FieldReader, _ budget: inout WorkBudget
    ) -> JSONSchema? {
        do throws(SchemaError) {
            return try JSONSchema(value, within: &budget)
        } catch {
            reader.wrong(error.problems.map { FieldError("/schema" + $0.pointer, $0.detail) })
            return nil
        }
    }
}
