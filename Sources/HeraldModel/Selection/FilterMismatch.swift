import HeraldJSON

/// The clause of a filter that an event does not match, and the reason, for people.
package struct FilterMismatch: Equatable, Sendable, CustomStringConvertible {
    /// The clause: a JSON pointer into the filter.
    package let pointer: String
    /// The values that the clause accepts: `"pro" or a string that begins with "team-"`. At most about 200 characters.
    package let expected: String
    /// The value in the event: `the string "free"`. At most about 100 characters.
    package let found: String

    /// `/data/plan: expected "pro", found "free"`
    package var description: String { "\(pointer): expected \(expected), found \(found)" }
}

extension FilterMismatch {
    init(at pointer: String, expected: String, found: String) {
        self.init(
            pointer: pointer, expected: expected.shortened(to: maxExpected), found: found.shortened(to: maxFound))
    }

    /// - Parameters:
    ///   - pointer: that of `$or`.
    ///   - reasons: why the first of the alternatives do not match.
    static func noAlternative(of count: Int, at pointer: String, _ reasons: [FilterMismatch]) -> FilterMismatch {
        FilterMismatch(
            at: pointer, expected: "one of \(count) alternatives",
            found: reasons.map { "\($0.found) at \($0.pointer)" }.joined(separator: ", "))
    }

    /// The number of alternatives that are explained.
    static let explainedAlternatives = 2
}

extension FilterClause {
    /// Why ``accepts(_:_:)`` is `false`; `nil` if it is `true`.
    /// - Parameter pointer: that of the clause in the filter.
    func mismatch(_ value: JSONValue?, at pointer: String, _ budget: inout WorkBudget) -> FilterMismatch? {
        guard !accepts(value, &budget) else { return nil }
        switch rule {
        case .values: return mismatch(at: pointer, found: value.map(describe) ?? "nothing")
        case .anyOf(let alternatives):
            let reasons = alternatives.prefix(FilterMismatch.explainedAlternatives).enumerated().compactMap {
                Self.first(of: $1, in: value, at: "\(pointer)/\($0)", &budget)
            }
            return .noAlternative(of: alternatives.count, at: pointer, reasons)
        case .members(let clauses):
            guard let value else { return Self.first(of: clauses, in: nil, at: pointer, &budget) }
            switch value.kind {
            case .object: return Self.first(of: clauses, in: value, at: pointer, &budget)
            case .array:
                var objects: [JSONValue] = []
                _ = value.containsObject(&budget) { object, _ in
                    objects.append(object)
                    return objects.count > 1
                }
                // The reason is clear only if there is exactly one object.
                if objects.count == 1 { return Self.first(of: clauses, in: objects[0], at: pointer, &budget) }
                return mismatch(
                    at: pointer, found: objects.isEmpty ? describe(value) : "an array in which no object does")
            default: return mismatch(at: pointer, found: describe(value))
            }
        }
    }

    func mismatch(_ text: String?, at pointer: String, _ budget: inout WorkBudget) -> FilterMismatch? {
        guard !accepts(text, &budget) else { return nil }
        guard let text else { return mismatch(at: pointer, found: "nothing") }
        return mismatch(at: pointer, found: String(decoding: JSONWriter.document(of: text), as: UTF8.self))
    }

    func mismatch(oneOf texts: [String], at pointer: String, _ budget: inout WorkBudget) -> FilterMismatch? {
        guard !accepts(oneOf: texts, &budget) else { return nil }
        guard !texts.isEmpty else { return mismatch(at: pointer, found: "nothing") }
        return mismatch(at: pointer, found: String(decoding: JSONWriter.document(of: texts), as: UTF8.self))
    }

    private static func first(
        of clauses: [FilterClause], in object: JSONValue?, at pointer: String, _ budget: inout WorkBudget
    ) -> FilterMismatch? {
        for clause in clauses {
            let path = JSONPointer.child(pointer, clause.key)
            if let mismatch = clause.mismatch(clause.subject(in: object), at: path, &budget) { return mismatch }
        }
        return nil
    }

    private func mismatch(at pointer: String, found: String) -> FilterMismatch {
        FilterMismatch(at: pointer, expected: expected, found: found)
    }

    private var expected: String {
        switch rule {
        case .values(let values): values.conditions.map(\.words).joined(separator: " or ")
        case .members(let clauses):
            "an object whose " + clauses.map(\.key).joined(separator: ", ")
                + (clauses.count == 1 ? " agrees" : " agree") + " with the filter"
        case .anyOf(let alternatives): "one of \(alternatives.count) alternatives"
        }
    }
}

private let maxExpected = 200
private let maxFound = 100

private func describe(_ value: JSONValue) -> String {
    switch value.kind {
    case .object: "an object"
    case .array where value.count == 0: "an empty array"
    case .array: value.count == 1 ? "an array of 1 element" : "an array of \(value.count) elements"
    case .string, .number, .bool, .null:
        // A few bytes more than displayed: a character that is cut in two is removed afterwards.
        value.withBytes { String(decoding: $0.prefix(4 * maxFound + 4), as: UTF8.self) }.shortened(to: maxFound)
    }
}
