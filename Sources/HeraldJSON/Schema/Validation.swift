/// The validation of one value: its violations, and the remaining budget.
struct Validation {
    private let schema: JSONSchema
    var nodes: [SchemaNode] { schema.nodes }
    private let limit: Int
    private(set) var budget: WorkBudget
    private var violations: [SchemaProblem] = []
    /// The current position in the value.
    private var path: [Step] = []
    /// Nested schemas of which only the result is needed, not the reasons.
    private var silence = 0
    private var depth = 0
    /// The resources of the schemas that are being evaluated, outermost first; empty without dynamic references.
    private var openResources: [Int] = []
    /// The schema is nested too deep for the value: the result is negative, whatever follows.
    private var isTooDeep = false
    /// Results of schemas that may be evaluated more than once for a value: without this cache, definitions that refer
    /// to each other twice would take exponential time.
    private var verdicts: [Place: Verdict] = [:]
    /// Memory for the names of members.
    private lazy var parser = JSONParser()

    private struct Place: Hashable {
        let node: Int
        /// The start of the value in its text.
        let value: Int
    }

    private enum Verdict {
        case fits, fails
        /// It fails, and the reasons were reported.
        case reported
    }

    /// Further results are meaningless.
    var hasGivenUp: Bool { isTooDeep || budget.isSpent }

    enum Step {
        case key(String)
        case index(Int)
    }

    init(_ schema: JSONSchema, limit: Int, _ budget: WorkBudget) {
        self.schema = schema
        self.limit = max(1, limit)
        self.budget = budget
    }

    mutating func run(_ value: JSONValue) -> [SchemaProblem] {
        let isValid = check(0, value)
        if isTooDeep {
            let detail = "can't be checked: the schema is nested too deep for it"
            return violations.prefix(limit - 1) + [SchemaProblem("", detail)]
        }
        assert(hasGivenUp || isValid == violations.isEmpty)
        return violations
    }

    // MARK: Control

    /// Whether the value is valid. Continues after a violation only to report more of them.
    mutating func check(_ node: Int, _ value: JSONValue) -> Bool {
        // With dynamic references a result depends on the open resources, too.
        guard schema.isShared[node], !schema.isDynamic else { return evaluate(node, value) }
        let place = Place(node: node, value: value.byteRange.lowerBound)
        guard spend(10) else { return false }
        switch verdicts[place] {
        case .fits: return true
        case .reported: return false
        // If reasons are needed, it is evaluated again: once.
        case .fails: if silence > 0 { return false }
        case nil: break
        }
        let isValid = evaluate(node, value)
        if !hasGivenUp { verdicts[place] = isValid ? .fits : silence > 0 ? .fails : .reported }
        return isValid
    }

    private mutating func evaluate(_ node: Int, _ value: JSONValue) -> Bool {
        inside(node) { validation in
            var isValid = true
            for assertion in validation.nodes[node].assertions {
                guard validation.spend(2) else { return false }
                // It depends on the results of the assertions before it.
                if case .unevaluated(let kind, let schema) = assertion {
                    guard isValid else { break }
                    isValid = validation.othersFit(schema, kind, node, value)
                } else if !validation.holds(assertion, value) {
                    isValid = false
                    if validation.isEnough { break }
                }
            }
            return isValid
        } ?? false
    }

    /// Runs work on a schema one level deeper, in its resource.
    /// - Returns: `nil` if the schema is nested too deep, or the budget is exhausted.
    mutating func inside<Result>(_ node: Int, _ body: (inout Validation) -> Result) -> Result? {
        guard depth < JSONSchema.maxDepth else {
            isTooDeep = true
            return nil
        }
        guard spend(1) else { return nil }
        depth += 1
        let resource = nodes[node].resource
        let isNew = schema.isDynamic && openResources.last != resource
        if isNew { openResources.append(resource) }
        defer {
            depth -= 1
            if isNew { openResources.removeLast() }
        }
        return body(&self)
    }

    /// The schema with a dynamic anchor.
    mutating func target(of name: String, _ otherwise: Int) -> Int {
        for resource in openResources {
            guard spend(1) else { break }
            if let node = schema.dynamicAnchors[resource][name] { return node }
        }
        return otherwise
    }

    /// Whether the value is valid, without reasons.
    mutating func accepts(_ node: Int, _ value: JSONValue) -> Bool {
        silence += 1
        defer { silence -= 1 }
        return check(node, value)
    }

