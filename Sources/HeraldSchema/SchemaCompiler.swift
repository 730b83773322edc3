import HeraldJSON

/// Compiles a schema to nodes. Uses a queue, so that neither nesting nor references make it recurse.
struct SchemaCompiler {
    private let root: JSONValue
    var problems: [SchemaError.Problem] = []
    private var nodes: [SchemaNode] = []
    private var indices: [String: Int] = [:]
    private var pointers: [String] = []
    private var queue: [(index: Int, value: JSONValue)] = []
    /// The instructions of all patterns.
    private(set) var patternSize = 0
    private(set) var budget: WorkBudget

    private static let maxPatternSize = 50_000
    private static let maxProblems = 50

    init(_ root: JSONValue, _ budget: WorkBudget) {
        self.root = root
        self.budget = budget
    }

    mutating func compile() throws(SchemaError) -> [SchemaNode] {
        _ = node(root, at: "")
        var next = 0
        while next < queue.count, problems.count < Self.maxProblems, !budget.isSpent {
            let (index, value) = queue[next]
            nodes[index] = read(value, at: pointers[index])
            next += 1
        }
        if budget.isSpent { fail("", "takes too much work to read") }
        if problems.isEmpty { refuseEndlessReferences() }
        guard problems.isEmpty else { throw SchemaError(problems) }
        return nodes
    }

    mutating func fail(_ pointer: String, _ detail: String) {
        budget.spend(20 + (pointer.utf8.count + detail.utf8.count) / 4)
        if problems.count < Self.maxProblems { problems.append(.init(pointer, detail)) }
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
        // Deep pointers are long, and there may be thousands. The result does not count when the budget is exhausted.
        guard budget.spend(10 + pointer.utf8.count / 4) else { return 0 }
        if let index = indices[pointer] { return index }
        let index = nodes.count
        indices[pointer] = index
        pointers.append(pointer)
        nodes.append(SchemaNode())
        queue.append((index, value))
        return index
    }

    // MARK: One schema

    private mutating func read(_ schema: JSONValue, at place: String) -> SchemaNode {
        if let isAnything = schema.bool { return SchemaNode(assertions: isAnything ? [] : [.never]) }
        guard schema.kind == .object else {
            fail(place, "must be a schema: an object, true or false")
            return SchemaNode()
        }
        var node = SchemaNode()
        for (keyword, value) in schema.members {
            guard budget.spend(10 + (place.utf8.count + keyword.utf8.count) / 4) else { break }
            let at = JSONPointer.child(place, keyword)
            if Self.annotations.contains(keyword) { continue }
            guard Self.keywords.contains(keyword) else {
                fail(at, "is not supported: schemas may have \(Self.known)")
                continue
            }
            if let assertion = assertion(keyword, value, at, in: schema, place) { node.assertions.append(assertion) }
        }
        if let rules = properties(schema, place) { node.assertions.append(.properties(rules)) }
        return node
    }

    private static let annotations: Set<String> = [
        "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment",
    ]
    private static let keywords: Set<String> = [
        "$schema", "$id", "$ref", "$defs", "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
        "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format", "properties",
        "patternProperties", "additionalProperties", "propertyNames", "required", "minProperties", "maxProperties",
        "dependentRequired", "dependentSchemas", "prefixItems", "items", "contains", "minContains", "maxContains",
        "minItems", "maxItems", "uniqueItems", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
    ]
    private static let known = keywords.union(annotations).sorted().joined(separator: ", ")

    mutating func compilePattern(_ text: String, _ place: String) -> Pattern? {
        guard patternSize < Self.maxPatternSize else {
            fail(place, "is not looked at: the patterns before it are too much by themselves")
            return nil
        }
        budget.spend(2 * text.utf8.count)
        do throws(PatternError) {
            let pattern = try Pattern(text)
            budget.spend(4 * pattern.size)
            patternSize += pattern.size
            return pattern
        } catch {
            patternSize += Pattern.maxSize
            fail(place, "is not a pattern that can be checked: \(error.detail)")
            return nil
        }
    }

    // MARK: References

    /// The node of the reference `#/…`.
    mutating func reference(_ text: String, _ place: String) -> Int? {
        guard text.hasPrefix("#"), let fragment = percentDecoded(text.dropFirst()),
            fragment.isEmpty || fragment.hasPrefix("/")
        else {
            fail(place, "must point into this schema, such as \"#/$defs/address\"")
            return nil
        }
        var found = root
        budget.spend(text.utf8.count)
        for part in fragment.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            budget.spend(4 + found.count / 8)
            guard let key = JSONPointer.key(part), let child = found.kind == .array ? found.element(key) : found[key]
            else {
                fail(place, "names \(text), which is not there")
                return nil
            }
            found = child
        }
        return node(found, at: fragment)
    }

    private func percentDecoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
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

extension JSONValue {
    /// The element with this index, by its decimal text.
    fileprivate func element(_ text: String) -> JSONValue? {
        guard let index = Int(text), index >= 0, String(index) == text else { return nil }
        return elements.dropFirst(index).first { _ in true }
    }
}
