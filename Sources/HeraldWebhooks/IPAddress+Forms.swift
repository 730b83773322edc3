import HeraldRuntime

extension IPAddress {
    var isLoopback: Bool { family == .v4 ? low >> 24 == 127 : self == .v6Loopback }
    var isUnspecified: Bool { high == 0 && low == 0 }

    static let v6Loopback = IPAddress(high: 0, low: 1)

    /// The IPv4 address that this IPv6 address represents as a whole: mapped, compatible, SIIT and NAT64 forms.
    var translated: IPAddress? {
        guard family == .v6 else { return nil }
        let isForm =
            high == 0 && (low >> 32 == 0 || low >> 32 == 0xFFFF || low >> 32 == 0xFFFF_0000)
            || high == 0x0064_FF9B_0000_0000 && low >> 32 == 0
        return isForm ? IPAddress(v4: UInt32(truncatingIfNeeded: low)) : nil
    }

    /// The IPv4 address in an ISATAP interface id, with any prefix.
    var isatap: IPAddress? {
        guard family == .v6, low >> 32 == 0x0000_5EFE || low >> 32 == 0x0200_5EFE else { return nil }
        return IPAddress(v4: UInt32(truncatingIfNeeded: low))
    }

    /// The IPv4 address in a 6to4 prefix.
    var sixToFour: IPAddress? {
        guard family == .v6, high >> 48 == 0x2002 else { return nil }
        return IPAddress(v4: UInt32(truncatingIfNeeded: high >> 16))
    }
}
