/// Why a pattern is not supported.
struct PatternError: Error {
    let detail: String
    init(_ detail: String) { self.detail = detail }
}

/// Parses a regular expression according to the grammar of ECMA-262 in its Unicode mode.
struct PatternParser {
    private let text: [Unicode.Scalar]
    private var at = 0
    private var depth = 0

    private static let maxDepth = 50
    private static let maxRepetition = 1_000

    init(_ text: String) { self.text = Array(text.unicodeScalars) }

    mutating func parse() throws(PatternError) -> PatternTree {
        let tree = try choice()
        if at < text.count { throw PatternError("there is a ) without a (") }
        return tree
    }

    private var next: Unicode.Scalar? { at < text.count ? text[at] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == character else { return false }
        at += 1
        return true
    }

    private mutating func take() -> Unicode.Scalar? {
        defer { at += 1 }
        return next
    }

    // MARK: Structure

    private mutating func choice() throws(PatternError) -> PatternTree {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maxDepth else { throw PatternError("its groups are nested too deep") }
        var parts = [try sequence()]
        while take("|") { parts.append(try sequence()) }
        return parts.count == 1 ? parts[0] : .choice(parts)
    }

    private mutating func sequence() throws(PatternError) -> PatternTree {
        var parts: [PatternTree] = []
        while let character = next, character != "|", character != ")" {
            let part = try quantified(try term())
            // Without instructions it would still be visited at each repetition.
            if case .empty = part { continue }
            parts.append(part)
        }
        return parts.isEmpty ? .empty : .sequence(parts)
    }

    private mutating func term() throws(PatternError) -> PatternTree {
        guard let character = take() else { return .empty }
        switch character {
        case "^": return .assertion(.start)
        case "$": return .assertion(.end)
        case ".": return .character(CharacterSet.lineEnd.inverted)
        case "(": return try group()
        case "[": return .character(try characterClass())
        case "\\": return try escape()
        case "*", "+", "?", "{", "}", "]":
            throw PatternError("\(character) stands where nothing can be repeated or ended")
        default: return .character(CharacterSet(character))
        }
    }

    private mutating func group() throws(PatternError) -> PatternTree {
        if take("?") {
            if take("<") {
                guard next != "=", next != "!" else { throw PatternError("look-behind is not supported") }
                try skipName()
            } else if !take(":") {
                throw PatternError("(? must be followed by : or a name: look-ahead is not supported")
            }
        }
        let tree = try choice()
        guard take(")") else { throw PatternError("there is a ( without a )") }
        return tree
    }

    private mutating func skipName() throws(PatternError) {
        let start = at
        while let character = next, CharacterSet.word.contains(character) { at += 1 }
        guard at > start, take(">") else { throw PatternError("the name of a group is not ended by >") }
    }

    private mutating func quantified(_ part: PatternTree) throws(PatternError) -> PatternTree {
        let bounds: (min: Int, max: Int?)
        if take("*") {
            bounds = (0, nil)
        } else if take("+") {
            bounds = (1, nil)
        } else if take("?") {
            bounds = (0, 1)
        } else if take("{") {
            bounds = try braces()
        } else {
            return part
        }
        // Greedy or lazy: it makes no difference to whether there is a match.
        _ = take("?")
        if case .assertion = part { throw PatternError("an assertion can't be repeated") }
        if case .empty = part { return .empty }
        if bounds.max == 0 { return .empty }
        return .repetition(part, min: bounds.min, max: bounds.max)
    }

    private mutating func braces() throws(PatternError) -> (min: Int, max: Int?) {
        let min = try count()
        var max: Int? = min
        if take(",") { max = next == "}" ? nil : try count() }
        guard take("}"), min <= max ?? min else { throw PatternError("{ is not followed by n}, n,} or n,m}") }
        return (min, max)
    }

    private mutating func count() throws(PatternError) -> Int {
        var value: Int?
        while let digit = next, "0"..."9" ~= digit {
            value = (value ?? 0) * 10 + Int(digit.value - 0x30)
            at += 1
            if value ?? 0 > Self.maxRepetition {
                throw PatternError("nothing may be repeated more than \(Self.maxRepetition) times by number")
            }
        }
        guard let value else { throw PatternError("{ is not followed by n}, n,} or n,m}") }
        return value
    }

    // MARK: Characters

    private mutating func escape() throws(PatternError) -> PatternTree {
        if take("b") { return .assertion(.wordBoundary) }
        if take("B") { return .assertion(.noWordBoundary) }
        return .character(try escapedSet())
    }

