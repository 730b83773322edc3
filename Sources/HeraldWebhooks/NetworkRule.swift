package import HeraldRuntime

/// A range of addresses, optionally limited to one port: an entry of the lists that allow and refuse networks.
///
/// Written `10.1.0.0/16`, `10.1.2.3`, `10.1.2.3/32:8080`, `fd00::/8` or `[fd00::/8]:8080`.
package struct NetworkRule: Hashable, Sendable {
    package let base: IPAddress
    /// Number of leading bits that are compared.
    package let prefixLength: Int
    package let port: UInt16?

    init(_ base: IPAddress, _ prefixLength: Int, port: UInt16? = nil) {
        self.base = base
        self.prefixLength = prefixLength
        self.port = port
    }

    package init(parsing text: String) throws(NetworkRuleError) {
        let (network, port) = try Self.split(text)
        let parts = network.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let base = IPAddress(String(parts[0])) else { throw .notAnAddress(text) }
        var length = base.bitCount
        if parts.count == 2 {
            guard let number = Int(decimal: parts[1]), number <= base.bitCount else {
                throw .prefixLength(text, most: base.bitCount)
            }
            length = number
        }
        let start = base.masked(to: length)
        guard start == base else { throw .bitsBeyondPrefix(text, suggestion: "\(start)/\(length)") }
        self.init(base, length, port: port)
    }

    /// Splits off the port, which follows the last colon of an IPv4 range, or the brackets of an IPv6 range.
    private static func split(_ text: String) throws(NetworkRuleError) -> (network: Substring, port: UInt16?) {
        var network = text[...]
        var digits: Substring?
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { throw .notAnAddress(text) }
            network = text[text.index(after: text.startIndex)..<bracket]
            let rest = text[text.index(after: bracket)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { throw .notAnAddress(text) }
            digits = rest.isEmpty ? nil : rest.dropFirst()
        } else if text.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1, let colon = text.firstIndex(of: ":") {
            network = text[..<colon]
            digits = text[text.index(after: colon)...]
        }
        guard let digits else { return (network, nil) }
        guard let port = Int(decimal: digits).flatMap(UInt16.init(exactly:)), port > 0 else { throw .port(text) }
        return (network, port)
    }

    package func contains(_ address: IPAddress) -> Bool {
        address.family == base.family && address.masked(to: prefixLength) == base
    }

    /// Whether the range consists of this address only.
    func names(_ address: IPAddress) -> Bool { prefixLength == base.bitCount && base == address }

    func covers(port other: UInt16) -> Bool { port == nil || port == other }
}

extension NetworkRule: CustomStringConvertible {
    package var description: String {
        let range = "\(base)/\(prefixLength)"
        guard let port else { return range }
        return base.family == .v4 ? "\(range):\(port)" : "[\(range)]:\(port)"
    }
}

/// An error in an entry, for the operator who wrote it.
package enum NetworkRuleError: Error, Equatable, Sendable, CustomStringConvertible {
    case notAnAddress(String)
    case prefixLength(String, most: Int)
    case bitsBeyondPrefix(String, suggestion: String)
    case port(String)

    package var description: String {
        switch self {
        case .notAnAddress(let text):
            "\"\(text)\" is not a network. Write an address or a range, as in 10.1.0.0/16, 10.1.2.3/32:8080 or [fd00::/8]:8080."
        case .prefixLength(let text, let most):
            "\"\(text)\": the number behind the slash has to be 0 to \(most)."
        case .bitsBeyondPrefix(let text, let suggestion):
            "\"\(text)\" has address bits beyond its prefix length. Did you mean \(suggestion)?"
        case .port(let text):
            "\"\(text)\": the port has to be 1 to 65535."
        }
    }
}

extension Int {
    /// Accepts 1 to 9 decimal digits, and nothing else.
    init?(decimal text: some StringProtocol) {
        let digits = text.utf8
        guard (1...9).contains(digits.count) else { return nil }
        var number = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int(digit - UInt8(ascii: "0"))
        }
        self = number
    }
}
