package import HeraldJSON

/// The limits of templates.
package enum TemplateLimits {
    /// Bytes of a template, as compact JSON.
    package static let bytes = 16_384
    /// Nested objects and arrays of a template, including those of directives.
    package static let depth = 16
    /// Values and placeholders of a template.
    package static let nodes = 500
    /// Bytes of a header, a path or a value of a query: of the template, and of the text it makes.
    package static let textBytes = 4_096
    /// Elements of an array that `$each` repeats.
    package static let elements = 100
    /// The steps for all templates of one request: at most 2.5 ms.
    package static let steps = 100_000
    /// Bytes of a body, and of each text on the way.
    package static let outputBytes = 262_144
    /// For the JSON that templates have made. The depth is that of a template, and of the data of an event in it.
    package static let rendered = JSONLimits(depth: depth + JSONLimits.standard.depth, values: .max, keyBytes: .max)
}
