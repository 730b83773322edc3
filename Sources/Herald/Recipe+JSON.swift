import HeraldJSON
public import HeraldModel

extension Recipe {
    /// - Parameter json: an object as in the field `request` of the HTTP API, such as `{"preset": "slack"}`.
    /// - Throws: `HubError.invalid`, with the pointers of all errors.
    public convenience init(json: String) throws(HubError) {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: json)
        } catch {
            throw .invalid([FieldError(RecipeInput.pointer, "must be JSON: \(error)")])
        }
        var errors: [FieldError] = []
        var recipe: Recipe?
        RecipeInput.merge(document.root, into: &recipe, &errors)
        guard errors.isEmpty, let recipe else {
            throw .invalid(errors.isEmpty ? [FieldError(RecipeInput.pointer, "must have a member")] : errors)
        }
        self.init(stored: recipe.text)
    }
}
