/// Percent-encoding (RFC 3986, 2.1).
package enum PercentEscapes {
    /// Appends the `%XX` of a byte.
    package static func append(_ byte: UInt8, to text: inout [UInt8]) {
        func digit(_ value: UInt8) -> UInt8 {
            value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
        }
        text += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
    }

    /// The bytes that `%XX` stands for; a `%` without two hexadecimal digits is unchanged.
    package static func decode(_ text: [UInt8]) -> [UInt8] {
        let percent = UInt8(ascii: "%")
        guard text.contains(percent) else { return text }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            if text[index] == percent, index + 2 < text.count,
                let high = hexadecimalDigit(text[index + 1]), let low = hexadecimalDigit(text[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(text[index])
                index += 1
            }
        }
        return decoded
    }
}
