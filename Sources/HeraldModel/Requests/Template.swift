package import HeraldJSON

/// A JSON template that makes the body of a request of an event.
///
/// Strings contain placeholders, `{{ data.user.name ?? 'nobody' | upper }}`. A string that is one placeholder becomes the
/// value with its type; in other text the value becomes text. Objects whose first member begins with `$` are directives.
/// The result is JSON by construction, and a value can't add anything but itself.
///
/// Compiled once, immutable, shared by all threads.
package final class Template: Sendable {
    private let node: TemplateNode
    private let pointer: String

    /// - Parameters:
    ///   - source: the posted template.
    ///   - pointer: its pointer, for the errors of both the template and of ``render(_:_:)``.
    ///   - refusesMistakes: as in `ContentFilter`.
    /// - Throws: all errors at once.
    package init(_ source: JSONValue, at pointer: String, refusesMistakes: Bool = false) throws(FieldErrors) {
        let size = JSONWriter.document(of: CompactJSON(source)).count
        guard size <= TemplateLimits.bytes else {
            throw FieldErrors([
                FieldError(pointer, "must have at most \(TemplateLimits.bytes) bytes without white space, not \(size)")
            ])
        }
        var compiler = TemplateCompiler(at: pointer, refusesMistakes: refusesMistakes)
        node = compiler.compile(source)
        guard compiler.errors.isEmpty else { throw FieldErrors(compiler.errors) }
        self.pointer = pointer
    }

    /// The JSON that the template makes of an event: the same bytes for the same values.
    /// - Parameter budget: ``TemplateLimits/steps`` for all templates of a request.
    package func render(_ roots: TemplateRoots, _ budget: inout WorkBudget) throws(FieldError) -> [UInt8] {
        var renderer = TemplateRenderer(roots, budget)
        defer { budget = renderer.budget }
        do throws(FieldError) {
            try renderer.render(node)
        } catch {
            throw error.pointer.isEmpty ? FieldError(pointer, error.detail) : error
        }
        return renderer.output
    }
}
