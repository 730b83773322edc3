/// The names that a schema document defines: `$id`, `$anchor`, `$dynamicAnchor` and `$recursiveAnchor`.
///
/// A *resource* is a schema with an `$id`; the whole document is the first one. References are relative to the resource
/// that contains them. Only schemas define names: the same members in an `enum` or below an unknown keyword do not.
struct SchemaResources {
    /// A schema in the document.
    struct Location {
        let value: JSONValue
        /// From the root of the document.
        let pointer: String
        /// Index of the resource that contains it.
        let resource: Int
    }

    struct Resource {
        /// 0 for the schema itself, 1 for the metaschema that it refers to.
        let document: Int
        let uri: URIReference
        let root: JSONValue
        let pointer: String
        var anchors: [String: Location] = [:]
        /// Anchors that a `$dynamicRef` looks for in all open resources. The name of `$recursiveAnchor` is empty.
        var dynamicAnchors: [String: Location] = [:]
    }

    /// Identifies a value.
    struct Place: Hashable {
        let document: Int
        /// The offset at which its text begins.
        let start: Int
    }

    let dialect: Dialect
    private(set) var resources: [Resource]
    private var byDocument: [String: Int] = [:]
    private var containing: [Place: Int] = [:]
    private(set) var problems: [SchemaProblem] = []

    /// - Parameter budget: if it is exhausted, names are missing.
    init(_ root: JSONValue, _ dialect: Dialect, _ budget: inout WorkBudget) {
        self.dialect = dialect
        resources = [Resource(document: 0, uri: URIReference(""), root: root, pointer: "")]
        byDocument[""] = 0
        add(root, 0, &budget)
    }

    /// Adds the names in a document whose first resource exists.
    private mutating func add(_ root: JSONValue, _ resource: Int, _ budget: inout WorkBudget) {
        var queue = [Location(value: root, pointer: "", resource: resource)]
        var next = 0
        while next < queue.count, !budget.isSpent {
            let location = queue[next]
            next += 1
            guard budget.spend(8 + location.pointer.utf8.count / 8) else { return }
            queue += visit(location, &budget)
        }
    }

    // MARK: Defining

    /// Records the names of a schema.
    /// - Returns: its subschemas.
    private mutating func visit(_ location: Location, _ budget: inout WorkBudget) -> [Location] {
        let (schema, pointer) = (location.value, location.pointer)
        var resource = location.resource
        let isIgnored = dialect.ignoresSiblingsOfReferences && schema["$ref"] != nil
        if !isIgnored, let id = schema["$id"]?.string {
            resource = identify(id, schema, pointer, in: resource, &budget)
        }
        containing[place(of: schema, in: resource)] = resource
        guard schema.kind == .object, !isIgnored else { return [] }
        let here = Location(value: schema, pointer: pointer, resource: resource)
        if dialect != .draft7, let name = schema["$anchor"]?.string { anchor(name, here, "$anchor") }
        if dialect == .draft2020, let name = schema["$dynamicAnchor"]?.string {
            anchor(name, here, "$dynamicAnchor")
            resources[resource].dynamicAnchors[name] = here
        }
        if dialect == .draft2019, schema["$recursiveAnchor"]?.bool == true, isRoot(here) {
            resources[resource].dynamicAnchors[""] = here
        }
        return subschemas(of: here, &budget)
    }

    /// - Returns: the resource of the schema with this `$id`.
    private mutating func identify(
        _ id: String, _ schema: JSONValue, _ pointer: String, in resource: Int, _ budget: inout WorkBudget
    ) -> Int {
        let reference = URIReference(id)
        if let name = reference.fragment, !name.isEmpty {
            if dialect != .draft7 {
                problems.append(.init(pointer + "/$id", "must not have a fragment: use $anchor"))
            } else if reference.isFragmentOnly {
                // In draft 7 this is an anchor.
                anchor(String(name), Location(value: schema, pointer: pointer, resource: resource), "$id")
            }
            if reference.isFragmentOnly { return resource }
        }
        let base = resources[resource].uri
        // A short name below a long base makes a long URI.
        guard budget.spend(base.length) else { return resource }
        let uri = reference.resolved(against: base)
        let new = Resource(document: resources[resource].document, uri: uri, root: schema, pointer: pointer)
        if pointer.isEmpty {
            resources[resource] = new
            byDocument[uri.document] = resource
            return resource
        }
        if byDocument.updateValue(resources.count, forKey: uri.document) != nil {
            problems.append(.init(pointer + "/$id", "names \(id.shortened()), which another schema is named, too"))
        }
        resources.append(new)
        return resources.count - 1
    }

