import HeraldJSON

/// The clause of a filter that an event does not match, and the reason, for people.
package struct FilterMismatch: Equatable, Sendable {
    /// The clause: a JSON pointer into the filter.
    package let pointer: String
    /// The values that the clause accepts: `"pro" or a string that begins with "team-"`. At most about 200 characters.
    package let expected: String
    /// The value in the event: `the string "free"`. At most about 100 characters.
    package let found: String

    /// `/data/plan: expected "pro", found "free"`
    package var description: String { "\(pointer): expected \(expected), found \(found)" }
}

extension FilterMismatch: CustomStringConvertible {}

extension FilterClause {
    /// Why ``accepts(_:_:)`` is `false`; `nil` if it is `true`.
    func mismatch(_ value: JSONValue?, _ budget: inout WorkBudget) -> FilterMismatch? {
        guard !accepts(value, &budget) else { return nil }
        guard case .members(let clauses) = rule else { return mismatch(found: value.map(describe) ?? "nothing") }
        guard let value else { return Self.first(of: clauses, in: nil, &budget) }
        switch value.kind {
        case .object: return Self.first(of: clauses, in: value, &budget)
        case .array:
            var objects: [JSONValue] = []
            _ = value.containsObject(&budget) { object, _ in
                objects.append(object)
                return objects.count > 1
            }
            // The reason is clear only if there is exactly one object.
            if objects.count == 1 { return Self.first(of: clauses, in: objects[0], &budget) }
            return mismatch(found: objects.isEmpty ? describe(value) : "an array in which no object does")
        default: return mismatch(found: describe(value))
        }
    }

    func mismatch(_ text: String?, _ budget: inout WorkBudget) -> FilterMismatch? {
        guard !accepts(text, &budget) else { return nil }
        guard let text else { return mismatch(found: "nothing") }
        var json = JSONWriter()
        json.value(text)
        return mismatch(found: excerpt(String(decoding: json.bytes, as: UTF8.self), maxFound))
    }

    private static func first(
        of clauses: [FilterClause], in object: JSONValue?, _ budget: inout WorkBudget
    ) -> FilterMismatch? {
        for clause in clauses {
            if let mismatch = clause.mismatch(object?[clause.key], &budget) { return mismatch }
        }
        return nil
    }

    private func mismatch(found: String) -> FilterMismatch {
        FilterMismatch(pointer: pointer, expected: excerpt(expected, maxExpected), found: found)
    }

    private var expected: String {
        switch rule {
        case .values(let values): values.conditions.map(\.words).joined(separator: " or ")
        case .members(let clauses):
            "an object whose " + clauses.map(\.key).joined(separator: ", ")
                + (clauses.count == 1 ? " agrees" : " agree") + " with the filter"
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
        excerpt(value.withBytes { String(decoding: $0.prefix(4 * maxFound + 4), as: UTF8.self) }, maxFound)
    }
}

private func excerpt(_ text: String, _ limit: Int) -> String {
    text.unicodeScalars.count <= limit
        ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit))) + "…"
}
