import HeraldJSON

/// The entries of the arrays in a filter.
extension FilterCompiler {
    static let operators = [
        "prefix", "suffix", "wildcard", "equals-ignore-case", "exactly", "cidr", "numeric", "exists", "anything-but",
    ]

    mutating func condition(_ value: JSONValue, _ pointer: String) -> FilterCondition? {
        if let scalar = scalar(value) { return scalar }
        guard value.kind == .object else { return refuse(pointer, "must be a value or a condition, not an array") }
        guard let (name, operand) = value.onlyMember else {
            return refuse(pointer, "must be an object with one of \(Self.operators.joined(separator: ", "))")
        }
        let path = JSONPointer.child(pointer, name)
        switch name {
        case "prefix", "suffix":
            return operand.kind == .object ? ignoringCase(name, operand, path) : text(name, operand, path)
        case "wildcard", "equals-ignore-case", "exactly", "cidr": return text(name, operand, path)
        case "numeric": return numeric(operand, path)
        case "exists": return exists(operand, path)
        case "anything-but": return anythingBut(operand, path)
        default:
            return refuse(path, "is not a condition; conditions are: \(Self.operators.joined(separator: ", "))")
        }
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

    // MARK: Strings

    private mutating func text(_ name: String, _ operand: JSONValue, _ pointer: String) -> FilterCondition? {
        leaves += 1
        guard let text = operand.string else { return refuse(pointer, "must be a string") }
        let literal = Self.json(operand)
        switch name {
        case "prefix":
            return FilterCondition(test: .prefix(Array(text.utf8)), words: "a string that begins with \(literal)")
        case "suffix":
            return FilterCondition(test: .suffix(Array(text.utf8)), words: "a string that ends with \(literal)")
        case "exactly": return FilterCondition(test: .string(Array(text.utf8)), words: literal)
        case "wildcard": return wildcard(text, literal, pointer)
        case "cidr":
            guard let range = AddressRange(text) else { return refuse(pointer, AddressRange.words) }
            return FilterCondition(test: .addresses(range), words: "an address in \(literal)")
        default:
            return FilterCondition(
                test: .equalsIgnoringCase(CaseFolded(text)), words: "\(literal) in upper or lower case")
        }
    }

    private mutating func wildcard(_ text: String, _ literal: String, _ pointer: String) -> FilterCondition? {
        do throws(TextError) {
            return FilterCondition(test: .wildcard(try Wildcard(text)), words: "a string like \(literal)")
        } catch {
            return refuse(pointer, error.detail)
        }
    }

    /// The operand of `prefix` or `suffix` that is an object.
    private mutating func ignoringCase(
        _ name: String, _ operand: JSONValue, _ pointer: String
    ) -> FilterCondition? {
        guard let (inner, value) = operand.onlyMember, inner == "equals-ignore-case" else {
            leaves += 1
            return refuse(pointer, "must be a string, or an object with equals-ignore-case")
        }
        leaves += 1
        guard let text = value.string else { return refuse(JSONPointer.child(pointer, inner), "must be a string") }
        let folded = CaseFolded(text)
        let words = "\(Self.json(value)) in upper or lower case"
        return name == "prefix"
            ? FilterCondition(test: .prefixIgnoringCase(folded), words: "a string that begins with \(words)")
            : FilterCondition(test: .suffixIgnoringCase(folded), words: "a string that ends with \(words)")
    }

    // MARK: Other values

    private mutating func exists(_ operand: JSONValue, _ pointer: String) -> FilterCondition? {
        leaves += 1
        guard let isThere = operand.bool else { return refuse(pointer, "must be true or false") }
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
            guard let (name, inner) = operand.onlyMember, Self.excludable.contains(name) else {
                return refuse(
                    pointer,
                    "must be a value, an array of values, or an object with one of "
                        + Self.excludable.joined(separator: ", "))
            }
            excluded = self.excluded(name, inner, JSONPointer.child(pointer, name))
        }
        return FilterCondition(
            test: .anythingBut(excluded.map(\.test)),
            words: "a value other than " + excluded.map(\.words).joined(separator: ", "))
    }

    /// The conditions that `anything-but` takes, each with one string or an array of strings.
    private static let excludable = ["prefix", "suffix", "wildcard", "equals-ignore-case"]

    private mutating func excluded(_ name: String, _ operand: JSONValue, _ pointer: String) -> [FilterCondition] {
        guard operand.kind == .array else { return text(name, operand, pointer).map { [$0] } ?? [] }
        if operand.count == 0 { fail(pointer, "must hold at least one string") }
        return operand.elements.enumerated().compactMap { index, element in
            text(name, element, "\(pointer)/\(index)")
        }
    }

    // MARK: Numbers

    mutating func numeric(_ operand: JSONValue, _ pointer: String) -> FilterCondition? {
        leaves += 1
        guard operand.kind == .array, operand.count == 2 || operand.count == 4 else {
            return refuse(pointer, "must be one or two comparisons, such as [\">\", 0] or [\">\", 0, \"<=\", 5]")
        }
        let parts = Array(operand.elements)
        var range = NumericRange()
        for index in stride(from: 0, to: parts.count, by: 2) {
            guard let comparison = parts[index].string, ["<", "<=", "=", ">=", ">"].contains(comparison) else {
                return refuse("\(pointer)/\(index)", "must be one of <, <=, =, >=, >")
            }
            guard let number = parts[index + 1].number else {
                return refuse("\(pointer)/\(index + 1)", "must be a number")
            }
            guard range.narrow(comparison, number) else {
                return refuse(pointer, "must be one comparison, or one lower and one upper bound")
            }
        }
        if range.isEmpty { fail(pointer, "is never true: no number is within both bounds") }
        let words = parts.map { $0.string ?? Self.json($0) }
        return FilterCondition(
            test: .numeric(range),
            words: "a number \(words[0]) \(words[1])" + (words.count == 4 ? " and \(words[2]) \(words[3])" : ""))
    }

    /// As written in the filter, without white space.
    static func json(_ scalar: JSONValue) -> String { String(decoding: scalar.bytes, as: UTF8.self) }
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
