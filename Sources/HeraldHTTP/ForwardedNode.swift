import HeraldRuntime

/// The syntax of `Forwarded` and `X-Forwarded-For`.
enum ForwardedNode {
    /// Removes the last element of a list, and its comma. Reads from the end, because the begin may be a client's: a
    /// quote that is open there must not reach into the element of a proxy.
    /// - Returns: the element without white space around it; `nil` at the begin of the list.
    static func takeLast(of list: inout ArraySlice<UInt8>, hasQuotes: Bool) -> ArraySlice<UInt8>? {
        guard !list.isEmpty else { return nil }
        var isQuoted = false
        var index = list.endIndex
        while index > list.startIndex {
            let byte = list[index - 1]
            if hasQuotes, byte == UInt8(ascii: "\""), !isEscaped(index - 1, in: list) { isQuoted.toggle() }
            if byte == UInt8(ascii: ","), !isQuoted { break }
            index -= 1
        }
        let element = list[index...]
        list = list[..<max(list.startIndex, index - 1)]
        return trimmed(element)
    }

    /// Whether an odd number of backslashes precedes.
    private static func isEscaped(_ index: Int, in list: ArraySlice<UInt8>) -> Bool {
        var start = index
        while start > list.startIndex, list[start - 1] == UInt8(ascii: "\\") { start -= 1 }
        return (index - start) % 2 == 1
    }

    /// The value of `for` in an element of `Forwarded`; `nil` if there is none, or if the element is malformed.
    static func node(of element: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = element
        var node: [UInt8]?
        while !rest.isEmpty {
            let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
            rest = rest[name.endIndex...]
            guard rest.first == UInt8(ascii: "=") else {
                // A pair may be missing between two semicolons.
                guard trimmed(name).isEmpty else { return nil }
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst()
            let word = trimmed(name)
            guard !word.isEmpty, word.allSatisfy(isTokenByte), let value = takeValue(of: &rest) else { return nil }
            guard word.elementsEqual("for".utf8, by: { lowercased($0) == $1 }) else { continue }
            if node != nil { return nil }
            node = value
        }
        return node
    }

    /// Removes a value, with or without quotes, and the semicolon after it.
    private static func takeValue(of rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard rest.first == UInt8(ascii: "\"") else {
            let value = rest.prefix { $0 != UInt8(ascii: ";") }
            rest = rest[value.endIndex...].dropFirst()
            return Array(trimmed(value))
        }
        rest = rest.dropFirst()
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                let end = rest.prefix { $0 != UInt8(ascii: ";") }
                rest = rest[end.endIndex...].dropFirst()
                return trimmed(end).isEmpty ? value : nil
            case UInt8(ascii: "\\"):
                guard let next = rest.popFirst() else { return nil }
                value.append(next)
            default: value.append(byte)
            }
        }
        return nil
    }

    /// The address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
    static func address(_ node: ArraySlice<UInt8>) -> PeerAddress? {
        if node.first == UInt8(ascii: "[") {
            let inner = node.dropFirst().prefix { $0 != UInt8(ascii: "]") }
            guard inner.endIndex < node.endIndex, inner.contains(UInt8(ascii: ":")) else { return nil }
            return isPortOrNothing(node[(inner.endIndex + 1)...]) ? PeerAddress(text: inner) : nil
        }
        let host = node.prefix { $0 != UInt8(ascii: ":") }
        let rest = node[host.endIndex...]
        // Two colons are those of an IPv6 address.
        if rest.dropFirst().contains(UInt8(ascii: ":")) { return PeerAddress(text: node) }
        return isPortOrNothing(rest) ? PeerAddress(text: host) : nil
    }

    /// A colon and a port, which may have an obfuscated name.
    private static func isPortOrNothing(_ text: ArraySlice<UInt8>) -> Bool {
        guard let colon = text.first else { return true }
        let port = text.dropFirst()
        guard colon == UInt8(ascii: ":"), let first = port.first else { return false }
        if first == UInt8(ascii: "_") { return port.count > 1 && port.allSatisfy(isTokenByte) }
        return port.count <= 5 && port.allSatisfy { $0 &- 0x30 <= 9 }
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text.trimmed { $0 == 0x20 || $0 == 0x09 }
    }
}
