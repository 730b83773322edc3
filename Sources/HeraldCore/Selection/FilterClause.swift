import HeraldJSON

/// The conditions of a filter on one member of an event.
struct FilterClause: Sendable {
    indirect enum Rule: Sendable {
        /// The value is an object, or an array with one, whose members match all of these.
        case members([FilterClause])
        /// The value matches one of these.
        case values(FilterValues)
    }

    let key: String
    /// Its pointer in the filter.
    let pointer: String
    let rule: Rule

    /// - Parameter budget: if it is exhausted, the result is `true`.
    func accepts(_ value: JSONValue?, _ budget: inout WorkBudget) -> Bool {
        switch rule {
        case .values(let values): values.accept(value, &budget)
        case .members(let clauses): Self.all(clauses, accept: value, &budget)
        }
    }

    /// Whether a value that is not part of the event's data is accepted.
    func accepts(_ text: String?, _ budget: inout WorkBudget) -> Bool {
        guard case .values(let values) = rule else { return false }
        return values.accept(text, &budget)
    }

    private static func all(
        _ clauses: [FilterClause], accept value: JSONValue?, _ budget: inout WorkBudget
    ) -> Bool {
        guard let value, value.kind == .object || (value.kind == .array && value.hasObjects(&budget)) else {
            // Like an object without members.
            return clauses.allSatisfy { $0.accepts(JSONValue?.none, &budget) }
        }
        if value.kind == .object { return all(clauses, agreeWith: value, &budget) }
        return value.containsObject(&budget) { all(clauses, agreeWith: $0, &$1) }
    }

    private static func all(
        _ clauses: [FilterClause], agreeWith object: JSONValue, _ budget: inout WorkBudget
    ) -> Bool {
        for clause in clauses {
            // A look-up scans the members before the one it finds.
            guard budget.spend(2 + object.count / 2) else { return true }
            if !clause.accepts(object[clause.key], &budget) { return false }
        }
        return true
    }
}

/// The accepted values of a member: one condition must match.
struct FilterValues: Sendable {
    let conditions: [FilterCondition]
    /// Whether a missing value, or any value, is sufficient.
    private let acceptsAbsence: Bool
    private let acceptsPresence: Bool
    /// The cost of examining a scalar, in steps.
    private let cost: Int

    init(_ conditions: [FilterCondition]) {
        self.conditions = conditions
        acceptsAbsence = conditions.contains { $0.test == .exists(false) }
        acceptsPresence = conditions.contains { $0.test == .exists(true) }
        cost = 1 + conditions.reduce(0) { $0 + $1.test.cost }
    }

    func accept(_ value: JSONValue?, _ budget: inout WorkBudget) -> Bool {
        guard let value else { return acceptsAbsence }
        return acceptsPresence || acceptsScalar(in: value, &budget)
    }

    func accept(_ text: String?, _ budget: inout WorkBudget) -> Bool {
        guard var text else { return acceptsAbsence }
        return acceptsPresence || !budget.spend(cost) || text.withUTF8 { accept(.string($0)) }
    }

    private func acceptsScalar(in value: JSONValue, _ budget: inout WorkBudget) -> Bool {
        let isContainer = value.kind == .array || value.kind == .object
        guard budget.spend(isContainer ? 2 : cost + value.byteRange.count / 8) else { return true }
        switch value.kind {
        case .array: return value.elements.contains { acceptsScalar(in: $0, &budget) }
        case .object: return false
        case .string: return value.withUTF8 { accept(.string($0)) } ?? false
        case .number: return value.number.map { accept(.number($0)) } ?? false
        case .bool: return accept(.bool(value.bool == true))
        case .null: return accept(.null)
        }
    }

    private func accept(_ scalar: FilterScalar) -> Bool { conditions.contains { $0.test.matches(scalar) } }
}

extension JSONValue {
    func hasObjects(_ budget: inout WorkBudget) -> Bool { containsObject(&budget) { _, _ in true } }

    /// Whether one of the objects in an array, or in nested arrays, meets the condition.
    func containsObject(
        _ budget: inout WorkBudget, where condition: (JSONValue, inout WorkBudget) -> Bool
    ) -> Bool {
        elements.contains { element in
            guard budget.spend(2) else { return true }
            return switch element.kind {
            case .object: condition(element, &budget)
            case .array: element.containsObject(&budget, where: condition)
            default: false
            }
        }
    }
}
