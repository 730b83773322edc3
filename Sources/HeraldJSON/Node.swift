/// One value on the tape, followed by its children and their descendants.
struct Node {
    struct Flags: OptionSet {
        let rawValue: UInt8
        /// The string contains backslashes.
        static let escaped = Flags(rawValue: 1)
        /// The key contains backslashes.
        static let keyEscaped = Flags(rawValue: 2)
        /// The number has neither fraction nor exponent.
        static let integer = Flags(rawValue: 4)
        /// The literal `true`.
        static let isTrue = Flags(rawValue: 8)
    }

    var kind: JSONKind
    var flags: Flags
    /// A part of the key's hash. Only the keys of members have one.
    var keyHash: UInt16
    /// The range of the key between its quotes. Empty for elements and the outermost value.
    var keyStart: UInt32
    var keyCount: UInt32
    /// The range of the value, including quotes and brackets.
    var start: UInt32
    var end: UInt32
    /// The node after this one and its descendants: the next sibling, or, for the last, that of the parent.
    var next: UInt32
    /// The number of members or elements.
    var count: UInt32
}

/// An open array or object.
struct Frame {
    var node: Int
    var count: Int
    /// Where its keys start in the scanner's stack of keys.
    var firstKey: Int
    var isObject: Bool
}

/// A key of an open object: enough to find equal keys without reading the text.
struct KeyEntry {
    var hash: UInt32
    var node: UInt32
}