    /// The escape after a backslash, also in a class.
    private mutating func escapedSet() throws(PatternError) -> CharacterSet {
        guard let character = take() else { throw PatternError("it ends with a backslash") }
        switch character {
        case "d": return .digit
        case "D": return CharacterSet.digit.inverted
        case "w": return .word
        case "W": return CharacterSet.word.inverted
        case "s": return .space
        case "S": return CharacterSet.space.inverted
        case "t": return CharacterSet("\t")
        case "n": return CharacterSet("\n")
        case "v": return CharacterSet("\u{b}")
        case "f": return CharacterSet("\u{c}")
        case "r": return CharacterSet("\r")
        case "p", "P":
            let category = try categoryName()
            return character == "p" ? category : category.inverted
        case "c":
            guard let letter = take(), letter.isASCII, letter.properties.isAlphabetic else {
                throw PatternError("\\c is not followed by a letter")
            }
            return CharacterSet(Unicode.Scalar(UInt8(letter.value & 31)))
        case "x": return CharacterSet(try Self.scalar(hexadecimalValue(digits: 2)))
        case "u": return CharacterSet(try unicodeEscape())
        case "0" where !("0"..."9" ~= next ?? "x"): return CharacterSet("\0")
        case "0"..."9", "k": throw PatternError("it refers back to a group, which is not supported")
        default:
            guard "^$\\.*+?()[]{}|/-".unicodeScalars.contains(character) else {
                throw PatternError("\\\(character) means nothing")
            }
            return CharacterSet(character)
        }
    }

    private static func scalar(_ value: UInt32) throws(PatternError) -> Unicode.Scalar {
        guard let scalar = Unicode.Scalar(value) else {
            throw PatternError("half of a surrogate pair stands for no character")
        }
        return scalar
    }

    private mutating func hexadecimalValue(digits: Int) throws(PatternError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let digit = take()?.properties.isASCIIHexDigit == true ? Character(text[at - 1]).hexDigitValue : nil
            else { throw PatternError("\\x or \\u is not followed by hexadecimal digits") }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    /// After `\u`: `XXXX`, a surrogate pair, or `{X…}`.
    private mutating func unicodeEscape() throws(PatternError) -> Unicode.Scalar {
        if take("{") {
            var digits = 0
            while at + digits < text.count, text[at + digits] != "}" { digits += 1 }
            guard (1...6).contains(digits) else { throw PatternError("\\u{ is not followed by 1 to 6 digits and }") }
            let value = try hexadecimalValue(digits: digits)
            at += 1
            return try Self.scalar(value)
        }
        let value = try hexadecimalValue(digits: 4)
        if value & 0xfc00 == 0xd800, take("\\"), take("u") {
            let low = try hexadecimalValue(digits: 4)
            if low & 0xfc00 == 0xdc00, let pair = Unicode.Scalar(0x10000 + (value & 0x3ff) << 10 + low & 0x3ff) {
                return pair
            }
        }
        return try Self.scalar(value)
    }

    /// `{Lu}`, after `\p`.
    private mutating func categoryName() throws(PatternError) -> CharacterSet {
        var name = ""
        if take("{") {
            while let character = next, character != "}" {
                name.unicodeScalars.append(character)
                at += 1
            }
        }
        guard take("}"), let set = CharacterSet(category: name) else {
            throw PatternError("\\p supports only general categories, such as {L}, {Letter} or {Nd}")
        }
        return set
    }

    /// After `[`.
    private mutating func characterClass() throws(PatternError) -> CharacterSet {
        let isInverted = take("^")
        var set = CharacterSet()
        while let character = take() {
            if character == "]" {
                set.mergeRanges()
                return isInverted ? set.inverted : set
            }
            let first = try classAtom(character)
            guard next == "-", at + 1 < text.count, text[at + 1] != "]" else {
                set.formUnion(first)
                continue
            }
            at += 1
            guard let character = take() else { break }
            let last = try classAtom(character)
            guard let low = first.only, let high = last.only, low <= high else {
                throw PatternError("a range in [] must go from one character to the same or a later one")
            }
            set.formUnion(CharacterSet(low, high))
        }
        throw PatternError("there is a [ without a ]")
    }

    private mutating func classAtom(_ character: Unicode.Scalar) throws(PatternError) -> CharacterSet {
        guard character == "\\" else { return CharacterSet(character) }
        if take("b") { return CharacterSet("\u{8}") }
        return try escapedSet()
    }
}
