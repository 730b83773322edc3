import JSON

/// Values are equal when they mean the same: numbers by value, objects whatever the order of their members.
extension JSONValue {
    /// - Parameter work: loses a step for each value that is looked at; below zero the answer is false.
    func equals(_ other: JSONValue, _ work: inout Int) -> Bool {
        work -= 1
        guard work > 0, kind == other.kind, count == other.count else { return false }
        switch kind {
        case .null: return true
        case .bool: return bool == other.bool
        case .number: return number == other.number
        case .string:
            work -= byteRange.count / 16
            return string == other.string
        case .array:
            var others = other.elements
            for element in elements {
                guard let next = others.next(), element.equals(next, &work) else { return false }
            }
            return true
        case .object:
            for (key, value) in members {
                work -= count / 16
                guard let next = other[key], value.equals(next, &work) else { return false }
            }
            return true
        }
    }

    /// The same for equal values.
    func valueHash(_ work: inout Int) -> Int {
        work -= 1 + (kind == .string ? byteRange.count / 16 : 0)
        var hasher = Hasher()
        hasher.combine(kind)
        switch kind {
        case .null: break
        case .bool: hasher.combine(bool)
        case .number: hasher.combine(number)
        case .string: hasher.combine(string)
        case .array: for element in elements { hasher.combine(element.valueHash(&work)) }
        case .object:
            var sum = 0
            for (key, value) in members {
                var member = Hasher()
                member.combine(key)
                member.combine(value.valueHash(&work))
                sum &+= member.finalize()
            }
            hasher.combine(sum)
        }
        return hasher.finalize()
    }
}
