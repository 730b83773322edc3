import HeraldJSON

/// A value in an event other than an array or object. A string is its UTF-8, valid during the call.
enum FilterScalar {
    case string(UnsafeBufferPointer<UInt8>)
    case number(JSONNumber)
    case bool(Bool)
    case null
}

/// An entry of an array in a filter.
struct FilterCondition: Sendable {
    indirect enum Test: Equatable, Sendable {
        case string([UInt8])
        case number(JSONNumber)
        case bool(Bool)
        case null
        case prefix([UInt8])
        case suffix([UInt8])
        case wildcard(Wildcard)
        case equalsIgnoringCase(CaseFolded)
        case prefixIgnoringCase(CaseFolded)
        case suffixIgnoringCase(CaseFolded)
        case addresses(AddressRange)
        case numeric(NumericRange)
        case exists(Bool)
        case anythingBut([Test])
    }

    let test: Test
    /// A description of the accepted values: `a string that begins with "team-"`.
    let words: String
}

extension FilterCondition.Test {
    /// The maximum number of steps, bounded by the text that is searched for; without ``searches``.
    var cost: Int {
        switch self {
        case .number, .bool, .null, .exists: 1
        case .string(let text), .prefix(let text), .suffix(let text): 1 + text.count / 16
        case .equalsIgnoringCase(let text), .prefixIgnoringCase(let text), .suffixIgnoringCase(let text): text.cost
        case .wildcard(let wildcard): wildcard.cost
        case .addresses: AddressRange.cost
        case .numeric: 2
        case .anythingBut(let excluded): excluded.reduce(1) { $0 + $1.cost }
        }
    }

    /// How often the whole of a text in the event is read.
    var searches: Int {
        switch self {
        case .wildcard(let wildcard): wildcard.searches ? 1 : 0
        case .anythingBut(let excluded): excluded.reduce(0) { $0 + $1.searches }
        default: 0
        }
    }

    func matches(_ scalar: FilterScalar) -> Bool {
        switch (self, scalar) {
        case (.string(let wanted), .string(let text)): text.count == wanted.count && text.elementsEqual(wanted)
        case (.prefix(let wanted), .string(let text)): text.starts(with: wanted)
        case (.suffix(let wanted), .string(let text)):
            text.count >= wanted.count && text[(text.count - wanted.count)...].elementsEqual(wanted)
        case (.wildcard(let wanted), .string(let text)): wanted.matches(text)
        case (.equalsIgnoringCase(let wanted), .string(let text)): wanted.equals(text)
        case (.prefixIgnoringCase(let wanted), .string(let text)): wanted.begins(text)
        case (.suffixIgnoringCase(let wanted), .string(let text)): wanted.ends(text)
        case (.addresses(let range), .string(let text)): range.contains(text)
        case (.number(let wanted), .number(let number)): number == wanted
        case (.numeric(let range), .number(let number)): range.contains(number)
        case (.bool(let wanted), .bool(let value)): value == wanted
        case (.null, .null): true
        case (.anythingBut(let excluded), _): !excluded.contains { $0.matches(scalar) }
        default: false
        }
    }
}

/// Numbers between two bounds, one of which may be missing.
struct NumericRange: Equatable, Sendable {
    struct Bound: Equatable, Sendable {
        let number: JSONNumber
        let isIncluded: Bool
    }
    var lower: Bound?
    var upper: Bound?

    func contains(_ number: JSONNumber) -> Bool {
        if let lower, number < lower.number || (number == lower.number && !lower.isIncluded) { return false }
        if let upper, number > upper.number || (number == upper.number && !upper.isIncluded) { return false }
        return true
    }

    var isEmpty: Bool {
        guard let lower, let upper else { return false }
        return upper.number < lower.number
            || (upper.number == lower.number && !(lower.isIncluded && upper.isIncluded))
    }
}
