/// Compiles one keyword at a time.
extension SchemaCompiler {
    /// - Parameters:
    ///   - place: the pointer of the keyword.
    ///   - schema: the schema with the keyword, at `parent`.
    /// - Returns: `nil` if the keyword is invalid, or asserts nothing by itself.
    mutating func assertion(
        _ keyword: String, _ value: JSONValue, _ place: String, in schema: JSONValue, _ parent: String
    ) -> Assertion? {
        switch keyword {
        case "$schema": return dialect(value, place)
        case "$id", "$anchor", "$dynamicAnchor":
            _ = string(value, place)
            return nil
        case "$defs", "definitions":
            _ = subschemas(byKey: value, place)
            return nil
        case "$ref": return string(value, place).flatMap { reference($0, place) }.map(Assertion.reference)
        case "$dynamicRef", "$recursiveRef": return string(value, place).flatMap { dynamicReference($0, place) }
        case "type": return types(value, place).map(Assertion.type)
        case "const": return .oneOfValues([value])
        case "enum":
            if value.kind == .array { return .oneOfValues(Array(value.elements)) }
            return refuse(place, "must be an array")
        case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
            return numberLimit(keyword, value, place).map(Assertion.number)
        case "minLength": return count(value, place).map(Assertion.minLength)
        case "maxLength": return count(value, place).map(Assertion.maxLength)
        case "pattern": return string(value, place).flatMap { compilePattern($0, place) }.map(Assertion.pattern)
        case "format": return format(value, place).map(Assertion.format)
        // Compiled together, by `properties(_:_:)`.
        case "properties", "patternProperties", "additionalProperties": return nil
        case "propertyNames": return .propertyNames(node(value, at: place))
        case "required": return strings(value, place).map(Assertion.required)
        case "minProperties": return count(value, place).map(Assertion.minProperties)
        case "maxProperties": return count(value, place).map(Assertion.maxProperties)
        case "dependentRequired", "dependentSchemas", "dependencies":
            return dependencies(keyword, value, place).map(Assertion.dependencies)
        case "prefixItems": return subschemas(value, place).map(Assertion.prefixItems)
        case "items": return items(value, place, schema)
        case "additionalItems":
            guard let items = schema["items"], items.kind == .array else { return nil }
            return .items(start: items.count, node: node(value, at: place))
        case "unevaluatedItems":
            return .unevaluated(
                .elements(countsContained: dialect.evaluatesContained), node: node(value, at: place))
        case "unevaluatedProperties": return .unevaluated(.members, node: node(value, at: place))
        case "contains": return contains(value, place, schema)
        case "minContains", "maxContains":
            _ = count(value, place)
            return nil
        case "minItems": return count(value, place).map(Assertion.minItems)
        case "maxItems": return count(value, place).map(Assertion.maxItems)
        case "uniqueItems": return bool(value, place) == true ? .uniqueItems : nil
        case "allOf": return subschemas(value, place).map(Assertion.allOf)
        case "anyOf": return subschemas(value, place).map(Assertion.anyOf)
        case "oneOf": return subschemas(value, place).map(Assertion.oneOf)
        case "not": return .not(node(value, at: place))
        case "then", "else":
            // Without `if` it has no effect, and its errors are reported all the same.
            if schema["if"] == nil { _ = node(value, at: place) }
            return nil
        case "if": return condition(value, place, schema, parent)
        default: return nil
        }
    }

    // MARK: Values of keywords

    private mutating func string(_ value: JSONValue, _ place: String) -> String? {
        if value.string == nil { fail(place, "must be a string") }
        return value.string
    }

    private mutating func bool(_ value: JSONValue, _ place: String) -> Bool? {
        if value.bool == nil { fail(place, "must be true or false") }
        return value.bool
    }

    private mutating func count(_ value: JSONValue, _ place: String) -> Int? {
        guard let number = value.number, number.isInteger, let double = value.double, double >= 0 else {
            return refuse(place, "must be a whole number, 0 or more")
        }
        // No text is longer.
        return Int(min(double, 0x1p52))
    }

    private mutating func strings(_ value: JSONValue, _ place: String) -> [String]? {
        let strings = value.elements.compactMap(\.string)
        guard value.kind == .array, strings.count == value.count else {
            return refuse(place, "must be an array of strings")
        }
        return strings
    }

    private mutating func subschemas(_ value: JSONValue, _ place: String) -> [Int]? {
        guard value.kind == .array, value.count > 0 else {
            return refuse(place, "must be an array of at least one schema")
        }
        return value.elements.enumerated().map { node($1, at: "\(place)/\($0)") }
    }

    private mutating func subschemas(byKey value: JSONValue, _ place: String) -> [(key: String, node: Int)]? {
        guard value.kind == .object else { return refuse(place, "must be an object whose members are schemas") }
        return value.members.map { ($0.key, node($0.value, at: JSONPointer.child(place, $0.key))) }
    }

