import HeraldJSON

/// Attributes as HTTP header values: percent-encoded UTF-8 (CloudEvents' HTTP protocol binding, 3.1.3.2).
package enum CloudEventHeader {
    /// Visible ASCII except `"` and `%`; all other bytes as `%XX`.
    package static func encode(_ value: String) -> String {
        if value.utf8.allSatisfy(isPlain) { return value }
        var encoded: [UInt8] = []
        for byte in value.utf8 {
            if isPlain(byte) {
                encoded.append(byte)
            } else {
                PercentEscapes.append(byte, to: &encoded)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes quoted values too, as the specification requires; a `%` without two hexadecimal digits is unchanged.
    /// - Returns: `nil` if the result is not UTF-8.
    package static func decode(_ value: String) -> String? {
        String(validating: PercentEscapes.decode(unquoted(Array(value.utf8))), as: UTF8.self)
    }

    /// RFC 9110, 5.6.4.
    private static func unquoted(_ value: [UInt8]) -> [UInt8] {
        let quote = UInt8(ascii: "\"")
        guard value.count >= 2, value.first == quote, value.last == quote else { return value }
        var text: [UInt8] = []
        var isEscaped = false
        for byte in value.dropFirst().dropLast() {
            if byte == UInt8(ascii: "\\") && !isEscaped {
                isEscaped = true
            } else {
                text.append(byte)
                isEscaped = false
            }
        }
        return text
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        0x21...0x7e ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "%")
    }
}
