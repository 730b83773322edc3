import HeraldJSON

/// Compiles a filter's JSON to clauses and collects all errors; pointers are into the filter.
struct FilterCompiler {
    private(set) var errors: [FieldError] = []
    private var leaves = 0

    mutating func compile(_ filter: JSONValue) -> [ContentFilter.Field] {
        guard filter.kind == .object, filter.count > 0 else {
            fail("", "must be an object that names members of the event, such as {\"data\": {\"plan\": [\"pro\"]}}")
            return []
        }
        var fields: [ContentFilter.Field] = []
        for (key, value) in filter.members {
            let pointer = JSONPointer.child("", key)
            guard let name = ContentFilter.Field.Name(rawValue: key) else {
                let known = ContentFilter.Field.Name.allCases.map(\.rawValue).joined(separator: ", ")
                fail(pointer, "is not a member of an event; members are: \(known)")
                continue
            }
            if value.kind == .object, name != .data {
                fail(pointer, "must be an array of what is accepted: \(key) is a string, not an object")
                continue
            }
            if let clause = clause(key, value, pointer, depth: 2) { fields.append(.init(name: name, clause: clause)) }
        }
        if leaves > ContentFilter.maxLeaves {
            fail(
                "", "must have at most \(ContentFilter.maxLeaves) accepted values and conditions in all, not \(leaves)")
        }
        return fields
    }

    private mutating func fail(_ pointer: String, _ detail: String) { errors.append(FieldError(pointer, detail)) }

    // MARK: Structure

    private mutating func clause(
        _ key: String, _ value: JSONValue, _ pointer: String, depth: Int
    ) -> FilterClause? {
        switch value.kind {
        case .object:
            guard depth <= ContentFilter.maxDepth else {
                fail(pointer, "is nested too deep: at most \(ContentFilter.maxDepth) objects inside each other")
                return nil
            }
            guard value.count > 0 else {
                fail(pointer, "must name a member; {\"exists\": true} in an array tests whether the member exists")
                return nil
            }
            var clauses: [FilterClause] = []
            for (key, member) in value.members {
                let place = JSONPointer.child(pointer, key)
                if let clause = clause(key, member, place, depth: depth + 1) { clauses.append(clause) }
            }
            return FilterClause(key: key, pointer: pointer, rule: .members(clauses))
        case .array:
            guard value.count > 0 else {
                fail(pointer, "must hold at least one accepted value or condition")
                return nil
            }
            let conditions = value.elements.enumerated().compactMap { index, element in
                condition(element, "\(pointer)/\(index)")
            }
            return FilterClause(key: key, pointer: pointer, rule: .values(FilterValues(conditions)))
        case .string, .number, .bool, .null:
            fail(
                pointer,
                "must be an array of what is accepted, such as [\(String(decoding: value.bytes, as: UTF8.self))]")
            return nil
        }
    }

    // MARK: Conditions

    private mutating func condition(_ value: JSONValue, _ pointer: String) -> FilterCondition? {
        if let scalar = scalar(value) { return scalar }
        guard value.kind == .object else {
            fail(pointer, "must be a value or a condition, not an array")
            return nil
        }
        guard let (name, operand) = onlyMember(value) else {
            fail(pointer, "must be an object with one of \(Self.operators.joined(separator: ", "))")
            return nil
        }
        let place = JSONPointer.child(pointer, name)
        switch name {
        case "prefix", "suffix", "equals-ignore-case": return text(name, operand, place)
        case "numeric": return numeric(operand, place)
        case "exists": return exists(operand, place)
        case "anything-but": return anythingBut(operand, place)
        default:
            fail(place, "is not a condition; conditions are: \(Self.operators.joined(separator: ", "))")
            return nil
        }
    }

    private static let operators = ["prefix", "suffix", "equals-ignore-case", "numeric", "exists", "anything-but"]

    private func onlyMember(_ value: JSONValue) -> (key: String, value: JSONValue)? {
        var members = value.members
        guard value.count == 1 else { return nil }
        return members.next()
    }

    private mutating func scalar(_ value: JSONValue) -> FilterCondition? {
        let test: FilterCondition.Test? =
            switch value.kind {
            case .string: value.string.map { .string(Array($0.utf8)) }
            case .number: value.number.map { .number($0) }
            case .bool: value.bool.map { .bool($0) }
            case .null: .null
            case .object, .array: nil
            }
        guard let test else { return nil }
        leaves += 1
        return FilterCondition(test: test, words: Self.json(value))
    }

