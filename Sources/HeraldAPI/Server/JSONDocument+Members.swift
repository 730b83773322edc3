import HeraldJSON
import HeraldModel

extension JSONDocument {
    /// - Throws: 400 if the text is malformed, 422 beyond the limits.
    init(reading text: [UInt8], limits: JSONLimits = .standard) throws(Problem) {
        do throws(JSONError) {
            try self.init(parsing: text, limits: limits)
        } catch {
            throw .malformedJSON(error)
        }
    }

    /// The member with this key, unless it is `null`.
    func nonNull(_ key: String) -> JSONValue? { self[key].flatMap { $0.isNull ? nil : $0 } }

    /// The errors of a body that must be an object with only these members, so that no typo goes unnoticed.
    func errors(unlessObjectOf known: [String]) -> [FieldError] {
        guard root.kind == .object else { return [FieldError("", "must be an object")] }
        let list = known.isEmpty ? "none" : known.joined(separator: ", ")
        var errors: [FieldError] = []
        for (key, _) in root.members where !known.contains(key) {
            errors.append(FieldError(JSONPointer.child("", key), "is not a field here; fields are: \(list)"))
            if errors.count == FieldError.maxReported { break }
        }
        return errors
    }
}
