/// A string compared without case, with Unicode's mapping of single characters, independent of language.
struct CaseFolded: Equatable, Sendable {
    private let folded: [UInt8]

    init(_ text: String) { folded = Array(text.lowercased().utf8) }

    /// In steps.
    var cost: Int { 2 + 4 * folded.count }

    /// A character takes at most three times the bytes in its other case.
    private var maxBytes: Int { 3 * folded.count }

    func equals(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count <= maxBytes else { return false }
        return compareASCII(text) { text.count == folded.count }
            ?? String(decoding: text, as: UTF8.self).lowercased().utf8.elementsEqual(folded)
    }

    func begins(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        // A character that is cut in two is behind the bytes that are compared.
        compareASCII(text) { text.count >= folded.count }
            ?? String(decoding: text.prefix(maxBytes + 3), as: UTF8.self).lowercased().utf8.starts(with: folded)
    }

    func ends(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let end = text.suffix(folded.count)
        if !end.contains(where: { $0 >= 0x80 }) {
            return end.count == folded.count && zip(end, folded).allSatisfy { Self.lowercased($0) == $1 }
        }
        var start = max(0, text.count - maxBytes)
        while start > 0, text[start] & 0xC0 == 0x80 { start -= 1 }
        let lower = String(decoding: text[start...], as: UTF8.self).lowercased().utf8
        return lower.count >= folded.count && lower.suffix(folded.count).elementsEqual(folded)
    }

    /// Compares the beginning of a text, without memory.
    /// - Returns: `nil` if it has a character beyond ASCII, with which even the length may change.
    private func compareASCII(_ text: UnsafeBufferPointer<UInt8>, _ isLong: () -> Bool) -> Bool? {
        for (byte, wanted) in zip(text, folded) {
            guard byte < 0x80 else { return nil }
            if Self.lowercased(byte) != wanted { return false }
        }
        return isLong()
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }
}
