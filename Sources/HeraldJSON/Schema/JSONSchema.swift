/// A JSON Schema, compiled once and used by any thread: dialect 2020-12, or 2019-09 or draft 7 if `$schema` says so.
///
/// - All keywords of these dialects' vocabularies for validation and for applying schemas are checked, `$ref`,
///   `$anchor`, `$dynamicRef` and `unevaluatedProperties` among them. References must point into the document.
/// - Other keywords are annotations, as the specification wants it, and ``unchecked`` lists them.
/// - `format` is an annotation unless the schema is compiled with `assertsFormats`. ``Format`` lists the known ones.
/// - Patterns are those of ECMA-262 without backreferences and lookaround, matched in time linear in the text. A schema
///   with another pattern is refused. Numbers are compared without loss.
///
/// Sources: https://json-schema.org/draft/2020-12/json-schema-core and json-schema-validation.
package struct JSONSchema: Sendable {
    /// The limit of the schema's text.
    package static let maxBytes = 65_536
    /// The maximum nesting of schemas in a validation, including references.
    package static let maxDepth = 256

    /// The first is the whole schema.
    let nodes: [SchemaNode]
    /// Nodes that several parents use.
    let isShared: [Bool]
    /// The nodes of the dynamic anchors of each resource; empty without dynamic references.
    let dynamicAnchors: [[String: Int]]
    var isDynamic: Bool { !dynamicAnchors.isEmpty }
    /// The parts of the schema that are accepted and not checked, with the reason: at most 50.
    package let unchecked: [SchemaProblem]
    /// Its memory, in units of a node or an instruction of a pattern: about 100 bytes.
    package let size: Int

    /// - Parameters:
    ///   - assertsFormats: whether `format` is checked.
    ///   - budget: for reading the schema. If it is exhausted, the schema is refused.
    /// - Throws: all errors of the schema.
    package init(
        _ value: JSONValue, assertsFormats: Bool = false, within budget: inout WorkBudget
    ) throws(SchemaError) {
        guard value.byteRange.count <= Self.maxBytes else {
            throw SchemaError([.init("", "must have at most \(Self.maxBytes) bytes, not \(value.byteRange.count)")])
        }
        var compiler = SchemaCompiler(value, assertsFormats: assertsFormats, budget)
        defer { budget = compiler.budget }
        nodes = try compiler.compile()
        isShared = SchemaCompiler.shared(nodes)
        dynamicAnchors = compiler.dynamicAnchors
        unchecked = compiler.unchecked
        size = nodes.count + compiler.patternSize + value.byteRange.count / 16
    }

    /// The violations of a value.
    /// - Parameters:
    ///   - limit: the maximum number of violations.
    ///   - budget: for the validation. If it is exhausted, the result is meaningless.
    /// - Returns: an empty array if the value is valid.
    package func violations(of value: JSONValue, limit: Int = 20, within budget: inout WorkBudget) -> [SchemaProblem] {
        var validation = Validation(self, limit: limit, budget)
        defer { budget = validation.budget }
        return validation.run(value)
    }
}

/// A part of a value that violates a schema, or of a schema that can't be used.
package struct SchemaProblem: Hashable, Sendable {
    /// A JSON pointer into the value or the schema, `""` for the whole.
    package let pointer: String
    /// A description of the error, and of what is allowed.
    package let detail: String

    init(_ pointer: String, _ detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

/// Why a schema can't be used: all errors, at least one.
package struct SchemaError: Error, Hashable, Sendable {
    package let problems: [SchemaProblem]

    init(_ problems: [SchemaProblem]) { self.problems = problems }
}
