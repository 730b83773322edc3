/// A compiled schema or subschema. Subschemas are named by their index in ``JSONSchema/nodes``.
struct SchemaNode: Sendable {
    var assertions: [Assertion] = []
    /// Index of the schema with an `$id` that contains it.
    let resource: Int

    /// All subschemas.
    var subschemas: [Int] {
        assertions.flatMap { assertion -> [Int] in
            switch assertion {
            case .properties(let rules):
                Array(rules.named.values) + rules.patterns.map(\.node) + [rules.others].compactMap { $0 }
            case .propertyNames(let node), .items(_, let node), .contains(let node, _, _), .unevaluated(_, let node):
                [node]
            case .prefixItems(let nodes): nodes
            default: []
            }
        } + inPlace
    }

    /// Subschemas that are applied to the same value: a cycle of these would never end.
    var inPlace: [Int] {
        assertions.flatMap { assertion -> [Int] in
            switch assertion {
            case .reference(let node), .not(let node), .dynamicReference(_, let node): [node]
            case .allOf(let nodes), .anyOf(let nodes), .oneOf(let nodes): nodes
            case .condition(let test, let then, let otherwise): [test, then, otherwise].compactMap { $0 }
            case .dependencies(let dependencies): dependencies.compactMap(\.node)
            default: []
            }
        }
    }
}

enum Assertion: Sendable {
    /// The schema `false`.
    case never
    case type(TypeSet)
    case oneOfValues([JSONValue])

    case number(NumberLimit)
    case minLength(Int)
    case maxLength(Int)
    case pattern(Pattern)
    case format(Format)

    case properties(PropertyRules)
    case propertyNames(Int)
    case required([String])
    case minProperties(Int)
    case maxProperties(Int)
    case dependencies([Dependency])

    case prefixItems([Int])
    /// Elements from `start` on.
    case items(start: Int, node: Int)
    case contains(node: Int, min: Int, max: Int?)
    case minItems(Int)
    case maxItems(Int)
    case uniqueItems

    /// Members or elements that no keyword beside it, nor a schema for the same value, has evaluated.
    case unevaluated(Unevaluated, node: Int)

    case reference(Int)
    /// The dynamic anchor `name` of the outermost open resource that has it.
    case dynamicReference(String, otherwise: Int)
    case allOf([Int])
    case anyOf([Int])
    case oneOf([Int])
    case not(Int)
    case condition(test: Int, then: Int?, otherwise: Int?)
}

/// The requirements of an object that has a certain member.
struct Dependency: Sendable {
    let key: String
    /// The names of other members.
    var required: [String] = []
    /// A schema for the object.
    var node: Int?
}

enum Unevaluated: Sendable {
    case members
    /// - Parameter countsContained: elements that match `contains` are evaluated.
    case elements(countsContained: Bool)
}

/// The values of `type`.
struct TypeSet: OptionSet, Sendable {
    let rawValue: UInt8
    static let null = TypeSet(rawValue: 1)
    static let boolean = TypeSet(rawValue: 2)
    static let object = TypeSet(rawValue: 4)
    static let array = TypeSet(rawValue: 8)
    static let number = TypeSet(rawValue: 16)
    static let integer = TypeSet(rawValue: 32)
    static let string = TypeSet(rawValue: 64)

    static let names: [(name: String, article: String, type: TypeSet)] = [
        ("null", "null", .null), ("boolean", "a boolean", .boolean), ("object", "an object", .object),
        ("array", "an array", .array), ("number", "a number", .number), ("integer", "an integer", .integer),
        ("string", "a string", .string),
    ]

    /// `a string or null`
    var words: String { Self.names.filter { contains($0.type) }.map(\.article).joined(separator: " or ") }
}

struct NumberLimit: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        case minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
    }
    let kind: Kind
    let number: JSONNumber
    /// The schema's text, if it is short.
    let text: String
    /// The cost of a comparison, in steps.
    let cost: Int

    func allows(_ value: JSONNumber) -> Bool {
        switch kind {
        case .minimum: value >= number
        case .maximum: value <= number
        case .exclusiveMinimum: value > number
        case .exclusiveMaximum: value < number
        case .multipleOf: value.isMultiple(of: number)
        }
    }

    var words: String {
        switch kind {
        case .minimum: "must be at least \(text)"
        case .maximum: "must be at most \(text)"
        case .exclusiveMinimum: "must be more than \(text)"
        case .exclusiveMaximum: "must be less than \(text)"
        case .multipleOf: "must be a multiple of \(text)"
        }
    }
}

/// The three keywords that apply to an object's members.
struct PropertyRules: Sendable {
    var named: [ExactText: Int] = [:]
    var patterns: [(pattern: Pattern, node: Int)] = []
    /// For members that match neither a name nor a pattern.
    var others: Int?
}