    private mutating func anchor(_ name: String, _ location: Location, _ keyword: String) {
        if let known = resources[location.resource].anchors.updateValue(location, forKey: name),
            known.pointer != location.pointer
        {
            problems.append(
                .init(
                    "\(location.pointer)/\(keyword)", "names \(name.shortened()), which another schema is named, too"))
        }
    }

    private func isRoot(_ location: Location) -> Bool { resources[location.resource].pointer == location.pointer }

    private func subschemas(of schema: Location, _ budget: inout WorkBudget) -> [Location] {
        var found: [Location] = []
        func add(_ value: JSONValue, _ pointer: String) {
            found.append(Location(value: value, pointer: pointer, resource: schema.resource))
        }
        for (keyword, value) in schema.value.members {
            guard budget.spend(4 + keyword.utf8.count / 16) else { break }
            guard let contents = dialect.applicators[keyword] else { continue }
            let pointer = "\(schema.pointer)/\(keyword)"
            switch (contents, value.kind) {
            case (.schema, _), (.schemaOrArray, .object), (.schemaOrArray, .bool): add(value, pointer)
            case (.array, .array), (.schemaOrArray, .array):
                for (index, element) in value.elements.enumerated() { add(element, "\(pointer)/\(index)") }
            case (.map, .object), (.schemasOrNames, .object):
                for (key, member) in value.members where member.kind != .array {
                    add(member, JSONPointer.child(pointer, key))
                }
            default: break
            }
        }
        return found
    }

    // MARK: Finding

    /// Identifies a value in the document of a resource.
    func place(of value: JSONValue, in resource: Int) -> Place {
        Place(document: resources[resource].document, start: value.byteRange.lowerBound)
    }

    /// The resource of a value in the same document as another one, which it belongs to if it is no schema by its
    /// keyword.
    func resource(of value: JSONValue, near resource: Int) -> Int {
        containing[place(of: value, in: resource)] ?? resource
    }

    /// The schema of a reference in a resource; `nil` if the document does not have it, or the budget is exhausted.
    mutating func find(_ text: String, from resource: Int, _ budget: inout WorkBudget) -> Location? {
        let reference = URIReference(text)
        var target = resource
        if !reference.isFragmentOnly {
            let base = resources[resource].uri
            guard budget.spend(base.length) else { return nil }
            let document = reference.resolved(against: base).document
            guard let known = byDocument[document] ?? metaschema(document, &budget) else { return nil }
            target = known
        }
        guard let fragment = percentDecoded(reference.fragment ?? "") else { return nil }
        let root = Location(value: resources[target].root, pointer: resources[target].pointer, resource: target)
        if fragment.isEmpty { return root }
        return fragment.hasPrefix("/") ? walk(fragment, from: root, &budget) : resources[target].anchors[fragment]
    }

    /// The dynamic anchor of a reference, if the schema that it names is one.
    func dynamicAnchor(_ text: String, _ location: Location) -> String? {
        let name = URIReference(text).fragment.flatMap(percentDecoded) ?? ""
        let anchor = resources[location.resource].dynamicAnchors[name]
        return anchor?.pointer == location.pointer ? name : nil
    }

    /// Adds the metaschema, which schemas of its dialect may refer to.
    /// - Returns: its resource.
    private mutating func metaschema(_ document: String, _ budget: inout WorkBudget) -> Int? {
        guard dialect == .draft2020, document == Metaschema.uri, let root = Metaschema.value else { return nil }
        let resource = resources.count
        resources.append(Resource(document: 1, uri: URIReference(document), root: root, pointer: ""))
        byDocument[document] = resource
        add(root, resource, &budget)
        return resource
    }

    private func walk(_ pointer: String, from root: Location, _ budget: inout WorkBudget) -> Location? {
        var (found, resource) = (root.value, root.resource)
        for part in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            budget.spend(4 + found.count / 8)
            guard let key = JSONPointer.key(part), let child = found.kind == .array ? found.element(key) : found[key]
            else { return nil }
            found = child
            resource = self.resource(of: child, near: resource)
        }
        return Location(value: found, pointer: root.pointer + pointer, resource: resource)
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
}

extension JSONValue {
    /// The element with this index, by its decimal text.
    fileprivate func element(_ text: String) -> JSONValue? {
        guard let index = Int(text), index >= 0, String(index) == text else { return nil }
        return element(at: index)
    }
}