    private mutating func text(_ name: String, _ operand: JSONValue, _ pointer: String) -> FilterCondition? {
        leaves += 1
        guard let text = operand.string else {
            fail(pointer, "must be a string")
            return nil
        }
        let literal = Self.json(operand)
        switch name {
        case "prefix":
            return FilterCondition(test: .prefix(Array(text.utf8)), words: "a string that begins with \(literal)")
        case "suffix":
            return FilterCondition(test: .suffix(Array(text.utf8)), words: "a string that ends with \(literal)")
        default:
            return FilterCondition(
                test: .equalsIgnoringCase(CaseFolded(text)), words: "\(literal) in upper or lower case")
        }
    }

    private mutating func exists(_ operand: JSONValue, _ pointer: String) -> FilterCondition? {
        leaves += 1
        guard let isThere = operand.bool else {
            fail(pointer, "must be true or false")
            return nil
        }
        return FilterCondition(test: .exists(isThere), words: isThere ? "anything" : "nothing")
    }

    private mutating func anythingBut(_ operand: JSONValue, _ pointer: String) -> FilterCondition? {
        var excluded: [FilterCondition] = []
        switch operand.kind {
        case .string, .number, .bool, .null:
            if let scalar = scalar(operand) { excluded.append(scalar) }
        case .array:
            if operand.count == 0 { fail(pointer, "must hold at least one value") }
            for (index, element) in operand.elements.enumerated() {
                if let scalar = scalar(element) {
                    excluded.append(scalar)
                } else {
                    fail("\(pointer)/\(index)", "must be a string, a number, true, false or null")
                }
            }
        case .object:
            guard let (name, inner) = onlyMember(operand), ["prefix", "suffix", "equals-ignore-case"].contains(name)
            else {
                fail(
                    pointer,
                    "must be a value, an array of values, or an object with prefix, suffix or equals-ignore-case")
                return nil
            }
            if let condition = text(name, inner, JSONPointer.child(pointer, name)) { excluded.append(condition) }
        }
        return FilterCondition(
            test: .anythingBut(excluded.map(\.test)),
            words: "a value other than " + excluded.map(\.words).joined(separator: ", "))
    }

    // MARK: Numbers

    private mutating func numeric(_ operand: JSONValue, _ pointer: String) -> FilterCondition? {
        leaves += 1
        guard operand.kind == .array, operand.count == 2 || operand.count == 4 else {
            fail(pointer, "must be one or two comparisons, such as [\">\", 0] or [\">\", 0, \"<=\", 5]")
            return nil
        }
        let parts = Array(operand.elements)
        var range = NumericRange()
        for index in stride(from: 0, to: parts.count, by: 2) {
            guard let comparison = parts[index].string, ["<", "<=", "=", ">=", ">"].contains(comparison) else {
                fail("\(pointer)/\(index)", "must be one of <, <=, =, >=, >")
                return nil
            }
            guard let number = parts[index + 1].number else {
                fail("\(pointer)/\(index + 1)", "must be a number")
                return nil
            }
            guard range.narrow(comparison, number) else {
                fail(pointer, "must be one comparison, or one lower and one upper bound")
                return nil
            }
        }
        if range.isEmpty { fail(pointer, "is never true: no number is within both bounds") }
        let words = parts.map { $0.string ?? Self.json($0) }
        return FilterCondition(
            test: .numeric(range),
            words: "a number \(words[0]) \(words[1])" + (words.count == 4 ? " and \(words[2]) \(words[3])" : ""))
    }

    /// As written in the filter, without white space.
    private static func json(_ scalar: JSONValue) -> String { String(decoding: scalar.bytes, as: UTF8.self) }
}

extension NumericRange {
    /// Adds a comparison; `false` if that bound is already set.
    fileprivate mutating func narrow(_ comparison: String, _ number: JSONNumber) -> Bool {
        let bound = Bound(number: number, isIncluded: comparison.hasSuffix("="))
        if comparison != "<" && comparison != "<=" {
            guard lower == nil else { return false }
            lower = bound
        }
        if comparison != ">" && comparison != ">=" {
            guard upper == nil else { return false }
            upper = bound
        }
        return true
    }
}
