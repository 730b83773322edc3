/// Compiles a schema to nodes. Uses a queue, so that neither nesting nor references make it recurse.
struct SchemaCompiler {
    private let root: JSONValue
    let dialect: Dialect
    /// Whether `format` is checked.
    let assertsFormats: Bool
    private(set) var resources: SchemaResources
    /// The resource of the schema that is compiled now.
    private(set) var resource = 0
    var problems: [SchemaProblem] = []
    /// The parts of the schema that are not checked.
    private(set) var unchecked: [SchemaProblem] = []
    private var nodes: [SchemaNode] = []
    private var indices: [SchemaResources.Place: Int] = [:]
    private var pointers: [String] = []
    private var queue: [(index: Int, value: JSONValue)] = []
    private var isDynamic = false
    /// The nodes of the dynamic anchors of each resource; empty without dynamic references.
    private(set) var dynamicAnchors: [[String: Int]] = []
    /// The instructions of all patterns.
    private(set) var patternSize = 0
    private(set) var budget: WorkBudget

    private static let maxPatternSize = 50_000
    private static let maxProblems = 50

    init(_ root: JSONValue, assertsFormats: Bool, _ budget: WorkBudget) {
        self.root = root
        self.assertsFormats = assertsFormats
        self.budget = budget
        dialect = root["$schema"]?.string.flatMap(Dialect.init(uri:)) ?? .draft2020
        resources = SchemaResources(root, dialect, &self.budget)
        problems = Array(resources.problems.prefix(Self.maxProblems))
    }

    mutating func compile() throws(SchemaError) -> [SchemaNode] {
        _ = node(root, at: "")
        var next = 0
        repeat {
            while next < queue.count, problems.count < Self.maxProblems, !budget.isSpent {
                let (index, value) = queue[next]
                resource = nodes[index].resource
                nodes[index].assertions = read(value, at: pointers[index])
                next += 1
            }
        } while addDynamicAnchors()
        if budget.isSpent { fail("", "takes too much work to read") }
        if problems.isEmpty { refuseEndlessReferences() }
        guard problems.isEmpty else { throw SchemaError(problems) }
        return nodes
    }

    /// Compiles the dynamic anchors of resources that have none yet: a reference may have added one.
    /// - Returns: whether there were such resources.
    private mutating func addDynamicAnchors() -> Bool {
        let new = resources.resources.dropFirst(dynamicAnchors.count)
        guard isDynamic, !new.isEmpty, problems.isEmpty, !budget.isSpent else { return false }
        for resource in new { dynamicAnchors.append(resource.dynamicAnchors.mapValues { node($0) }) }
        return true
    }

    mutating func fail(_ pointer: String, _ detail: String) {
        budget.spend(20 + (pointer.utf8.count + detail.utf8.count) / 4)
        if problems.count < Self.maxProblems { problems.append(.init(pointer, detail)) }
    }

    mutating func refuse<Value>(_ pointer: String, _ detail: String) -> Value? {
        fail(pointer, detail)
        return nil
    }

    /// Records a part of the schema that is accepted and not checked.
    mutating func leaveOut(_ pointer: String, _ reason: String) {
        budget.spend(20 + (pointer.utf8.count + reason.utf8.count) / 4)
        if unchecked.count < Self.maxProblems { unchecked.append(.init(pointer, reason)) }
    }

    /// Which nodes are subschemas of several nodes, or several times of one.
    static func shared(_ nodes: [SchemaNode]) -> [Bool] {
        var uses = [Int](repeating: 0, count: nodes.count)
        for node in nodes { for subschema in node.subschemas { uses[subschema] += 1 } }
        // The root is used by the validation itself.
        if !uses.isEmpty { uses[0] += 1 }
        return uses.map { $0 > 1 }
    }

    /// The node of a subschema, which is compiled later.
    mutating func node(_ value: JSONValue, at pointer: String) -> Int {
        node(
            SchemaResources.Location(
                value: value, pointer: pointer, resource: resources.resource(of: value, near: resource)))
    }

    private mutating func node(_ schema: SchemaResources.Location) -> Int {
        // Deep pointers are long, and there may be thousands. The result does not count when the budget is exhausted.
        guard budget.spend(10 + schema.pointer.utf8.count / 4) else { return 0 }
        let place = resources.place(of: schema.value, in: schema.resource)
        if let index = indices[place] { return index }
        let index = nodes.count
        indices[place] = index
        pointers.append(schema.pointer)
        nodes.append(SchemaNode(resource: schema.resource))
        queue.append((index, schema.value))
        return index
    }

