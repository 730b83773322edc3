public import HeraldJSON

/// A JSON Schema, dialect 2020-12, compiled once and used by any thread.
///
/// It knows what schemas of payloads are made of and refuses the rest when it is compiled, so that nothing it accepts goes
/// unchecked:
///
/// - `type`, `enum`, `const`; `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`; `minLength`,
///   `maxLength`, `pattern`, `format`
/// - `properties`, `patternProperties`, `additionalProperties`, `propertyNames`, `required`, `minProperties`,
///   `maxProperties`, `dependentRequired`, `dependentSchemas`
/// - `prefixItems`, `items`, `contains`, `minContains`, `maxContains`, `minItems`, `maxItems`, `uniqueItems`
/// - `allOf`, `anyOf`, `oneOf`, `not`, `if`, `then`, `else`, `$ref` within the document (`#/…`), `$defs`, `true`, `false`
/// - annotations, which check nothing: `title`, `description`, `default`, `examples`, `deprecated`, `readOnly`,
///   `writeOnly`, `$comment`, and at the top `$schema` and `$id`
///
/// `format` is checked, and must be one of ``Format``. Patterns are those of ECMA-262 without backreferences and
/// lookaround, matched in time linear in the text. Numbers are compared without loss.
public struct JSONSchema: Sendable {
    /// Of the schema's text.
    public static let maxBytes = 65_536
    /// Schemas inside each other that one validation may be in, by nesting and by reference.
    public static let maxDepth = 256

    /// The first is the whole schema.
    let nodes: [SchemaNode]
    /// Those that several ways lead to.
    let isShared: [Bool]
    /// How much memory it takes, in units of a node or an instruction of a pattern: 100 bytes or so.
    public let size: Int

    /// - Parameter budget: what reading it may cost. When it is spent, the schema is refused.
    /// - Throws: all that is wrong with the schema.
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

    /// What of a value doesn't fit the schema.
    /// - Parameters:
    ///   - limit: how many to name.
    ///   - budget: what the check may cost. When it is spent, the answer means nothing.
    /// - Returns: nothing, when the value is valid.
    public func violations(of value: JSONValue, limit: Int = 20, within budget: inout WorkBudget) -> [Violation] {
        var validation = Validation(self, limit: limit, budget)
        defer { budget = validation.budget }
        return validation.run(value)
    }
}

/// One thing that doesn't fit a schema.
public struct Violation: Hashable, Sendable {
    /// Where: a JSON pointer into the value, `""` for the whole.
    public let pointer: String
    /// What is asked for, in words.
    public let detail: String
}

/// Why a schema can't be used: all that is wrong with it, at least one thing.
public struct SchemaError: Error, Hashable, Sendable {
    public struct Problem: Hashable, Sendable {
        /// Where: a JSON pointer into the schema.
        public let pointer: String
        /// What, and what is allowed, in words.
        public let detail: String

        init(_ pointer: String, _ detail: String) {
            self.pointer = pointer
            self.detail = detail
        }
    }

    public let problems: [Problem]

    init(_ problems: [Problem]) { self.problems = problems }
}
