/// A set of characters, given by ranges and Unicode's general categories, possibly inverted.
struct CharacterSet: Sendable {
    private var ranges: [ClosedRange<UInt32>] = []
    private var categories: [Unicode.GeneralCategory] = []
    /// Inverted sets inside this one.
    private var others: [CharacterSet] = []
    private var costOfOthers = 0
    private var isInverted = false

    init() {}
    init(_ character: Unicode.Scalar) { ranges = [character.value...character.value] }
    init(_ first: Unicode.Scalar, _ last: Unicode.Scalar) { ranges = [first.value...last.value] }

    /// - Parameter name: a category of two letters, one letter for all categories that start with it, or the long name
    ///   of either in PropertyValueAliases.txt of Unicode; also behind `General_Category=` or `gc=`.
    init?(category name: String) {
        let value = name.split(separator: "=", omittingEmptySubsequences: false)
        guard value.count == 1 || value.count == 2 && ["General_Category", "gc"].contains(value[0]) else { return nil }
        let long = String(value[value.count - 1])
        let name = Self.longNames[long] ?? long
        categories = Self.categoryNames.filter { $0.key == name || (name.count == 1 && $0.key.hasPrefix(name)) }.map(
            \.value)
        if categories.isEmpty { return nil }
    }

    func contains(_ character: Unicode.Scalar) -> Bool {
        let isMember =
            ranges.contains { $0.contains(character.value) }
            || (!categories.isEmpty && categories.contains(character.properties.generalCategory))
            || others.contains { $0.contains(character) }
        return isMember != isInverted
    }

    /// The time of `contains`, in units of the simplest set.
    var cost: Int { 1 + ranges.count / 8 + categories.count + costOfOthers }

    var inverted: CharacterSet {
        var copy = self
        copy.isInverted.toggle()
        return copy
    }

    mutating func formUnion(_ other: CharacterSet) {
        if other.isInverted {
            others.append(other)
            costOfOthers += 1 + other.cost
        } else {
            ranges += other.ranges
            categories += other.categories
            others += other.others
            costOfOthers += other.costOfOthers
        }
    }

    /// Makes one range of ranges that overlap or adjoin.
    mutating func mergeRanges() {
        var merged: [ClosedRange<UInt32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound + 1 {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        ranges = merged
    }

    /// The character, if there is exactly one.
    var only: Unicode.Scalar? {
        guard let range = ranges.first, ranges.count == 1, range.count == 1, categories.isEmpty, others.isEmpty,
            !isInverted
        else { return nil }
        return Unicode.Scalar(range.lowerBound)
    }

    static let digit = CharacterSet("0", "9")
    static let word = union(CharacterSet("a", "z"), CharacterSet("A", "Z"), digit, CharacterSet("_"))
    static let lineEnd = union(CharacterSet("\u{2028}", "\u{2029}"), CharacterSet("\n"), CharacterSet("\r"))
    static let space: CharacterSet = {
        var set = union(CharacterSet("\u{9}", "\u{d}"), lineEnd, CharacterSet("\u{feff}"))
        set.categories = [.spaceSeparator]
        return set
    }()

    private static func union(_ sets: CharacterSet...) -> CharacterSet {
        sets.reduce(into: CharacterSet()) { $0.formUnion($1) }
    }

    private static let categoryNames: [String: Unicode.GeneralCategory] = [
        "Lu": .uppercaseLetter, "Ll": .lowercaseLetter, "Lt": .titlecaseLetter, "Lm": .modifierLetter,
        "Lo": .otherLetter, "Mn": .nonspacingMark, "Mc": .spacingMark, "Me": .enclosingMark, "Nd": .decimalNumber,
        "Nl": .letterNumber, "No": .otherNumber, "Pc": .connectorPunctuation, "Pd": .dashPunctuation,
        "Ps": .openPunctuation, "Pe": .closePunctuation, "Pi": .initialPunctuation, "Pf": .finalPunctuation,
        "Po": .otherPunctuation, "Sm": .mathSymbol, "Sc": .currencySymbol, "Sk": .modifierSymbol, "So": .otherSymbol,
        "Zs": .spaceSeparator, "Zl": .lineSeparator, "Zp": .paragraphSeparator, "Cc": .control, "Cf": .format,
        "Cs": .surrogate, "Co": .privateUse, "Cn": .unassigned,
    ]

    private static let longNames = [
        "Letter": "L", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
        "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Combining_Mark": "M", "Nonspacing_Mark": "Mn",
        "Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "digit": "Nd",
        "Letter_Number": "Nl", "Other_Number": "No", "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc",
        "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi",
        "Final_Punctuation": "Pf", "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm",
        "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z",
        "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Other": "C", "Control": "Cc",
        "cntrl": "Cc", "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co", "Unassigned": "Cn",
    ]
}
