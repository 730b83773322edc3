import JSON

/// What a filter says of one member of an event.
struct FilterClause: Sendable {
    indirect enum Rule: Sendable {
        /// The value is an object, or an array with one, whose members agree with all of these.
        case members([FilterClause])
        /// The value agrees with one of these.
        case values(FilterValues)
    }

    let key: String
    /// Where it stands in the filter.
    let pointer: String
    let rule: Rule

    func accepts(_ value: JSONValue?) -> Bool {
        switch rule {
        case .values(let values): values.accept(value)
        case .members(let clauses): Self.all(clauses, accept: value)
        }
    }

    /// The same for a member that is not part of the event's data.
    func accepts(_ text: String?) -> Bool {
        guard case .values(let values) = rule else { return false }
        return values.accept(text)
    }

    private static func all(_ clauses: [FilterClause], accept value: JSONValue?) -> Bool {
        if let value, value.kind == .object { return clauses.allSatisfy { $0.accepts(value[$0.key]) } }
        guard let value, value.kind == .array, value.hasObjects else {
            // As if there were an object without members.
            return clauses.allSatisfy { $0.accepts(JSONValue?.none) }
        }
        return value.containsObject { object in clauses.allSatisfy { $0.accepts(object[$0.key]) } }
    }
}

/// What is accepted where a value stands: one condition must agree.
struct FilterValues: Sendable {
    let conditions: [FilterCondition]
    /// Whether it is enough that there is nothing, or that there is something.
    private let acceptsAbsence: Bool
    private let acceptsPresence: Bool

    init(_ conditions: [FilterCondition]) {
        self.conditions = conditions
        acceptsAbsence = conditions.contains { $0.test == .exists(false) }
        acceptsPresence = conditions.contains { $0.test == .exists(true) }
    }

    func accept(_ value: JSONValue?) -> Bool {
        guard let value else { return acceptsAbsence }
        return acceptsPresence || acceptsScalar(in: value)
    }

    func accept(_ text: String?) -> Bool {
        guard var text else { return acceptsAbsence }
        return acceptsPresence || text.withUTF8 { accept(.string($0)) }
    }

    private func acceptsScalar(in value: JSONValue) -> Bool {
        switch value.kind {
        case .array: value.elements.contains { acceptsScalar(in: $0) }
        case .object: false
        case .string: value.withUTF8 { accept(.string($0)) } ?? false
        case .number: value.number.map { accept(.number($0)) } ?? false
        case .bool: accept(.bool(value.bool == true))
        case .null: accept(.null)
        }
    }

    private func accept(_ scalar: FilterScalar) -> Bool { conditions.contains { $0.test.matches(scalar) } }
}

extension JSONValue {
    var hasObjects: Bool { containsObject { _ in true } }

    /// Whether one of the objects in an array, or in arrays in it, fulfils the condition.
    func containsObject(where condition: (JSONValue) -> Bool) -> Bool {
        elements.contains { element in
            switch element.kind {
            case .object: condition(element)
            case .array: element.containsObject(where: condition)
            default: false
            }
        }
    }
}
