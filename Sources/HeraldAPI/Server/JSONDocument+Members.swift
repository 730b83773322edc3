import HeraldCore
import HeraldJSON

extension JSONDocument {
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
