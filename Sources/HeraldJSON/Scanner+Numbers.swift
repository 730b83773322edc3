extension Scanner {
    /// A number, according to the grammar.
    /// - Returns: whether it has neither fraction nor exponent.
    @inline(__always)
    mutating func scanNumber() throws(JSONError) -> Bool {
        if bytes[at] == UInt8(ascii: "-") { at &+= 1 }
        if bytes[at] == UInt8(ascii: "0") {
            at &+= 1
            if isDigit(bytes[at]) { throw failure(.leadingZero, at: at &- 1) }
        } else {
            try scanDigits()
        }
        var isInteger = true
        if bytes[at] == UInt8(ascii: ".") {
            isInteger = false
            at &+= 1
            try scanDigits()
        }
        if bytes[at] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            at &+= 1
            if bytes[at] == UInt8(ascii: "+") || bytes[at] == UInt8(ascii: "-") { at &+= 1 }
            try scanDigits()
        }
        return isInteger
    }

    @inline(__always)
    private mutating func scanDigits() throws(JSONError) {
        guard isDigit(bytes[at]) else { throw failure(.expected("a digit"), at: at) }
        repeat { at &+= 1 } while isDigit(bytes[at])
    }

    @inline(__always)
    private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}
