import HeraldJSON
public import HeraldModel

extension ContentFilter {
    /// Compiles a filter in the form of the HTTP API.
    /// - Parameter json: a JSON object, at most 8,192 bytes without white space; see the type.
    /// - Throws: `HubError.invalid` with all errors; also for a filter that is valid, but hardly meant, such as a condition without
    ///   the brackets of its array.
    public convenience init(json: String) throws(HubError) {
        guard let document = try? JSONDocument(parsing: json) else {
            throw .invalid([FieldError("", "must be a JSON object")])
        }
        do throws(FieldErrors) {
            try self.init(document.root, at: "", refusesMistakes: true)
        } catch {
            throw .invalid(error.errors)
        }
    }
}
