import HeraldJSON

/// Compiles the JSON of a template and collects all errors.
struct TemplateCompiler {
    private(set) var errors: [FieldError] = []
    private var nodes = 0
    private var scope = TemplateScope()
    private let pointer: String
    private let refusesMistakes: Bool

    static let directives = ["$if", "$each", "$pick", "$omit", "$merge"]

    /// - Parameters:
    ///   - pointer: that of the template, for errors.
    ///   - refusesMistakes: whether to refuse conditions that are valid, but hardly meant.
    init(at pointer: String, refusesMistakes: Bool) {
        (self.pointer, self.refusesMistakes) = (pointer, refusesMistakes)
    }

    mutating func compile(_ value: JSONValue) -> TemplateNode {
        let node = node(value, pointer, depth: 1)
        if nodes > TemplateLimits.nodes {
            fail(pointer, "must have at most \(TemplateLimits.nodes) values and placeholders, not \(nodes)")
        }
        return node
    }

    private mutating func fail(_ pointer: String, _ detail: String) {
        if errors.count < FieldError.maxReported { errors.append(FieldError(pointer, detail)) }
    }

    private mutating func refuse<Value>(_ pointer: String, _ detail: String) -> Value? {
        fail(pointer, detail)
        return nil
    }

    private static let null = TemplateNode.constant(Array("null".utf8))

    private static func constant(_ value: JSONValue) -> TemplateNode {
        .constant(JSONWriter.document(of: CompactJSON(value)))
    }

    /// - Parameter depth: that of the value, if it is a container.
    private mutating func node(_ value: JSONValue, _ pointer: String, depth: Int) -> TemplateNode {
        nodes += 1
        switch value.kind {
        case .null, .bool, .number: return Self.constant(value)
        case .string: return string(value, pointer)
        case .array, .object:
            guard depth <= TemplateLimits.depth else {
                fail(
                    pointer, "is nested too deep: at most \(TemplateLimits.depth) objects and arrays inside each other")
                return Self.null
            }
            if value.kind == .array { return array(value, pointer, depth: depth) }
            if let first = value.members.first(where: { _ in true })?.key, first.utf8.first == UInt8(ascii: "$") {
                return directive(first, value, pointer, depth: depth)
            }
            return object(value, pointer, depth: depth)
        }
    }

    private mutating func string(_ value: JSONValue, _ pointer: String) -> TemplateNode {
        let text = value.string ?? ""
        guard TemplateParser.hasPlaceholder(text) else { return Self.constant(value) }
        do throws(TextError) {
            let pieces = try TemplateParser.pieces(text, scope)
            nodes += pieces.count { if case .value = $0 { true } else { false } }
            if pieces.count == 1, case .value(let expression) = pieces[0] { return .value(expression, at: pointer) }
            return .text(pieces, at: pointer)
        } catch {
            fail(pointer, error.detail)
            return Self.null
        }
    }

    private mutating func array(_ value: JSONValue, _ pointer: String, depth: Int) -> TemplateNode {
        var elements: [TemplateNode] = []
        for (index, element) in value.elements.enumerated() {
            elements.append(node(element, "\(pointer)/\(index)", depth: depth + 1))
        }
        return elements.allSatisfy { $0.constant != nil } ? Self.constant(value) : .array(elements, at: pointer)
    }

    private mutating func object(_ value: JSONValue, _ pointer: String, depth: Int) -> TemplateNode {
        var members: [TemplateNode.Member] = []
        for (key, member) in value.members {
            let path = JSONPointer.child(pointer, key)
            if TemplateParser.hasPlaceholder(key) { fail(path, "must not have a placeholder in its name") }
            if Self.directives.contains(key) { fail(path, "must be the first member of its object") }
            members.append(
                TemplateNode.Member(
                    key: JSONWriter.document(of: key) + [UInt8(ascii: ":")],
                    value: node(member, path, depth: depth + 1)))
        }
        return members.allSatisfy { $0.value.constant != nil } ? Self.constant(value) : .object(members, at: pointer)
    }

    // MARK: Directives

