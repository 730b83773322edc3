package import HeraldJSON

/// A JSON template that makes the body of a request of an event.
///
/// Strings contain placeholders, `{{ data.user.name ?? 'nobody' | upper }}`. A string that is one placeholder becomes the
/// value with its type; in other text the value becomes text. Objects whose first member begins with `$` are directives.
/// The result is JSON by construction, and a value can't add anything but itself.
///
/// Compiled once, immutable, shared by all threads. Templates are equal if their texts are.
package final class Template: Sendable {
    /// The template as compact JSON, with members in their order: the stored and displayed form.
    package let text: [UInt8]
    private let node: TemplateNode
    private let pointer: String

    /// - Parameters:
    ///   - source: the posted template.
    ///   - pointer: its pointer, for the errors of both the template and of ``render(_:_:)``.
    /// - Throws: all errors at once.
    package init(_ source: JSONValue, at pointer: String) throws(TemplateErrors) {
        var json = JSONWriter()
        json.value(CompactJSON(source))
        guard json.bytes.count <= TemplateLimits.bytes else {
            throw TemplateErrors(errors: [
                FieldError(
                    pointer,
                    "must have at most \(TemplateLimits.bytes) bytes without white space, not \(json.bytes.count)")
            ])
        }
        var compiler = TemplateCompiler(at: pointer)
        node = compiler.compile(source)
        guard compiler.errors.isEmpty else { throw TemplateErrors(errors: compiler.errors) }
        text = json.bytes
        self.pointer = pointer
    }

    /// A template from the store.
    /// - Parameter text: a value of ``text``.
    package convenience init(text: [UInt8], at pointer: String) throws(TemplateErrors) {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: text)
        } catch {
            throw TemplateErrors(errors: [FieldError(pointer, "must be JSON: \(error)")])
        }
        try self.init(document.root, at: pointer)
    }

    /// Whether all events have the same result.
    package var isConstant: Bool { node.constant != nil }

    /// The JSON that the template makes of an event: the same bytes for the same values.
    /// - Parameter budget: ``TemplateLimits/steps`` for all templates of a request.
    package func render(_ roots: TemplateRoots, _ budget: inout WorkBudget) throws(TemplateFailure) -> [UInt8] {
        var renderer = TemplateRenderer(roots, budget)
        defer { budget = renderer.budget }
        do throws(TemplateFailure) {
            try renderer.render(node)
        } catch {
            throw error.pointer.isEmpty ? TemplateFailure(pointer, error.detail) : error
        }
        return renderer.output
    }
}

extension Template: Hashable {
    package static func == (one: Template, two: Template) -> Bool { one === two || one.text == two.text }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
