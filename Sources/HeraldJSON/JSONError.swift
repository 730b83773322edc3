/// Why a text is not valid JSON, and where.
package struct JSONError: Error, Hashable, Sendable {
    /// The kind of error.
    package enum Reason: Hashable, Sendable {
        /// Nothing, or only white space.
        case empty
        /// The grammar requires something else here: `"',' or '}'"`.
        case expected(String)
        /// The text starts with a byte order mark, which RFC 8259 forbids, or is UTF-16.
        case byteOrderMark
        /// A string contains bytes that are not UTF-8.
        case invalidUTF8
        /// A string contains an unescaped U+0000 to U+001F.
        case controlCharacter
        /// A backslash before a character that can't be escaped, or `\u` without four hexadecimal digits.
        case invalidEscape
        /// Half of a surrogate pair.
        case loneSurrogate
        /// A number that starts with a superfluous zero, such as `01`.
        case leadingZero
        /// A duplicate key in one object, after escapes are resolved.
        case duplicateKey(String)
        /// A key longer than this many bytes.
        case keyTooLong(limit: Int)
        /// Arrays and objects nested deeper than this.
        case tooDeep(limit: Int)
        /// More values than this.
        case tooManyValues(limit: Int)
        /// More bytes than the parser can address.
        case tooLarge
        /// A complete value, followed by other text.
        case textAfterValue
    }

    package let reason: Reason
    /// The byte of the error, counted from 0. Equal to the length of the text if that ends too early.
    package let offset: Int
    /// The line of that byte, counted from 1.
    package let line: Int
    /// Its position in the line in bytes, counted from 1.
    package let column: Int
}

extension JSONError: CustomStringConvertible {
    /// A sentence for people: `expected ',' or '}' at byte 17 (line 1, column 18)`.
    package var description: String {
        "\(reason) at byte \(offset) (line \(line), column \(column))"
    }
}

extension JSONError.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "expected a value, but the text is empty,"
        case .expected(let what): "expected \(what)"
        case .byteOrderMark: "unexpected byte order mark: the text must be plain UTF-8,"
        case .invalidUTF8: "invalid UTF-8"
        case .controlCharacter: "control character that is not escaped"
        case .invalidEscape: "invalid escape"
        case .loneSurrogate: "lone surrogate"
        case .leadingZero: "number with a leading zero"
        case .duplicateKey(let key): "duplicate key '\(key)'"
        case .keyTooLong(let limit): "key longer than \(limit) bytes"
        case .tooDeep(let limit): "nesting deeper than \(limit)"
        case .tooManyValues(let limit): "more than \(limit) values"
        case .tooLarge: "text longer than the parser can address"
        case .textAfterValue: "unexpected text after the value"
        }
    }
}
