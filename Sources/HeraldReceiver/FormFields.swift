import HeraldJSON

/// The fields of a body of the type `application/x-www-form-urlencoded`.
package enum FormFields {
    /// The decoded fields in their order. A body of another type becomes a field with an odd name.
    package static func read(_ body: [UInt8]) -> [(name: String, value: String)] {
        body.split(separator: UInt8(ascii: "&")).map { field in
            let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : "")
        }
    }

    /// Percent-decoded; invalid escapes stay unchanged.
    /// - Parameter isPath: `+` is no space.
    static func decoded(_ text: ArraySlice<UInt8>, isPath: Bool = false) -> String {
        var bytes: [UInt8] = []
        var index = text.startIndex
        while index < text.endIndex {
            if text[index] == UInt8(ascii: "%"), index + 2 < text.endIndex,
                let high = hexadecimalDigit(text[index + 1]), let low = hexadecimalDigit(text[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(text[index] == UInt8(ascii: "+") && !isPath ? UInt8(ascii: " ") : text[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
