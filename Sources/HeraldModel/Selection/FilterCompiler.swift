import HeraldJSON

/// Compiles a filter's JSON to clauses and collects all errors; pointers are into the filter.
struct FilterCompiler {
    private(set) var errors: [FieldError] = []
    /// The accepted values and conditions so far.
    var leaves = 0
    /// Whether to refuse what is valid, but hardly meant.
    private let refusesMistakes: Bool

    init(refusesMistakes: Bool = false) { self.refusesMistakes = refusesMistakes }

    mutating func compile(_ filter: JSONValue) -> [FilterField] {
        guard filter.kind == .object, filter.count > 0 else {
            fail("", "must be an object that names members of the event, such as {\"data\": {\"plan\": [\"pro\"]}}")
            return []
        }
        let fields = fields(filter, "", depth: 2)
        if leaves > ContentFilter.maxLeaves {
            fail(
                "", "must have at most \(ContentFilter.maxLeaves) accepted values and conditions in all, not \(leaves)")
        }
        return fields
    }

    mutating func fail(_ pointer: String, _ detail: String) { errors.append(FieldError(pointer, detail)) }

    mutating func refuse<Value>(_ pointer: String, _ detail: String) -> Value? { errors.refuse(pointer, detail) }

    // MARK: The event

    /// - Parameter depth: that of the members' values.
    private mutating func fields(_ object: JSONValue, _ pointer: String, depth: Int) -> [FilterField] {
        var fields: [FilterField] = []
        for (key, value) in object.members {
            let path = JSONPointer.child(pointer, key)
            if key == FilterClause.alternatives {
                let alternatives = alternatives(value, path, depth: depth) { compiler, value, path in
                    compiler.fields(value, path, depth: depth + 1)
                }
                fields.append(.anyOf(alternatives))
            } else if let field = field(key, value, path, depth: depth) {
                fields.append(field)
            }
        }
        // As in the text of the filter: one from the store uses up as many steps, and explains the same.
        return fields.sorted { $0.key < $1.key }
    }

    private mutating func field(_ key: String, _ value: JSONValue, _ pointer: String, depth: Int) -> FilterField? {
        guard let name = FilterField.Name(rawValue: key) else {
            let known = FilterField.Name.allCases.map(\.rawValue).joined(separator: ", ")
            return refuse(pointer, "is not a member of an event; members are: \(known)")
        }
        if value.kind == .object, name != .data {
            return refuse(pointer, "must be an array of what is accepted: \(key) is a string, not an object")
        }
        if refusesMistakes, name == .type {
            for (index, element) in value.elements.enumerated() where element.string?.contains("*") == true {
                let meant = "{\"wildcard\": \(Self.json(element))}"
                fail("\(pointer)/\(index)", "is no type of an event; a pattern is \(meant)")
            }
        }
        return clause(key, value, pointer, depth: depth).map { .member(name, $0) }
    }

    // MARK: Structure

    private mutating func clause(
        _ key: String, _ value: JSONValue, _ pointer: String, depth: Int
    ) -> FilterClause? {
        switch value.kind {
        case .object:
            guard isAllowed(depth, pointer) else { return nil }
            guard value.count > 0 else {
                return refuse(
                    pointer, "must name a member; {\"exists\": true} in an array tests whether the member exists")
            }
            if refusesMistakes, Self.isBareCondition(value) {
                return refuse(pointer, "must be an array with the condition, [\(Self.compact(value))]")
            }
            return FilterClause(key: key, rule: .members(clauses(value, pointer, depth: depth + 1)))
        case .array:
            guard value.count > 0 else { return refuse(pointer, "must hold at least one accepted value or condition") }
            if refusesMistakes, Self.isBareComparison(value) {
                return refuse(pointer, "must be an array with the condition, [{\"numeric\":\(Self.compact(value))}]")
            }
            let conditions = value.elements.enumerated().compactMap { index, element in
                condition(element, "\(pointer)/\(index)")
            }
            return FilterClause(key: key, rule: .values(FilterValues(conditions)))
        case .string, .number, .bool, .null:
            return refuse(pointer, "must be an array of what is accepted, such as [\(Self.json(value))]")
        }
    }

    /// Whether an object would be a condition in an array. Without one, it examines a member such as `numeric`.
    private static func isBareCondition(_ object: JSONValue) -> Bool {
        var probe = FilterCompiler()
        return probe.condition(object, "") != nil && probe.errors.isEmpty
    }

    /// Whether an array would be the operand of `numeric`. Without it, the array accepts a text such as ">".
    private static func isBareComparison(_ array: JSONValue) -> Bool {
        var probe = FilterCompiler()
        return probe.numeric(array, "") != nil && probe.errors.isEmpty
    }

    /// On one line, and as small as the limit of a filter, which counts no white space.
    private static func compact(_ value: JSONValue) -> String {
        String(decoding: JSONWriter.document(of: CompactJSON(value)), as: UTF8.self)
    }

    private mutating func clauses(_ object: JSONValue, _ pointer: String, depth: Int) -> [FilterClause] {
        var clauses: [FilterClause] = []
        for (key, value) in object.members {
            let path = JSONPointer.child(pointer, key)
            if key == FilterClause.alternatives, Self.areAlternatives(value) {
                let alternatives = alternatives(value, path, depth: depth) { compiler, value, path in
                    compiler.clauses(value, path, depth: depth + 1)
                }
                clauses.append(FilterClause(key: key, rule: .anyOf(alternatives)))
            } else if let clause = clause(key, value, path, depth: depth) {
                clauses.append(clause)
            }
        }
        return clauses.sorted { $0.key < $1.key }
    }

    private mutating func isAllowed(_ depth: Int, _ pointer: String) -> Bool {
        if depth > ContentFilter.maxDepth {
            fail(pointer, "is nested too deep: at most \(ContentFilter.maxDepth) objects inside each other")
        }
        return depth <= ContentFilter.maxDepth
    }

    // MARK: Alternatives

    /// Whether the value of `$or` in the data has alternatives. With conditions alone, or with members, it is a member of
    /// the event with this name.
    private static func areAlternatives(_ value: JSONValue) -> Bool {
        value.elements.contains { $0.kind == .object && !isCondition($0) }
    }

    private static func isCondition(_ object: JSONValue) -> Bool {
        object.members.contains { operators.contains($0.key) }
    }

    /// - Parameter compile: returns the members of one alternative.
    private mutating func alternatives<Member>(
        _ value: JSONValue, _ pointer: String, depth: Int,
        _ compile: (inout FilterCompiler, JSONValue, String) -> [Member]
    ) -> [[Member]] {
        guard value.kind == .array, value.count >= 2 else {
            fail(pointer, "must be an array of two or more objects, one of which must match")
            return []
        }
        var alternatives: [[Member]] = []
        for (index, element) in value.elements.enumerated() {
            let path = "\(pointer)/\(index)"
            guard element.kind == .object, element.count > 0 else {
                fail(path, "must be an object that names members")
                continue
            }
            guard !Self.isCondition(element) else {
                fail(path, "must name members, not conditions: \(Self.operators.joined(separator: ", "))")
                continue
            }
            if isAllowed(depth, path) { alternatives.append(compile(&self, element, path)) }
        }
        return alternatives
    }
}
