/// A text in which each `*` stands for any characters, or none: `orders/*/paid`. Other characters stand for themselves,
/// and `\*` and `\\` for an asterisk and a backslash.
///
/// Matching reads each byte of a text once. It never goes back, since the earliest occurrence of each part leaves the
/// most for the next one.
struct Wildcard: Equatable, Sendable {
    /// The part before the first `*`.
    private let beginning: [UInt8]
    /// The parts between two `*`.
    private let parts: [SearchedText]
    /// The part after the last `*`; `nil` if there is none, and the text must be equal to ``beginning``.
    private let ending: [UInt8]?

    init(_ pattern: String) throws(TextError) {
        let oddEscape = TextError("must have \\* or \\\\ where it has a backslash: an asterisk or a backslash itself")
        var parts: [[UInt8]] = [[]]
        var isEscaped = false
        var wasStar = false
        for byte in pattern.utf8 {
            let isStar = byte == UInt8(ascii: "*") && !isEscaped
            if isStar && wasStar {
                throw TextError("must not have two * in a row: one stands for any number of characters")
            }
            wasStar = isStar
            if isEscaped {
                guard byte == UInt8(ascii: "*") || byte == UInt8(ascii: "\\") else { throw oddEscape }
                parts[parts.count - 1].append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if isStar {
                parts.append([])
            } else {
                parts[parts.count - 1].append(byte)
            }
        }
        if isEscaped { throw oddEscape }
        beginning = parts.removeFirst()
        ending = parts.popLast()
        self.parts = parts.map(SearchedText.init)
    }

    /// In steps, without the search.
    var cost: Int { 1 + (beginning.count + (ending?.count ?? 0)) / 16 + parts.count }

    /// Whether matching reads more of a text than its beginning and its end.
    var searches: Bool { !parts.isEmpty }

    func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let ending else { return text.count == beginning.count && text.elementsEqual(beginning) }
        var start = beginning.count
        let end = text.count - ending.count
        guard start <= end, text.starts(with: beginning), text[end...].elementsEqual(ending) else { return false }
        for part in parts {
            guard let next = part.end(in: text, from: start, to: end) else { return false }
            start = next
        }
        return true
    }
}

/// A text that is searched for within others, in linear time, as by Knuth, Morris and Pratt.
private struct SearchedText: Equatable, Sendable {
    /// At least one byte; at most the bytes of a filter, so that lengths fit into 16 bits.
    private let bytes: [UInt8]
    /// For each beginning of the text: the length of the longest shorter one that it ends with.
    private let borders: [UInt16]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var borders: [UInt16] = []
        var length = 0
        for (index, byte) in bytes.enumerated() {
            if index > 0 {
                while length > 0, bytes[length] != byte { length = Int(borders[length - 1]) }
                if bytes[length] == byte { length += 1 }
            }
            borders.append(UInt16(truncatingIfNeeded: length))
        }
        self.borders = borders
    }

    /// The position behind the first occurrence of the text in a part of another.
    func end(in text: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            var found = 0
            for index in start..<end {
                while found > 0, bytes[found] != text[index] { found = Int(borders[found - 1]) }
                if bytes[found] == text[index] { found += 1 }
                if found == bytes.count { return index + 1 }
            }
            return nil
        }
    }
}
