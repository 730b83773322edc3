/// RFC 3986, section 3: `scheme:[//[user@]host[:port]]path[?query][#fragment]`.
extension FormatReader {
    mutating func uri() -> Bool {
        guard let first = rest.first, isLetter(first) else { return false }
        _ = take { isLetter($0) || isDigit($0) || ("+-." as StaticString).contains($0) }
        return skip(":") && afterScheme()
    }

    /// A URI, or a relative reference, whose first segment contains no colon. Consumes all.
    mutating func uriReference() -> Bool {
        var whole = self
        if whole.uri() { return whole.isAtEnd }
        guard !rest.prefix(while: { !("/?#" as StaticString).contains($0) }).contains(UInt8(ascii: ":")) else {
            return false
        }
        return afterScheme() && isAtEnd
    }

    private mutating func afterScheme() -> Bool {
        if rest.starts(with: "//".utf8) {
            _ = skip("/") && skip("/")
            guard authority() else { return false }
        }
        guard characters("/:@") else { return false }
        if skip("?"), !characters("/:@?") { return false }
        if skip("#"), !characters("/:@?") { return false }
        return true
    }

    private mutating func authority() -> Bool {
        var part = FormatReader(take { !("/?#" as StaticString).contains($0) })
        if let at = part.rest.lastIndex(of: UInt8(ascii: "@")) {
            var user = FormatReader(part.rest[..<at])
            guard user.characters(":"), user.isAtEnd else { return false }
            part = FormatReader(part.rest[(at + 1)...])
        }
        if part.skip("[") {
            let address = part.take { $0 != UInt8(ascii: "]") }
            guard part.skip("]"), isIPv6(address) || isFutureAddress(address) else { return false }
        } else if !part.characters("") {
            return false
        }
        if part.skip(":") { _ = part.take(while: isDigit) }
        return part.isAtEnd
    }

    /// `v1.something`
    private func isFutureAddress(_ text: ArraySlice<UInt8>) -> Bool {
        var reader = FormatReader(text)
        guard reader.skip("vV"), !reader.take(while: isHexadecimal).isEmpty, reader.skip("."), !reader.isAtEnd else {
            return false
        }
        return reader.characters(":") && reader.isAtEnd
    }

    /// Consumes unreserved characters, sub-delimiters, `%XX` and these. `false` at an invalid `%`.
    private mutating func characters(_ others: StaticString) -> Bool {
        while let byte = rest.first {
            if byte == UInt8(ascii: "%") {
                let digits = rest.dropFirst().prefix(2)
                guard digits.count == 2, digits.allSatisfy(isHexadecimal) else { return false }
                rest = rest.dropFirst(3)
            } else if isLetter(byte) || isDigit(byte) || ("-._~!$&'()*+,;=" as StaticString).contains(byte)
                || others.contains(byte)
            {
                rest.removeFirst()
            } else {
                break
            }
        }
        return true
    }
}
