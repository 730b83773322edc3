/// A version of JSON Schema: which keywords it has, and how they contain schemas.
enum Dialect: String, CaseIterable, Sendable {
    case draft7 = "http://json-schema.org/draft-07/schema"
    case draft2019 = "https://json-schema.org/draft/2019-09/schema"
    case draft2020 = "https://json-schema.org/draft/2020-12/schema"

    /// The dialect of this `$schema`.
    init?(uri: String) {
        self.init(rawValue: uri.hasSuffix("#") ? String(uri.dropLast()) : uri)
    }

    /// How the value of a keyword contains schemas.
    enum Contents: Sendable {
        case schema, array, map
        /// One schema, or an array of schemas.
        case schemaOrArray
        /// An object of schemas or arrays of names.
        case schemasOrNames
    }

    /// The keywords that contain schemas.
    var applicators: [String: Contents] {
        switch self {
        case .draft7: Self.applicators7
        case .draft2019: Self.applicators2019
        case .draft2020: Self.applicators2020
        }
    }

    /// Whether this keyword says something about values.
    func checks(_ keyword: String) -> Bool {
        if Self.common.contains(keyword) { return true }
        return switch self {
        case .draft7: Self.only7.contains(keyword)
        case .draft2019: Self.since2019.contains(keyword) || Self.only2019.contains(keyword)
        case .draft2020: Self.since2019.contains(keyword) || Self.only2020.contains(keyword)
        }
    }

    /// Whether this keyword is for people, or for the schema itself.
    func describes(_ keyword: String) -> Bool {
        Self.descriptions.contains(keyword) || self != .draft7 && ["$anchor", "$vocabulary"].contains(keyword)
    }

    /// In draft 7 the keywords beside `$ref` are ignored.
    var ignoresSiblingsOfReferences: Bool { self == .draft7 }
    /// `items` may be an array of schemas, which later dialects name `prefixItems`.
    var hasArraysOfItems: Bool { self != .draft2020 }
    /// An element that matches `contains` is evaluated, for `unevaluatedItems`.
    var evaluatesContained: Bool { self == .draft2020 }

    // MARK: Keywords

    private static let common: Set<String> = [
        "$ref", "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
        "minLength", "maxLength", "pattern", "format", "properties", "patternProperties", "additionalProperties",
        "propertyNames", "required", "minProperties", "maxProperties", "items", "contains", "minItems", "maxItems",
        "uniqueItems", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
    ]
    private static let only7: Set<String> = ["definitions", "dependencies", "additionalItems"]
    private static let since2019: Set<String> = [
        "$defs", "dependentRequired", "dependentSchemas", "minContains", "maxContains", "unevaluatedItems",
        "unevaluatedProperties",
    ]
    private static let only2019: Set<String> = ["$recursiveRef", "$recursiveAnchor", "additionalItems"]
    private static let only2020: Set<String> = ["$dynamicRef", "$dynamicAnchor", "prefixItems"]
    private static let descriptions: Set<String> = [
        "$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly",
        "writeOnly",
    ]

    private static let commonApplicators: [String: Contents] = [
        "properties": .map, "patternProperties": .map, "additionalProperties": .schema, "propertyNames": .schema,
        "contains": .schema, "allOf": .array, "anyOf": .array, "oneOf": .array, "not": .schema, "if": .schema,
        "then": .schema, "else": .schema,
    ]
    private static let applicators7 = commonApplicators.merging([
        "definitions": .map, "dependencies": .schemasOrNames, "items": .schemaOrArray, "additionalItems": .schema,
    ]) { $1 }
    private static let laterApplicators = commonApplicators.merging([
        "$defs": .map, "dependentSchemas": .map, "unevaluatedItems": .schema, "unevaluatedProperties": .schema,
    ]) { $1 }
    private static let applicators2019 = laterApplicators.merging([
        "items": .schemaOrArray, "additionalItems": .schema,
    ]) { $1 }
    private static let applicators2020 = laterApplicators.merging([
        "items": .schema, "prefixItems": .array,
    ]) { $1 }
}