    // MARK: Keywords

    private mutating func dialect(_ value: JSONValue, _ place: String) -> Assertion? {
        guard let text = string(value, place) else { return nil }
        if Dialect(uri: text) != dialect {
            let known = Dialect.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            fail(place, "must be one of \(known), and the same in the whole schema")
        }
        return nil
    }

    private mutating func types(_ value: JSONValue, _ place: String) -> TypeSet? {
        let names = value.kind == .array ? value.elements.map(\.string) : [value.string]
        var types: TypeSet = []
        for name in names {
            guard let type = TypeSet.names.first(where: { $0.name == name })?.type else {
                return refuse(place, "must be one or several of " + TypeSet.names.map(\.name).joined(separator: ", "))
            }
            types.insert(type)
        }
        if names.isEmpty { fail(place, "must name at least one type") }
        return types
    }

    private mutating func numberLimit(_ keyword: String, _ value: JSONValue, _ place: String) -> NumberLimit? {
        guard let kind = NumberLimit.Kind(rawValue: keyword), let number = value.number else {
            return refuse(place, "must be a number")
        }
        if kind == .multipleOf, !number.isPositive || number.digitCount > JSONNumber.maxDivisorDigits {
            return refuse(place, "must be more than 0 and have at most \(JSONNumber.maxDivisorDigits) digits")
        }
        return NumberLimit(
            kind: kind, number: number, text: String(decoding: value.bytes, as: UTF8.self).shortened(),
            cost: value.cost)
    }

    private mutating func format(_ value: JSONValue, _ place: String) -> Format? {
        guard let name = string(value, place) else { return nil }
        guard let format = Format(rawValue: name) else {
            leaveOut(place, "is not checked: Herald does not support the format \(name.shortened())")
            return nil
        }
        if !assertsFormats { leaveOut(place, "is not checked: set assert_formats to true to check it") }
        return assertsFormats ? format : nil
    }

    mutating func properties(_ schema: JSONValue, _ place: String) -> PropertyRules? {
        let (named, patterns, others) = (
            schema["properties"], schema["patternProperties"], schema["additionalProperties"]
        )
        guard named != nil || patterns != nil || others != nil else { return nil }
        var rules = PropertyRules()
        if let named {
            for (key, node) in subschemas(byKey: named, place + "/properties") ?? [] {
                rules.named[ExactText(key)] = node
            }
        }
        if let patterns {
            let place = place + "/patternProperties"
            for (key, node) in subschemas(byKey: patterns, place) ?? [] {
                guard let pattern = compilePattern(key, JSONPointer.child(place, key)) else { continue }
                rules.patterns.append((pattern, node))
            }
        }
        rules.others = others.map { node($0, at: place + "/additionalProperties") }
        return rules
    }

    private mutating func dependencies(_ keyword: String, _ value: JSONValue, _ place: String) -> [Dependency]? {
        guard value.kind == .object else {
            let contents =
                switch keyword {
                case "dependentRequired": "arrays of names"
                case "dependentSchemas": "schemas"
                default: "schemas or arrays of names"
                }
            return refuse(place, "must be an object whose members are \(contents)")
        }
        return value.members.compactMap { key, value in
            let place = JSONPointer.child(place, key)
            if keyword == "dependentRequired" || keyword == "dependencies" && value.kind == .array {
                return strings(value, place).map { Dependency(key: key, required: $0) }
            }
            return Dependency(key: key, node: node(value, at: place))
        }
    }

    private mutating func items(_ value: JSONValue, _ place: String, _ schema: JSONValue) -> Assertion? {
        guard value.kind == .array else {
            let prefix = dialect.hasArraysOfItems ? 0 : schema["prefixItems"]?.count ?? 0
            return .items(start: prefix, node: node(value, at: place))
        }
        if dialect.hasArraysOfItems {
            return .prefixItems(value.elements.enumerated().map { node($1, at: "\(place)/\($0)") })
        }
        return refuse(place, "must be one schema; an array of schemas is prefixItems")
    }

    private mutating func contains(_ value: JSONValue, _ place: String, _ schema: JSONValue) -> Assertion? {
        // Errors in these keywords are reported at their own pointers.
        func bound(_ keyword: String) -> Int? {
            guard dialect.checks(keyword) else { return nil }
            return schema[keyword]?.double.map { Int(max(0, min($0, 0x1p52))) }
        }
        return .contains(node: node(value, at: place), min: bound("minContains") ?? 1, max: bound("maxContains"))
    }

    private mutating func condition(
        _ value: JSONValue, _ place: String, _ schema: JSONValue, _ parent: String
    ) -> Assertion? {
        .condition(
            test: node(value, at: place), then: schema["then"].map { node($0, at: parent + "/then") },
            otherwise: schema["else"].map { node($0, at: parent + "/else") })
    }
}
