import HeraldJSON

/// The conditions of a filter on one member of an event, or alternatives for an object of it.
struct FilterClause: Sendable {
    indirect enum Rule: Sendable {
        /// The value is an object, or an array with one, whose members match all of these.
        case members([FilterClause])
        /// The value matches one of these.
        case values(FilterValues)
        /// The object that would have the member matches all clauses of one of these.
        case anyOf([[FilterClause]])
    }

    /// The member's name; ``alternatives`` for those.
    let key: String
    let rule: Rule

    /// The key of alternatives.
    static let alternatives = "$or"

    /// - Parameter budget: if it is exhausted, the result is `true`.
    func accepts(_ value: JSONValue?, _ budget: inout WorkBudget) -> Bool {
        switch rule {
        case .values(let values): values.accept(value, &budget)
        case .members(let clauses): Self.all(clauses, accept: value, &budget)
        case .anyOf(let alternatives): alternatives.contains { Self.all($0, agreeWith: value, &budget) }
        }
    }

    /// Whether a value that is not part of the event's data is accepted.
    func accepts(_ text: String?, _ budget: inout WorkBudget) -> Bool {
        guard case .values(let values) = rule else { return false }
        return values.accept(text, &budget)
    }

    /// Whether one of several values is accepted, as for an array in the event's data; without values, as for a missing member.
    func accepts(oneOf texts: [String], _ budget: inout WorkBudget) -> Bool {
        texts.isEmpty ? accepts(nil as String?, &budget) : texts.contains { accepts($0, &budget) }
    }

    /// The value that the clause examines in an object: a member of it, or the object itself.
    func subject(in object: JSONValue?) -> JSONValue? {
        if case .anyOf = rule { return object }
        return object?[key]
    }

    private static func all(
        _ clauses: [FilterClause], accept value: JSONValue?, _ budget: inout WorkBudget
    ) -> Bool {
        guard let value, value.kind == .object || (value.kind == .array && value.hasObjects(&budget)) else {
            // Like an object without members.
            return all(clauses, agreeWith: nil, &budget)
        }
        if value.kind == .object { return all(clauses, agreeWith: value, &budget) }
        return value.containsObject(&budget) { all(clauses, agreeWith: $0, &$1) }
    }

    private static func all(
        _ clauses: [FilterClause], agreeWith object: JSONValue?, _ budget: inout WorkBudget
    ) -> Bool {
        for clause in clauses {
            // A look-up scans the members before the one it finds.
            guard budget.spend(2 + (object?.count ?? 0) / 2) else { return true }
            let subject = clause.subject(in: object)
            if let subject, !budget.spend(subject.keyCost) { return true }
            if !clause.accepts(subject, &budget) { return false }
        }
        return true
    }
}

/// The accepted values of a member: one condition must match.
struct FilterValues: Sendable {
    let conditions: [FilterCondition]
    /// Whether a missing scalar, or any scalar, is sufficient.
    private let acceptsAbsence: Bool
    private let acceptsPresence: Bool
    /// The cost of examining a scalar, in steps, and how often its text is read.
    private let cost: Int
    private let searches: Int

    init(_ conditions: [FilterCondition]) {
        self.conditions = conditions
        acceptsAbsence = conditions.contains { $0.test == .exists(false) }
        acceptsPresence = conditions.contains { $0.test == .exists(true) }
        cost = 1 + conditions.reduce(0) { $0 + $1.test.cost }
        searches = conditions.reduce(0) { $0 + $1.test.searches }
    }

    func accept(_ value: JSONValue?, _ budget: inout WorkBudget) -> Bool {
        guard let value else { return acceptsAbsence }
        if acceptsAbsence || acceptsPresence {
            // Objects and empty arrays have no value of their own.
            let isPresent = value.hasScalar(&budget)
            if isPresent ? acceptsPresence : acceptsAbsence { return true }
        }
        return acceptsScalar(in: value, &budget)
    }

    func accept(_ text: String?, _ budget: inout WorkBudget) -> Bool {
        guard var text else { return acceptsAbsence }
        return acceptsPresence || !budget.spend(steps(text.utf8.count)) || text.withUTF8 { accept(.string($0)) }
    }

    private func acceptsScalar(in value: JSONValue, _ budget: inout WorkBudget) -> Bool {
        let isContainer = value.kind == .array || value.kind == .object
        guard budget.spend(isContainer ? 2 : steps(value.byteRange.count) + value.byteRange.count / 8) else {
            return true
        }
        switch value.kind {
        case .array: return value.elements.contains { acceptsScalar(in: $0, &budget) }
        case .object: return false
        case .string: return value.withUTF8 { accept(.string($0)) } ?? false
        case .number: return value.number.map { accept(.number($0)) } ?? false
        case .bool: return accept(.bool(value.bool == true))
        case .null: return accept(.null)
        }
    }

    /// For a scalar of so many bytes. A search reads four bytes in a step.
    private func steps(_ bytes: Int) -> Int { cost + searches * (bytes / 4) }

    private func accept(_ scalar: FilterScalar) -> Bool { conditions.contains { $0.test.matches(scalar) } }
}

extension JSONValue {
    /// Whether the value is a string, number, boolean or `null`, or an array with one, at any depth of arrays.
    func hasScalar(_ budget: inout WorkBudget) -> Bool {
        switch kind {
        case .array: elements.contains { !budget.spend(1) || $0.hasScalar(&budget) }
        case .object: false
        default: true
        }
    }

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