    /// Checks a value one step into the current one.
    mutating func check(_ node: Int, _ value: JSONValue, at step: Step) -> Bool {
        path.append(step)
        defer { path.removeLast() }
        return check(node, value)
    }

    /// Checks the name of a member, which is a string that is not in the value.
    mutating func accepts(_ node: Int, name: String) -> Bool {
        guard spend(60 + name.utf8.count / 2), let value = try? parser.parse(JSONWriter.document(of: name)) else {
            return false
        }
        var others: [Place: Verdict] = [:]
        swap(&others, &verdicts)
        defer { swap(&others, &verdicts) }
        return accepts(node, value)
    }

    /// Whether no further violations are needed.
    var isEnough: Bool { silence > 0 || violations.count >= limit || hasGivenUp }

    /// - Returns: `false` if the budget is exhausted.
    mutating func spend(_ steps: Int) -> Bool { budget.spend(steps) }

    /// Runs work that spends its own steps.
    mutating func spending<Result>(_ body: (inout WorkBudget) -> Result) -> Result { body(&budget) }

    /// Always returns `false`.
    mutating func violation(_ detail: @autoclosure () -> String, at step: Step? = nil) -> Bool {
        guard !isEnough else { return false }
        let place = (path + [step].compactMap { $0 }).reduce("") { parent, step in
            switch step {
            case .key(let key): JSONPointer.child(parent, key)
            case .index(let index): "\(parent)/\(index)"
            }
        }
        let violation = SchemaProblem(place, detail())
        // Messages cost steps, too: for a thousand values with long names, they are longer than the input.
        budget.spend(20 + 4 * path.count + (violation.pointer.utf8.count + violation.detail.utf8.count) / 2)
        violations.append(violation)
        return false
    }

    // MARK: Assertions

    private mutating func holds(_ assertion: Assertion, _ value: JSONValue) -> Bool {
        switch assertion {
        case .never: violation("is not allowed here")
        case .type(let types): type(value, isOneOf: types)
        case .oneOfValues(let values): values.contains { $0.equals(value, &budget) } || violation(Self.words(values))
        case .number(let limit): numberHolds(limit, value)
        case .minLength, .maxLength, .pattern, .format: value.kind != .string || stringHolds(assertion, value)
        case .properties, .propertyNames, .required, .minProperties, .maxProperties, .dependencies:
            value.kind != .object || objectHolds(assertion, value)
        case .prefixItems, .items, .contains, .minItems, .maxItems, .uniqueItems:
            value.kind != .array || arrayHolds(assertion, value)
        case .reference(let node): check(node, value)
        case .dynamicReference(let name, let otherwise): check(target(of: name, otherwise), value)
        case .allOf(let nodes): all(nodes, value)
        case .anyOf(let nodes):
            nodes.contains { accepts($0, value) }
                || violation("must match one of \(nodes.count) schemas, but matches none")
        case .oneOf(let nodes): one(of: nodes, value)
        case .not(let node): !accepts(node, value) || violation("must not match a schema that it matches")
        case .condition(let test, let then, let otherwise):
            (accepts(test, value) ? then : otherwise).map { check($0, value) } ?? true
        // Evaluated by `evaluate`, which knows the schema that contains it.
        case .unevaluated: true
        }
    }

    private mutating func numberHolds(_ limit: NumberLimit, _ value: JSONValue) -> Bool {
        guard value.kind == .number else { return true }
        // A division takes three steps for each digit.
        let steps = limit.kind == .multipleOf ? 8 + 3 * value.byteRange.count : value.cost + limit.cost
        guard spend(steps), let number = value.number else { return false }
        return limit.allows(number) || violation(limit.words)
    }

    private mutating func type(_ value: JSONValue, isOneOf types: TypeSet) -> Bool {
        guard spend(value.cost) else { return false }
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
                "must match exactly one of \(nodes.count) schemas, but matches \(fitting == 0 ? "none" : "several")")
    }

    private static func words(_ values: [JSONValue]) -> String {
        if values.isEmpty { return "is not allowed here: the enum of the schema is empty" }
        let shown = values.prefix(10).map { value in
            value.byteRange.count <= 60 ? String(decoding: value.bytes, as: UTF8.self) : "…"
        }
        let list = shown.joined(separator: ", ") + (values.count > shown.count ? ", …" : "")
        return values.count == 1 ? "must be \(list)" : "must be one of \(list)"
    }
}
