public import HeraldJSON

/// A JSON Schema, dialect 2020-12, compiled once and used by any thread.
///
/// It supports the keywords that schemas of payloads use, and refuses others when it is compiled, so that no accepted
/// keyword is ignored:
///
/// - `type`, `enum`, `const`; `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`; `minLength`,
///   `maxLength`, `pattern`, `format`
/// - `properties`, `patternProperties`, `additionalProperties`, `propertyNames`, `required`, `minProperties`,
///   `maxProperties`, `dependentRequired`, `dependentSchemas`
/// - `prefixItems`, `items`, `contains`, `minContains`, `maxContains`, `minItems`, `maxItems`, `uniqueItems`
/// - `allOf`, `anyOf`, `oneOf`, `not`, `if`, `then`, `else`, `$ref` within the document (`#/…`), `$defs`, `true`,
///   `false`
/// - annotations, which validate nothing: `title`, `description`, `default`, `examples`, `deprecated`, `readOnly`,
///   `writeOnly`, `$comment`, and at the top `$schema` and `$id`
///
/// `format` is validated, and must be one of ``Format``. Patterns are those of ECMA-262 without backreferences and
/// lookaround, matched in time linear in the text. Numbers are compared without loss.
public struct JSONSchema: Sendable {
    /// The limit of the schema's text.
    public static let maxBytes = 65_536
    /// The maximum nesting of schemas in a validation, including references.
    public static let maxDepth = 256

    /// The first is the whole schema.
    let nodes: [SchemaNode]
    /// Nodes that several parents use.
    let isShared: [Bool]
    /// Its memory, in units of a node or an instruction of a pattern: about 100 bytes.
    public let size: Int

    /// - Parameter budget: for reading the schema. If it is exhausted, the schema is refused.
    /// - Throws: all errors of the schema.
    public init(_ value: JSONValue, within budget: inout WorkBudget) throws(SchemaError) {
        guard value.byteRange.count <= Self.maxBytes else {
            throw SchemaError([.init("", "must have at most \(Self.maxBytes) bytes, not \(value.byteRange.count)")])
        }
        var compiler = SchemaCompiler(value, budget)
        defer { budget = compiler.budget }
        nodes = try compiler.compile()
        isShared = SchemaCompiler.shared(nodes)
        size = nodes.count + compiler.patternSize + value.byteRange.count / 16
    }

    /// The violations of a value.
    /// - Parameters:
    ///   - limit: the maximum number of violations.
    ///   - budget: for the validation. If it is exhausted, the result is meaningless.
    /// - Returns: an empty array if the value is valid.
    public func violations(of value: JSONValue, limit: Int = 20, within budget: inout WorkBudget) -> [Violation] {
        var validation = Validation(self, limit: limit, budget)
        defer { budget = validation.budget }
        return validation.run(value)
    }
}

/// One violation of a schema.
public struct Violation: Hashable, Sendable {
    /// A JSON pointer into the value, `""` for the whole.
    public let pointer: String
    /// A description of the requirement.
    public let detail: String
}

/// Why a schema can't be used: all errors, at least one.
public struct SchemaError: Error, Hashable, Sendable {
    public struct Problem: Hashable, Sendable {
        /// A JSON pointer into the schema.
        public let pointer: String
        /// A description of the error, and of what is allowed.
        public let detail: String

        init(_ pointer: String, _ detail: String) {
            self.pointer = pointer
            self.detail = detail
        }
    }

    public let problems: [Problem]

    init(_ problems: [Problem]) { self.problems = problems }
}
