/// `unevaluatedProperties` and `unevaluatedItems`: the members and elements that no other keyword has evaluated, in the
/// same schema or in a schema that it applies to the same value and that the value fits.
extension Validation {
    private struct Evaluated {
        var isAll = false
        var names: Set<ExactText> = []
        /// Elements before this index.
        var elements = 0
        var contained: Set<Int> = []
    }

    /// Whether the members or elements of a value that the rest of a schema has not evaluated fit another schema.
    /// - Parameters:
    ///   - schema: for the unevaluated ones.
    ///   - node: the schema that contains the keyword; the value fits all of it but this keyword.
    mutating func othersFit(_ schema: Int, _ kind: Unevaluated, _ node: Int, _ value: JSONValue) -> Bool {
        guard value.kind == (kind.isMembers ? .object : .array) else { return true }
        var evaluated = Evaluated()
        collect(node, value, kind, isOwn: true, &evaluated)
        if hasGivenUp { return false }
        if evaluated.isAll { return true }
        var isValid = true
        if kind.isMembers {
            for (key, member) in value.members {
                guard spend(member.memberCost) else { return false }
                if evaluated.names.contains(ExactText(key)) { continue }
                if !check(schema, member, at: .key(key)) { isValid = false }
                if !isValid && isEnough { break }
            }
        } else {
            for (index, element) in value.elements.enumerated() {
                guard spend(2) else { return false }
                if index < evaluated.elements || evaluated.contained.contains(index) { continue }
                if !check(schema, element, at: .index(index)) { isValid = false }
                if !isValid && isEnough { break }
            }
        }
        return isValid
    }

    /// Adds what a schema evaluates of a value that fits it.
    /// - Parameter isOwn: it contains the keyword itself, which does not count.
    private mutating func collect(
        _ node: Int, _ value: JSONValue, _ kind: Unevaluated, isOwn: Bool = false, _ evaluated: inout Evaluated
    ) {
        if evaluated.isAll { return }
        var found = evaluated
        _ = inside(node) { validation in
            for assertion in validation.nodes[node].assertions where validation.spend(2) {
                if isOwn, case .unevaluated = assertion { continue }
                validation.collect(assertion, value, kind, &found)
            }
        }
        evaluated = found
    }

    private mutating func collect(
        _ assertion: Assertion, _ value: JSONValue, _ kind: Unevaluated, _ evaluated: inout Evaluated
    ) {
        switch assertion {
        case .reference(let node): collect(node, value, kind, &evaluated)
        case .dynamicReference(let name, let otherwise):
            collect(target(of: name, otherwise), value, kind, &evaluated)
        case .allOf(let nodes):
            for node in nodes { collect(node, value, kind, &evaluated) }
        case .anyOf(let nodes), .oneOf(let nodes):
            for node in nodes where accepts(node, value) { collect(node, value, kind, &evaluated) }
        case .condition(let test, let then, let otherwise):
            let isThen = accepts(test, value)
            if isThen { collect(test, value, kind, &evaluated) }
            if let node = isThen ? then : otherwise { collect(node, value, kind, &evaluated) }
        case .dependencies(let dependencies):
            for dependency in dependencies where spend(value.lookUpCost) && has(dependency.key, value) {
                if let node = dependency.node { collect(node, value, kind, &evaluated) }
            }
        default:
            if kind.isMembers {
                collectMembers(assertion, value, &evaluated)
            } else {
                collectElements(assertion, value, kind, &evaluated)
            }
        }
    }

    private mutating func collectMembers(_ assertion: Assertion, _ object: JSONValue, _ evaluated: inout Evaluated) {
        switch assertion {
        case .unevaluated(.members, _): evaluated.isAll = true
        case .properties(let rules):
            if rules.others != nil {
                evaluated.isAll = true
                return
            }
            for (key, member) in object.members where spend(member.memberCost) {
                let name = ExactText(key)
                if rules.named[name] != nil
                    || rules.patterns.contains(where: { rule in spending { rule.pattern.matches(key, &$0) } })
                {
                    evaluated.names.insert(name)
                }
            }
        default: break
        }
    }

    private mutating func collectElements(
        _ assertion: Assertion, _ array: JSONValue, _ kind: Unevaluated, _ evaluated: inout Evaluated
    ) {
        switch assertion {
        case .unevaluated(.elements, _), .items: evaluated.isAll = true
        case .prefixItems(let nodes): evaluated.elements = max(evaluated.elements, nodes.count)
        case .contains(let node, _, _):
            guard case .elements(countsContained: true) = kind else { return }
            for (index, element) in array.elements.enumerated() where spend(2) && accepts(node, element) {
                evaluated.contained.insert(index)
            }
        default: break
        }
    }
}

extension Unevaluated {
    fileprivate var isMembers: Bool {
        if case .members = self { true } else { false }
    }
}
