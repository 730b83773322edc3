extension Scanner {
    /// The rest of a string, after its first quote.
    /// - Returns: whether it contains escapes.
    @inline(__always)
    mutating func scanString() throws(JSONError) -> Bool {
        var escaped = false
        while true {
            let special = specialBytes(loadWord(bytes + at))
            if special == 0 {
                at &+= 8
                continue
            }
            at &+= special.trailingZeroBitCount / 8
            switch bytes[at] {
            case UInt8(ascii: "\""):
                at &+= 1
                return escaped
            case UInt8(ascii: "\\"):
                escaped = true
                try scanEscape()
            case 0x80...:
                repeat { try scanMultibyte() } while bytes[at] >= 0x80
            default:
                throw failure(at < end ? .controlCharacter : .expected("the end of a string"), at: at)
            }
        }
    }

    /// An escape such as `\n` or `\u0041`, or a surrogate pair of two of the latter form.
    @inline(never)
    private mutating func scanEscape() throws(JSONError) {
        let start = at
        switch bytes[at + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            at += 2
        case UInt8(ascii: "u"):
            guard let first = hexadecimal(at: start + 2) else { throw failure(.invalidEscape, at: start) }
            at = start + 6
            guard first & 0xf800 == 0xd800 else { return }
            guard first < 0xdc00, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u"),
                let second = hexadecimal(at: at + 2), second & 0xfc00 == 0xdc00
            else { throw failure(.loneSurrogate, at: start) }
            at += 6
        default:
            throw failure(start + 1 < end ? .invalidEscape : .expected("the end of a string"), at: start)
        }
    }

    private func hexadecimal(at index: Int) -> UInt32? {
        var value: UInt32 = 0
        for offset in 0..<4 {
            guard let digit = hexadecimalDigit(bytes[index + offset]) else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    /// One non-ASCII character, according to the table of well-formed sequences (Unicode 3.9, table 3-7).
    @inline(__always)
    private mutating func scanMultibyte() throws(JSONError) {
        let first = bytes[at]
        let second = bytes[at + 1]
        let count: Int
        switch first {
        case 0xc2...0xdf where isContinuation(second): count = 2
        case 0xe0 where 0xa0...0xbf ~= second, 0xed where 0x80...0x9f ~= second: count = 3
        case 0xe1...0xec where isContinuation(second), 0xee...0xef where isContinuation(second): count = 3
        case 0xf0 where 0x90...0xbf ~= second, 0xf4 where 0x80...0x8f ~= second: count = 4
        case 0xf1...0xf3 where isContinuation(second): count = 4
        default: throw failure(.invalidUTF8, at: at)
        }
        // A short-circuit keeps the reads inside the padding: a zero is not a continuation byte.
        guard count < 3 || isContinuation(bytes[at + 2]), count < 4 || isContinuation(bytes[at + 3]) else {
            throw failure(.invalidUTF8, at: at)
        }
        at &+= count
    }

    @inline(__always)
    private func isContinuation(_ byte: UInt8) -> Bool { byte & 0xc0 == 0x80 }
}

/// The value of a hexadecimal digit of either case.
package func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// Marks the bytes of a word that need handling in a string: quotes, backslashes, control characters, non-ASCII bytes.
///
/// The top bit of each such byte is set. Bytes above the lowest marked one may be marked wrongly, because the
/// subtractions borrow; only the lowest mark counts. ("Determine if a word has a byte less than n", Bit Twiddling
/// Hacks.)
@inline(__always)
func specialBytes(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quote = word ^ (ones &* 0x22)
    let backslash = word ^ (ones &* 0x5c)
    let low = (word &- ones &* 0x20) & ~word
    let equal = ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
    return (low | equal | word) & (ones &* 0x80)
}
