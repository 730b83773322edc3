import JSON

/// One value held against a schema: what was found, and how much more may be done.
struct Validation {
    let nodes: [SchemaNode]
    let limit: Int
    private var violations: [Violation] = []
    /// Where in the value we are.
    private var path: [Step] = []
    /// Schemas whose verdict is asked for, not their reasons: these may be inside each other.
    private var silence = 0
    private var depth = 0
    private var work = JSONSchema.maxWork
    /// The verdict will be no, whatever is found out now.
    private var gaveUp: String?

    var hasGivenUp: Bool { gaveUp != nil }

    enum Step {
        case key(String)
        case index(Int)
    }

    init(nodes: [SchemaNode], limit: Int) {
        self.nodes = nodes
        self.limit = max(1, limit)
    }

    mutating func run(_ value: JSONValue) -> [Violation] {
        let isValid = check(0, value)
        if let gaveUp { return violations.prefix(limit - 1) + [Violation(pointer: "", detail: gaveUp)] }
        assert(isValid == violations.isEmpty)
        return violations
    }

    // MARK: Control

    /// Whether the value fits. Goes on after a violation only to find more of them to report.
    mutating func check(_ node: Int, _ value: JSONValue) -> Bool {
        guard depth < JSONSchema.maxDepth else {
            return giveUp("can't be checked: the schema is nested too deep for it")
        }
        depth += 1
        defer { depth -= 1 }
        var isValid = true
        for assertion in nodes[node].assertions {
            guard spend(1) else { return false }
            if !holds(assertion, value) {
                isValid = false
                if isEnough { break }
            }
        }
        return isValid
    }

    /// The same without reasons.
    mutating func accepts(_ node: Int, _ value: JSONValue) -> Bool {
        silence += 1
        defer { silence -= 1 }
        return check(node, value)
    }

    /// The same one step into the value.
    mutating func check(_ node: Int, _ value: JSONValue, at step: Step) -> Bool {
        path.append(step)
        defer { path.removeLast() }
        return check(node, value)
    }

    /// Whether a failure that was found is all that is wanted.
    var isEnough: Bool { silence > 0 || violations.count >= limit || gaveUp != nil }

    mutating func spend(_ steps: Int) -> Bool {
        work -= steps
        return work > 0 || giveUp("can't be checked: it would take too much work")
    }

    /// Does work that counts for itself.
    mutating func spending<Result>(_ body: (inout Int) -> Result) -> Result {
        let result = body(&work)
        _ = spend(0)
        return result
    }

    private mutating func giveUp(_ reason: String) -> Bool {
        if gaveUp == nil { gaveUp = reason }
        return false
    }

    /// Always false.
    mutating func violation(_ detail: @autoclosure () -> String, at step: Step? = nil) -> Bool {
        guard !isEnough else { return false }
        let place = (path + [step].compactMap { $0 }).reduce("") { parent, step in
            switch step {
            case .key(let key): pointer(parent, key)
            case .index(let index): "\(parent)/\(index)"
            }
        }
        violations.append(Violation(pointer: place, detail: detail()))
        return false
    }

    // MARK: Assertions

    private mutating func holds(_ assertion: Assertion, _ value: JSONValue) -> Bool {
        switch assertion {
        case .never: violation("is not allowed here")
        case .type(let types): type(value, isOneOf: types)
        case .oneOfValues(let values): values.contains { equal($0, value) } || violation(Self.words(values))
        case .number(let limit): value.number.map { limit.allows($0) } != false || violation(limit.words)
        case .minLength, .maxLength, .pattern, .format: value.kind != .string || stringHolds(assertion, value)
        case .properties, .propertyNames, .required, .minProperties, .maxProperties, .dependentRequired,
            .dependentSchemas:
            value.kind != .object || objectHolds(assertion, value)
        case .prefixItems, .items, .contains, .minItems, .maxItems, .uniqueItems:
            value.kind != .array || arrayHolds(assertion, value)
        case .reference(let node): check(node, value)
        case .allOf(let nodes): all(nodes, value)
        case .anyOf(let nodes):
            nodes.contains { accepts($0, value) } || violation("must fit one of \(nodes.count) schemas, but fits none")
        case .oneOf(let nodes): one(of: nodes, value)
        case .not(let node): !accepts(node, value) || violation("must not fit a schema that it fits")
        case .condition(let test, let then, let otherwise):
            (accepts(test, value) ? then : otherwise).map { check($0, value) } ?? true
        }
    }

    private mutating func type(_ value: JSONValue, isOneOf types: TypeSet) -> Bool {
        let (type, words): (TypeSet, String) =
            switch value.kind {
            case .null: (.null, "null")
            case .bool: (.boolean, "a boolean")
            case .object: (.object, "an object")
            case .array: (.array, "an array")
            case .string: (.string, "a string")
            case .number: (value.number?.isInteger == true ? [.number, .integer] : .number, "a number")
            }
        return !types.isDisjoint(with: type) || violation("must be \(types.words), not \(words)")
    }

    private mutating func all(_ nodes: [Int], _ value: JSONValue) -> Bool {
        var isValid = true
        for node in nodes where !check(node, value) {
            isValid = false
            if isEnough { break }
        }
        return isValid
    }

    private mutating func one(of nodes: [Int], _ value: JSONValue) -> Bool {
        var fitting = 0
        for node in nodes where accepts(node, value) {
            fitting += 1
            if fitting > 1 { break }
        }
        return fitting == 1
            || violation(
                "must fit exactly one of \(nodes.count) schemas, but fits \(fitting == 0 ? "none" : "several")")
    }

    mutating func equal(_ one: JSONValue, _ two: JSONValue) -> Bool {
        spending { work in one.equals(two, &work) }
    }

    private static func words(_ values: [JSONValue]) -> String {
        let shown = values.prefix(10).map { value in
            value.byteRange.count <= 60 ? String(decoding: value.bytes, as: UTF8.self) : "…"
        }
        let list = shown.joined(separator: ", ") + (values.count > shown.count ? ", …" : "")
        return values.count == 1 ? "must be \(list)" : "must be one of \(list)"
    }
}