    private mutating func directive(
        _ name: String, _ object: JSONValue, _ pointer: String, depth: Int
    ) -> TemplateNode {
        guard let argument = object[name] else { return Self.null }
        let path = JSONPointer.child(pointer, name)
        switch name {
        case "$if":
            checkMembers(of: object, name, allowed: ["then", "else"], required: ["then"], pointer)
            return choice(argument, path, object, pointer, depth: depth)
        case "$each":
            checkMembers(of: object, name, allowed: ["as", "do"], required: ["do"], pointer)
            return each(argument, path, object, pointer, depth: depth)
        case "$pick", "$omit":
            let list = name == "$pick" ? "only" : "fields"
            checkMembers(of: object, name, allowed: [list], required: [list], pointer)
            guard let from = self.path(argument, path), let names = names(object[list], "\(pointer)/\(list)") else {
                return Self.null
            }
            return .members(from, names: names, areKept: name == "$pick", at: path)
        case "$merge":
            checkMembers(of: object, name, allowed: [], required: [], pointer)
            return merge(argument, path, depth: depth)
        default:
            fail(
                path,
                "is not a directive; directives are: \(Self.directives.joined(separator: ", ")). "
                    + "A member whose name begins with $ must not be the first one of its object")
            return Self.null
        }
    }

    private mutating func checkMembers(
        of object: JSONValue, _ directive: String, allowed: [String], required: [String], _ pointer: String
    ) {
        for (key, _) in object.members where key != directive && !allowed.contains(key) {
            fail(JSONPointer.child(pointer, key), "is not a member of \(directive)")
        }
        for key in required where object[key] == nil {
            fail("\(pointer)/\(key)", "is required beside \(directive)")
        }
    }

    private mutating func path(_ value: JSONValue, _ pointer: String) -> TemplatePath? {
        nodes += 1
        guard let text = value.string else { return refuse(pointer, "must be a path such as \"data.items\"") }
        do throws(TextError) {
            return try TemplateParser.path(text, scope)
        } catch {
            return refuse(pointer, error.detail)
        }
    }

    private mutating func names(_ value: JSONValue?, _ pointer: String) -> Set<ExactText>? {
        // A missing list was reported.
        guard let value else { return nil }
        nodes += value.count
        let names = value.elements.compactMap(\.string)
        guard value.kind == .array, !names.isEmpty, names.count == value.count else {
            return refuse(pointer, "must be an array of names of members")
        }
        return Set(names.map(ExactText.init))
    }

    private mutating func choice(
        _ condition: JSONValue, _ path: String, _ object: JSONValue, _ pointer: String, depth: Int
    ) -> TemplateNode {
        let filter = ContentFilter(condition, at: path, &errors, refusesMistakes: refusesMistakes)
        let then = object["then"].map { node($0, "\(pointer)/then", depth: depth + 1) } ?? Self.null
        let otherwise = object["else"].map { node($0, "\(pointer)/else", depth: depth + 1) } ?? Self.null
        return filter.map { .choice($0, then: then, otherwise: otherwise, at: path) } ?? Self.null
    }

    private mutating func each(
        _ argument: JSONValue, _ path: String, _ object: JSONValue, _ pointer: String, depth: Int
    ) -> TemplateNode {
        let array = self.path(argument, path)
        var name = "item"
        if let given = object["as"] {
            name = given.string ?? ""
            if !TemplateParser.isName(name) {
                fail("\(pointer)/as", "must be a name of letters, digits, _ and -, which begins with a letter or _")
            } else if TemplateRoot(rawValue: name) != nil || ["true", "false", "null"].contains(name) {
                fail("\(pointer)/as", "must be another name: paths that begin with \(name) mean something else")
            }
        }
        if scope.elements.contains(name) {
            fail("\(pointer)/as", "must differ from the names of the enclosing $each")
        }
        guard let body = object["do"] else { return Self.null }
        scope.elements.append(name)
        defer { scope.elements.removeLast() }
        let node = node(body, "\(pointer)/do", depth: depth + 1)
        return array.map { .each($0, node, at: path) } ?? Self.null
    }

    private mutating func merge(_ argument: JSONValue, _ path: String, depth: Int) -> TemplateNode {
        guard argument.kind == .array, argument.count > 0 else {
            fail(path, "must be an array of objects")
            return Self.null
        }
        var parts: [TemplateNode] = []
        for (index, element) in argument.elements.enumerated() {
            let pointer = "\(path)/\(index)"
            let part = node(element, pointer, depth: depth + 1)
            if let constant = part.constant, constant.first != UInt8(ascii: "{"), !element.isNull,
                element.kind != .object
            {
                fail(pointer, "must make an object, or null")
            }
            parts.append(part)
        }
        return .merge(parts, at: path)
    }
}
