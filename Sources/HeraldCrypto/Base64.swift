/// Base 64 with the standard alphabet and padding (RFC 4648, section 4).
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: encodedCount(bytes.count)) { text in
            bytes.withUnsafeBytes { encode($0, into: UnsafeMutableRawBufferPointer(text)) }
        }
    }

    /// The length of the text for `count` bytes.
    package static func encodedCount(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    /// Writes the text to the start of `text`, which must be large enough, and returns its length.
    @discardableResult
    package static func encode(_ bytes: UnsafeRawBufferPointer, into text: UnsafeMutableRawBufferPointer) -> Int {
        precondition(text.count >= encodedCount(bytes.count), "no room for the text")
        var output = 0
        var input = 0
        while input < bytes.count {
            let left = bytes.count - input
            let group =
                UInt32(bytes[input]) << 16 | (left > 1 ? UInt32(bytes[input + 1]) << 8 : 0)
                | (left > 2 ? UInt32(bytes[input + 2]) : 0)
            text[output] = character(group >> 18)
            text[output + 1] = character(group >> 12)
            text[output + 2] = left > 1 ? character(group >> 6) : padding
            text[output + 3] = left > 2 ? character(group) : padding
            input += 3
            output += 4
        }
        return output
    }

    /// The bytes, or `nil` if the text is not exactly what `encode` writes: spaces, missing padding and stray bits in
    /// the last group are refused.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let text = Array(text.utf8)
        guard text.count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        for start in stride(from: 0, to: text.count, by: 4) {
            let isLast = start + 4 == text.count
            let pad = isLast && text[start + 3] == padding ? (text[start + 2] == padding ? 2 : 1) : 0
            var group: UInt32 = 0
            for offset in 0..<4 {
                var digit: UInt32 = 0
                if offset < 4 - pad {
                    guard let found = value(text[start + offset]) else { return nil }
                    digit = found
                }
                group = group << 6 | digit
            }
            let strays: UInt32 = pad == 2 ? 0xFFFF : pad == 1 ? 0xFF : 0
            guard group & strays == 0 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: group >> 16))
            if pad < 2 { bytes.append(UInt8(truncatingIfNeeded: group >> 8)) }
            if pad < 1 { bytes.append(UInt8(truncatingIfNeeded: group)) }
        }
        return bytes
    }

    private static let padding = UInt8(ascii: "=")

    private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

    /// Encodes the lowest six bits.
    private static func character(_ bits: UInt32) -> UInt8 { alphabet.utf8Start[Int(bits & 63)] }

    private static func value(_ character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
