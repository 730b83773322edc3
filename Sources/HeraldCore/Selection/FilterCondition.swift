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
        case equalsIgnoringCase(CaseFolded)
        case numeric(NumericRange)
        case exists(Bool)
        case anythingBut([Test])
    }

    let test: Test
    /// A description of the accepted values: `a string that begins with "team-"`.
    let words: String
}

extension FilterCondition.Test {
    /// The maximum number of steps, bounded by the text that is searched for.
    var cost: Int {
        switch self {
        case .number, .bool, .null, .exists: 1
        case .string(let text), .prefix(let text), .suffix(let text): 1 + text.count / 16
        case .equalsIgnoringCase(let text): text.cost
        case .numeric: 2
        case .anythingBut(let excluded): excluded.reduce(1) { $0 + $1.cost }
        }
    }

    func matches(_ scalar: FilterScalar) -> Bool {
        switch (self, scalar) {
        case (.string(let wanted), .string(let text)): text.count == wanted.count && text.elementsEqual(wanted)
        case (.prefix(let wanted), .string(let text)): text.starts(with: wanted)
        case (.suffix(let wanted), .string(let text)):
            text.count >= wanted.count && text[(text.count - wanted.count)...].elementsEqual(wanted)
        case (.equalsIgnoringCase(let wanted), .string(let text)): wanted.equals(text)
        case (.number(let wanted), .number(let number)): number == wanted
        case (.numeric(let range), .number(let number)): range.contains(number)
        case (.bool(let wanted), .bool(let value)): value == wanted
        case (.null, .null): true
        case (.anythingBut(let excluded), _): !excluded.contains { $0.matches(scalar) }
        default: false
        }
    }
}

/// A string compared without case, with Unicode's mapping of single characters, independent of language.
struct CaseFolded: Equatable, Sendable {
    private let folded: [UInt8]

    init(_ text: String) { folded = Array(text.lowercased().utf8) }

    /// In steps.
    var cost: Int { 2 + 4 * folded.count }

    func equals(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        // A character takes at most three times the bytes in its other case.
        guard text.count <= 3 * folded.count else { return false }
        for (index, byte) in text.enumerated() {
            // Beyond ASCII even the length may change: the slow path.
            guard byte < 0x80 else {
                return String(decoding: text, as: UTF8.self).lowercased().utf8.elementsEqual(folded)
            }
            let isUpper = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
            guard index < folded.count, folded[index] == (isUpper ? byte | 0x20 : byte) else { return false }
        }
        return text.count == folded.count
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
