/// Strings, objects and arrays. Each function is called only for values of its kind.
extension Validation {
    mutating func stringHolds(_ assertion: Assertion, _ value: JSONValue) -> Bool {
        guard spend(4 + value.cost) else { return false }
        let text = value.string ?? ""
        switch assertion {
        case .minLength(let count):
            return text.unicodeScalars.count >= count || violation("must have at least \(count) characters")
        case .maxLength(let count):
            return text.unicodeScalars.count <= count || violation("must have at most \(count) characters")
        case .pattern(let pattern):
            return spending { pattern.matches(text, &$0) } || violation("must match the pattern \(pattern.words)")
        case .format(let format):
            return (spend(8 + text.utf8.count) && format.accepts(text)) || violation("must be \(format.words)")
        default: return true
        }
    }

    // MARK: Objects

    mutating func objectHolds(_ assertion: Assertion, _ object: JSONValue) -> Bool {
        switch assertion {
        case .properties(let rules): return membersFit(rules, object)
        case .propertyNames(let node): return namesFit(node, object)
        case .required(let keys): return has(keys, object)
        case .minProperties(let count):
            return object.count >= count || violation("must have at least \(count) members, not \(object.count)")
        case .maxProperties(let count):
            return object.count <= count || violation("must have at most \(count) members, not \(object.count)")
        case .dependencies(let dependencies):
            var isValid = true
            for dependency in dependencies {
                guard spend(object.lookUpCost) else { return false }
                guard has(dependency.key, object) else { continue }
                if !has(dependency.required, object, because: dependency.key) { isValid = false }
                if let node = dependency.node, !check(node, object) { isValid = false }
                if !isValid && isEnough { break }
            }
            return isValid
        default: return true
        }
    }

    private mutating func has(_ keys: [String], _ object: JSONValue, because other: String? = nil) -> Bool {
        var isValid = true
        for key in keys {
            guard spend(object.lookUpCost) else { return false }
            if has(key, object) { continue }
            isValid = violation(
                "must have the member \"\(key)\"" + (other.map { ", since it has \"\($0)\"" } ?? ""))
            if isEnough { break }
        }
        return isValid
    }

    /// Spends the steps for a member that it finds, and none for those before it.
    mutating func has(_ key: String, _ object: JSONValue) -> Bool {
        guard let found = object[key] else { return false }
        _ = spend(found.keyCost)
        return true
    }

    private mutating func membersFit(_ rules: PropertyRules, _ object: JSONValue) -> Bool {
        var isValid = true
        for (key, value) in object.members {
            guard spend(value.memberCost) else { return false }
            var isMeant = false
            if let node = rules.named[ExactText(key)] {
                isMeant = true
                if !check(node, value, at: .key(key)) { isValid = false }
            }
            for (pattern, node) in rules.patterns where spending({ pattern.matches(key, &$0) }) {
                isMeant = true
                if !check(node, value, at: .key(key)) { isValid = false }
            }
            if !isMeant, let node = rules.others, !check(node, value, at: .key(key)) { isValid = false }
            if !isValid && isEnough { break }
        }
        return isValid
    }

    private mutating func namesFit(_ node: Int, _ object: JSONValue) -> Bool {
        var isValid = true
        for (key, _) in object.members {
            if !accepts(node, name: key) {
                isValid = violation("has a name that the schema doesn't allow", at: .key(key))
                if isEnough { break }
            }
        }
        return isValid
    }

    // MARK: Arrays

    mutating func arrayHolds(_ assertion: Assertion, _ array: JSONValue) -> Bool {
        switch assertion {
        case .prefixItems(let nodes):
            return elements(of: array) { index in index < nodes.count ? nodes[index] : nil }
        case .items(let start, let node): return elements(of: array) { index in index >= start ? node : nil }
        case .contains(let node, let min, let max): return contains(node, min, max, array)
        case .minItems(let count):
            return array.count >= count || violation("must have at least \(count) elements, not \(array.count)")
        case .maxItems(let count):
            return array.count <= count || violation("must have at most \(count) elements, not \(array.count)")
        case .uniqueItems: return elementsDiffer(array)
        default: return true
        }
    }

    private mutating func elements(of array: JSONValue, _ node: (Int) -> Int?) -> Bool {
        var isValid = true
        for (index, element) in array.elements.enumerated() {
            guard spend(2) else { return false }
            guard let node = node(index) else { continue }
            if !check(node, element, at: .index(index)) { isValid = false }
            if !isValid && isEnough { break }
        }
        return isValid
    }

    private mutating func contains(_ node: Int, _ min: Int, _ max: Int?, _ array: JSONValue) -> Bool {
        var fitting = 0
        for element in array.elements {
            guard spend(2) else { return false }
            if accepts(node, element) { fitting += 1 }
        }
        if fitting < min { return violation("must have at least \(min) elements of a certain kind, not \(fitting)") }
        if let max, fitting > max {
            return violation("must have at most \(max) elements of a certain kind, not \(fitting)")
        }
        return true
    }

    private mutating func elementsDiffer(_ array: JSONValue) -> Bool {
        var seen: [Int: [(index: Int, value: JSONValue)]] = [:]
        for (index, element) in array.elements.enumerated() {
            let hash = spending { element.valueHash(&$0) }
            guard spend(8) else { return false }
            for other in seen[hash] ?? [] where spending({ other.value.equals(element, &$0) }) {
                return violation("must differ from the element \(other.index)", at: .index(index))
            }
            if hasGivenUp { return false }
            seen[hash, default: []].append((index, element))
        }
        return true
    }
}
