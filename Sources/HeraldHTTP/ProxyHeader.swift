/// The header of the PROXY protocol, version 1 or 2, with which a proxy begins a connection. Takes bytes as they arrive,
/// and wants none that follow the header.
struct ProxyHeader {
    enum Result: Equatable {
        case incomplete
        /// `nil` if the proxy names none: for its own health checks, or if the client has no IP address.
        case client(PeerAddress?)
        case malformed
    }

    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]
    private static let prefix = Array("PROXY ".utf8)
    /// The bytes of version 1, with its line break.
    private static let maxLine = 107
    /// The bytes of version 2 before the addresses.
    private static let fixedCount = 16
    /// The bytes of the addresses and extensions of version 2.
    private static let maxRest = 2048

    private var bytes: [UInt8] = []

    /// The number of bytes that belong to the header in any case.
    var wanted: Int {
        if bytes.count < Self.signature.count { return Self.signature.count - bytes.count }
        guard isBinary else { return 1 }
        return (bytes.count < Self.fixedCount ? Self.fixedCount : Self.fixedCount + rest) - bytes.count
    }

    /// - Parameter more: `wanted` bytes, or fewer.
    mutating func add(_ more: some Collection<UInt8>) -> Result {
        bytes += more
        if bytes.starts(with: Self.signature) { return binary }
        guard bytes.starts(with: Self.prefix.prefix(bytes.count)) else {
            return Self.signature.starts(with: bytes) ? .incomplete : .malformed
        }
        if bytes.count < Self.signature.count { return .incomplete }
        if bytes.last != 10 { return bytes.count < Self.maxLine ? .incomplete : .malformed }
        return line
    }

    private var isBinary: Bool { bytes.starts(with: Self.signature) }

    // MARK: Version 1

    /// `PROXY TCP4 192.0.2.1 198.51.100.1 4711 443`
    private var line: Result {
        guard bytes.dropLast().last == 13 else { return .malformed }
        let words = bytes.dropLast(2).split(separator: 32, omittingEmptySubsequences: false)
        if words.count > 1, words[1].elementsEqual("UNKNOWN".utf8) { return .client(nil) }
        guard words.count == 6, let source = PeerAddress(text: words[2]), PeerAddress(text: words[3]) != nil,
            Self.isPort(words[4]), Self.isPort(words[5])
        else { return .malformed }
        let hasColon = words[2].contains(UInt8(ascii: ":"))
        guard words[1].elementsEqual(hasColon ? "TCP6".utf8 : "TCP4".utf8) else { return .malformed }
        return .client(source)
    }

    private static func isPort(_ text: ArraySlice<UInt8>) -> Bool {
        (1...5).contains(text.count) && text.allSatisfy { $0 &- 0x30 <= 9 }
    }

    // MARK: Version 2

    private var rest: Int { Int(bytes[14]) << 8 | Int(bytes[15]) }

    private var binary: Result {
        if bytes.count < Self.fixedCount { return .incomplete }
        let (version, command, family) = (bytes[12] >> 4, bytes[12] & 15, bytes[13])
        guard version == 2, command <= 1, rest <= Self.maxRest else { return .malformed }
        if bytes.count < Self.fixedCount + rest { return .incomplete }
        // Local: of the proxy itself. Other families than TCP over IP have no address that limits can count.
        guard command == 1, family == 0x11 || family == 0x21 else { return .client(nil) }
        let count = family == 0x11 ? 4 : 16
        // Two addresses and two ports.
        guard rest >= 2 * count + 4 else { return .malformed }
        return .client(PeerAddress(bytes: bytes[Self.fixedCount..<(Self.fixedCount + count)]))
    }
}
