import HeraldRuntime

/// A range of IP addresses, as in `10.0.0.0/8` or `2001:db8::/32`. Bits after the prefix are ignored.
///
/// An IPv6 address that stands for an IPv4 address (`::ffff:10.0.0.1`) counts as the latter.
struct AddressRange: Equatable, Sendable {
    private let base: IPAddress
    private let prefixLength: Int

    static let words = "must be a range of IP addresses, such as 10.0.0.0/8 or 2001:db8::/32"

    /// - Parameter text: an address, a slash, and the number of bits that are compared.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = IPAddress(String(parts[0])), (1...3).contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), let length = Int(parts[1]),
            length <= address.bitCount
        else { return nil }
        // Of a wider range, only a part would be IPv4.
        let meant = length >= 96 ? address.mapped ?? address : address
        prefixLength = length - (address.bitCount - meant.bitCount)
        base = meant.masked(to: prefixLength)
    }

    /// In steps: a text is read once.
    static let cost = 16

    func contains(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count <= Self.maxAddressBytes, let address = IPAddress(String(decoding: text, as: UTF8.self))
        else { return false }
        let meant = address.mapped ?? address
        return meant.family == base.family && meant.masked(to: prefixLength) == base
    }

    /// Eight groups, of which the last two are an IPv4 address.
    private static let maxAddressBytes = 45
}

extension IPAddress {
    /// The IPv4 address that a mapped IPv6 address stands for.
    fileprivate var mapped: IPAddress? {
        family == .v6 && high == 0 && low >> 32 == 0xFFFF ? IPAddress(v4: UInt32(truncatingIfNeeded: low)) : nil
    }
}