    // MARK: One schema

    private mutating func read(_ schema: JSONValue, at place: String) -> [Assertion] {
        if let isAnything = schema.bool { return isAnything ? [] : [.never] }
        guard schema.kind == .object else {
            fail(place, "must be a schema: an object, true or false")
            return []
        }
        if dialect.ignoresSiblingsOfReferences, let reference = schema["$ref"] {
            for (keyword, _) in schema.members where keyword != "$ref" && keyword != "definitions" {
                guard budget.spend(10 + (place.utf8.count + keyword.utf8.count) / 4) else { break }
                if dialect.describes(keyword) { continue }
                leaveOut(JSONPointer.child(place, keyword), "is not checked: draft 7 ignores what is beside $ref")
            }
            return [assertion("$ref", reference, place + "/$ref", in: schema, place)].compactMap { $0 }
        }
        var assertions: [Assertion] = []
        // They depend on the keywords beside them.
        var last: [Assertion] = []
        for (keyword, value) in schema.members {
            guard budget.spend(10 + (place.utf8.count + keyword.utf8.count) / 4) else { break }
            let at = JSONPointer.child(place, keyword)
            guard dialect.checks(keyword) || dialect.describes(keyword) else {
                leaveOut(at, "is not checked: it is no keyword that Herald checks")
                continue
            }
            guard let assertion = assertion(keyword, value, at, in: schema, place) else { continue }
            if case .unevaluated = assertion { last.append(assertion) } else { assertions.append(assertion) }
        }
        if let rules = properties(schema, place) { assertions.append(.properties(rules)) }
        return assertions + last
    }

    mutating func compilePattern(_ text: String, _ place: String) -> Pattern? {
        guard patternSize < Self.maxPatternSize else {
            return refuse(place, "is not checked: the patterns before it use up the limit")
        }
        guard budget.spend(2 * text.utf8.count) else { return nil }
        do throws(PatternError) {
            let pattern = try Pattern(text)
            budget.spend(4 * pattern.size)
            patternSize += pattern.size
            return pattern
        } catch {
            patternSize += Pattern.maxSize
            return refuse(place, "is not a pattern that can be checked: \(error.detail)")
        }
    }

    // MARK: References

    mutating func reference(_ text: String, _ place: String) -> Int? {
        budget.spend(text.utf8.count)
        return find(text, place).map { node($0) }
    }

    /// A reference that is resolved for each value: to the outermost open resource with the same dynamic anchor.
    mutating func dynamicReference(_ text: String, _ place: String) -> Assertion? {
        budget.spend(text.utf8.count)
        guard let location = find(text, place) else { return nil }
        let target = node(location)
        guard let name = resources.dynamicAnchor(text, location) else { return .reference(target) }
        isDynamic = true
        return .dynamicReference(name, otherwise: target)
    }

    private mutating func find(_ text: String, _ place: String) -> SchemaResources.Location? {
        if let location = resources.find(text, from: resource, &budget) { return location }
        // It may be in this schema: the search was given up.
        if budget.isSpent { return nil }
        return refuse(
            place,
            "names \(text.shortened()), which is not in this schema: references must point into it, such as "
                + "\"#/$defs/address\"")
    }

    /// Refuses schemas that refer to themselves for the same value.
    private mutating func refuseEndlessReferences() {
        enum Mark { case new, open, done }
        var marks = [Mark](repeating: .new, count: nodes.count)
        for start in nodes.indices where marks[start] == .new {
            // Depth first without recursion, because a chain may be as long as the schema.
            var path: [(node: Int, rest: [Int])] = [(start, nodes[start].inPlace)]
            marks[start] = .open
            while let last = path.indices.last {
                guard let next = path[last].rest.popLast() else {
                    marks[path[last].node] = .done
                    path.removeLast()
                    continue
                }
                switch marks[next] {
                case .done: break
                case .open: return fail(pointers[next], "refers to itself without end")
                case .new:
                    marks[next] = .open
                    path.append((next, nodes[next].inPlace))
                }
            }
        }
    }
}
