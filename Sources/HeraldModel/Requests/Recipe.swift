package import HeraldJSON

/// How events become requests, for a receiver that expects a body, a path, a method or a signature of its own: the
/// setting `request` of a delegate.
///
/// It is kept as its JSON text, in which the members of a preset are written out; `RecipePlan` is what the text says.
/// Prints without the text, which has the secrets of `auth`. Any thread.
public final class Recipe: Sendable, Equatable {
    /// The names of the members, in the order in which they are kept and shown.
    static let members = [
        "preset", "method", "path", "query", "headers", "body", "form", "sign", "auth", "success",
    ]
    /// The largest text.
    static let maxBytes = 32_768

    /// An object with at least one member.
    package let text: [UInt8]

    /// - Parameter text: that of a recipe which `RecipeInput` has accepted.
    package init(stored text: [UInt8]) { self.text = text }

    public static func == (one: Recipe, two: Recipe) -> Bool { one === two || one.text == two.text }

    /// The members with their text; none if the text is not an object.
    var parts: [(name: String, value: JSONValue)] {
        // One value of a preset or a template may be deep: it was accepted once.
        guard let document = try? JSONDocument(parsing: text) else { return [] }
        return document.root.members.map { ($0.key, $0.value) }
    }

    /// The method of its requests.
    package var method: RecipePlan.Method {
        parts.first { $0.name == "method" }?.value.string.flatMap(RecipePlan.Method.init) ?? .post
    }

    /// Whether the body is that of the delegate's `format`.
    var hasPlainBody: Bool { !parts.contains { $0.name == "body" } }

    /// The members as they may be shown: without the secrets of `auth`.
    package var shown: [(name: String, value: RawJSON)] {
        parts.map { name, value in
            (name, RawJSON(name == "auth" ? RecipeAuth.withoutSecrets(value)[...] : value.bytes[...]))
        }
    }
}

extension Recipe: CustomStringConvertible, CustomReflectable {
    /// The names of the members.
    public var description: String { "Recipe(\(parts.map(\.name).joined(separator: ", ")))" }
    /// Empty, so that `dump` shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
