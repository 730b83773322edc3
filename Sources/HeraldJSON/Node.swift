/// One value on the tape. Its children follow it directly, each with its own children behind it.
struct Node {
    struct Flags: OptionSet {
        let rawValue: UInt8
        /// The string holds backslashes.
        static let escaped = Flags(rawValue: 1)
        /// The key holds backslashes.
        static let keyEscaped = Flags(rawValue: 2)
        /// The number has neither fraction nor exponent.
        static let integer = Flags(rawValue: 4)
        /// The literal `true`.
        static let isTrue = Flags(rawValue: 8)
    }

    var kind: JSONKind
    var flags: Flags
    /// The key between its quotes, as it stands in the text. Empty for elements and the outermost value.
    var keyStart: UInt32
    var keyCount: UInt32
    /// The text of the value, quotes and brackets included.
    var start: UInt32
    var end: UInt32
    /// The node after this one and all that is in it: the next sibling, or, for the last, that of the parent.
    var next: UInt32
    /// Members or elements.
    var count: UInt32
}

/// An array or object that is still open.
struct Frame {
    var node: Int
    var count: Int
    /// Where its keys begin in the scanner's stack of keys.
    var firstKey: Int
    var isObject: Bool
}

/// A key of an object that is still open: enough to find equal ones without looking at the text.
struct KeyEntry {
    var hash: UInt32
    var node: UInt32
}
