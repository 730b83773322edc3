import HeraldJSON
import HeraldTestSupport

/// A filter on the data of events in its plainest form, which multiplies everything out: alternatives become lists of
/// conditions, and arrays of the event become events with one element each.
struct NaiveFilter {
    indirect enum Item {
        case values([Condition])
        case object(NaiveFilter)
    }

    indirect enum Condition {
        case equal(NaiveValue)
        case text(String, String)
        case ignoringCase(String, String)
        case numeric(String, Int)
        case exists(Bool)
        case except([Condition])
    }

    var members: [(key: String, item: Item)] = []
    var alternatives: [NaiveFilter] = []

    func matches(_ event: NaiveValue) -> Bool {
        let views = event.views
        return conjunctions.contains { conditions in
            views.contains { view in
                conditions.allSatisfy { path, accepted in
                    let found = path.reduce(view) { $0?[$1] }
                    return accepted.contains { $0.accepts(found) }
                }
            }
        }
    }

    private typealias Conjunction = [(path: [String], accepted: [Condition])]

    private var conjunctions: [Conjunction] {
        var found: [Conjunction] = [[]]
        func multiply(_ choices: [Conjunction]) { found = found.flatMap { one in choices.map { one + $0 } } }
        for (key, item) in members {
            switch item {
            case .values(let accepted): multiply([[([key], accepted)]])
            case .object(let filter): multiply(filter.conjunctions.map { $0.map { ([key] + $0.path, $0.accepted) } })
            }
        }
        if !alternatives.isEmpty { multiply(alternatives.flatMap(\.conjunctions)) }
        return found
    }

    var json: String {
        var parts = members.map { key, item in
            switch item {
            case .values(let accepted): "\(quoted(key)):[\(accepted.map(\.json).joined(separator: ","))]"
            case .object(let filter): "\(quoted(key)):\(filter.json)"
            }
        }
        if !alternatives.isEmpty { parts.append(#""$or":[\#(alternatives.map(\.json).joined(separator: ","))]"#) }
        return "{\(parts.joined(separator: ","))}"
    }
}

extension NaiveFilter.Condition {
    func accepts(_ value: NaiveValue?) -> Bool {
        switch (self, value) {
        case (.exists(let isThere), _): isThere == (value?.isScalar ?? false)
        case (_, nil): false
        case (.equal(let wanted), let value?): value.isScalar && wanted.json == value.json
        case (.text("prefix", let part), .text(let text)?): Array(text.utf8).starts(with: part.utf8)
        case (.text("suffix", let part), .text(let text)?): text.utf8.reversed().starts(with: part.utf8.reversed())
        case (.text("wildcard", let pattern), .text(let text)?):
            Self.isLike(Array(pattern.utf8)[...], Array(text.utf8)[...])
        case (.text(_, let range), .text(let text)?): Self.isAddress(text, in: range)
        case (.ignoringCase("prefix", let part), .text(let text)?):
            Array(text.lowercased().utf8).starts(with: part.lowercased().utf8)
        case (.ignoringCase("suffix", let part), .text(let text)?):
            text.lowercased().utf8.reversed().starts(with: part.lowercased().utf8.reversed())
        case (.ignoringCase(_, let part), .text(let text)?):
            text.lowercased().utf8.elementsEqual(part.lowercased().utf8)
        case (.numeric("<", let bound), .number(let number)?): number < bound
        case (.numeric(_, let bound), .number(let number)?): number >= bound
        case (.except(let excluded), let value?): value.isScalar && !excluded.contains { $0.accepts(value) }
        default: false
        }
    }

    private static func isLike(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == UInt8(ascii: "*") {
            return isLike(pattern.dropFirst(), text) || (!text.isEmpty && isLike(pattern, text.dropFirst()))
        }
        let isEscape = first == UInt8(ascii: "\\")
        let wanted = isEscape ? pattern.dropFirst().first : first
        return text.first == wanted && isLike(pattern.dropFirst(isEscape ? 2 : 1), text.dropFirst())
    }

    private static func isAddress(_ text: String, in range: String) -> Bool {
        func bits(_ text: Substring) -> [Bool]? {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).compactMap { UInt8($0) }
            return parts.count == 4 ? parts.flatMap { part in (0..<8).map { part << $0 & 128 != 0 } } : nil
        }
        let parts = range.split(separator: "/")
        guard let base = bits(parts[0]), let address = bits(text[...]), let length = Int(parts[1]) else { return false }
        return base.prefix(length) == address.prefix(length)
    }

    var json: String {
        switch self {
        case .equal(let value): value.json
        case .text(let name, let text): #"{"\#(name)":\#(quoted(text))}"#
        case .ignoringCase("", let text): #"{"equals-ignore-case":\#(quoted(text))}"#
        case .ignoringCase(let name, let text): #"{"\#(name)":{"equals-ignore-case":\#(quoted(text))}}"#
        case .numeric(let comparison, let bound): #"{"numeric":["\#(comparison)",\#(bound)]}"#
        case .exists(let isThere): #"{"exists":\#(isThere)}"#
        case .except(let excluded): #"{"anything-but":\#(Self.json(ofExcluded: excluded))}"#
        }
    }

    /// All of one kind.
    private static func json(ofExcluded excluded: [Self]) -> String {
        func texts(_ texts: [String]) -> String {
            texts.count == 1 ? quoted(texts[0]) : "[\(texts.map(quoted).joined(separator: ","))]"
        }
        let all = excluded.map { condition in
            switch condition {
            case .text(_, let text), .ignoringCase(_, let text): text
            default: ""
            }
        }
        switch excluded.first {
        case .text(let name, _)?: return #"{"\#(name)":\#(texts(all))}"#
        case .ignoringCase?: return #"{"equals-ignore-case":\#(texts(all))}"#
        default: return excluded.count == 1 ? excluded[0].json : "[\(excluded.map(\.json).joined(separator: ","))]"
        }
    }
}

/// The data of an event.
indirect enum NaiveValue {
    case text(String)
    case number(Int)
    case other(String)
    case object([(key: String, value: NaiveValue)])
    case array([NaiveValue])

    var isScalar: Bool {
        switch self {
        case .text, .number, .other: true
        case .object, .array: false
        }
    }

    subscript(key: String) -> NaiveValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// The value with one element instead of each array, in all ways; empty arrays stay.
    var views: [NaiveValue] {
        switch self {
        case .array(let elements) where !elements.isEmpty: elements.flatMap(\.views)
        case .object(let members):
            members.reduce([[]]) { found, member in
                member.value.views.flatMap { view in found.map { $0 + [(member.key, view)] } }
            }.map { .object($0) }
        default: [self]
        }
    }

    var json: String {
        switch self {
        case .text(let text): quoted(text)
        case .number(let number): String(number)
        case .other(let literal): literal
        case .object(let members): "{\(members.map { "\(quoted($0.key)):\($0.value.json)" }.joined(separator: ","))}"
        case .array(let elements): "[\(elements.map(\.json).joined(separator: ","))]"
        }
    }
}

/// A text as a JSON string.
func quoted(_ text: String) -> String { String(decoding: JSONWriter.document(of: text), as: UTF8.self) }
