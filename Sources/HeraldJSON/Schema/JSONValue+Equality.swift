/// Values are equal if they have the same meaning: numbers by value, strings byte by byte, objects in any order of
/// their members.
extension JSONValue {
    /// The cost of reading a string or a number, in steps.
    var cost: Int {
        switch kind {
        case .string: 1 + byteRange.count / 8
        case .number: 1 + byteRange.count / 4
        case .null, .bool, .array, .object: 1
        }
    }

    /// The cost of visiting a member, in steps. The escapes of its key are resolved.
    package var memberCost: Int { 4 + max(keyCost, Int(node.keyCount) / 16) }

    /// The cost of looking up a member, which passes those before it.
    var lookUpCost: Int { 1 + count / 2 }

    /// The cost of having found this member by its key, in steps beyond ``lookUpCost``: its escapes are resolved.
    package var keyCost: Int { node.flags.contains(.keyEscaped) ? Int(node.keyCount) / 4 : 0 }

    /// - Parameter budget: if it is exhausted, the result is `false`.
    func equals(_ other: JSONValue, _ budget: inout WorkBudget) -> Bool {
        guard budget.spend(4), kind == other.kind, count == other.count else { return false }
        switch kind {
        case .null: return true
        case .bool: return bool == other.bool
        case .number: return budget.spend(cost + other.cost) && number == other.number
        case .string:
            return budget.spend(cost + other.cost)
                && withUTF8 { text in other.withUTF8 { $0.count == text.count && $0.elementsEqual(text) } } == true
        case .array:
            var others = other.elements
            for element in elements {
                guard let next = others.next(), element.equals(next, &budget) else { return false }
            }
            return true
        case .object:
            for (key, value) in members {
                guard budget.spend(value.memberCost + lookUpCost), let next = other[key],
                    budget.spend(next.keyCost), value.equals(next, &budget)
                else { return false }
            }
            return true
        }
    }

    /// Equal for equal values.
    func valueHash(_ budget: inout WorkBudget) -> Int {
        guard budget.spend(4 + cost) else { return 0 }
        var hasher = Hasher()
        hasher.combine(kind)
        switch kind {
        case .null: break
        case .bool: hasher.combine(bool)
        case .number: hasher.combine(number)
        case .string: withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .array: for element in elements { hasher.combine(element.valueHash(&budget)) }
        case .object:
            var sum = 0
            for (key, value) in members {
                guard budget.spend(value.memberCost) else { return 0 }
                var member = Hasher()
                member.combine(ExactText(key))
                member.combine(value.valueHash(&budget))
                sum &+= member.finalize()
            }
            hasher.combine(sum)
        }
        return hasher.finalize()
    }
}
