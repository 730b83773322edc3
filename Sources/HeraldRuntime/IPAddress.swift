import Glibc

/// An IPv4 or IPv6 address, as a number.
package struct IPAddress: Hashable, Sendable {
    package enum Family: Hashable, Sendable { case v4, v6 }

    package let family: Family
    /// The first 64 bits of an IPv6 address; 0 for IPv4.
    package let high: UInt64
    /// The last 64 bits; an IPv4 address is in the last 32.
    package let low: UInt64

    package init(v4: UInt32) {
        family = .v4
        high = 0
        low = UInt64(v4)
    }

    package init(high: UInt64, low: UInt64) {
        family = .v6
        self.high = high
        self.low = low
    }

    /// - Parameter bytes: 4 or 16 bytes in network order; `nil` for any other number.
    package init?(bytes: some Collection<UInt8>) {
        let numbers = bytes.reduce(into: (high: UInt64(0), low: UInt64(0))) { numbers, byte in
            numbers.high = numbers.high << 8 | numbers.low >> 56
            numbers.low = numbers.low << 8 | UInt64(byte)
        }
        switch bytes.count {
        case 4: self.init(v4: UInt32(truncatingIfNeeded: numbers.low))
        case 16: self.init(high: numbers.high, low: numbers.low)
        default: return nil
        }
    }

    /// Parses dotted decimal with four parts, or IPv6 without brackets and zone.
    package init?(_ text: String) {
        // The C function would end at a NUL, and ignore the rest.
        guard !text.utf8.contains(0) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.init(bytes: bytes.prefix(4))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.init(bytes: bytes)
        } else {
            return nil
        }
    }

    /// 4 or 16 bytes in network order.
    package var bytes: [UInt8] {
        func split(_ number: UInt64) -> [UInt8] {
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
        }
        return family == .v4 ? split(low).suffix(4) : split(high) + split(low)
    }

    package var bitCount: Int { family == .v4 ? 32 : 128 }
}

extension IPAddress: CustomStringConvertible {
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(family == .v4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension IPAddress {
    /// The address with all bits after the first `length` cleared.
    package func masked(to length: Int) -> IPAddress {
        // Shifting by the full width gives 0, which is correct here.
        if family == .v4 {
            return IPAddress(v4: UInt32(truncatingIfNeeded: low) & ~(UInt32.max >> UInt32(length)))
        }
        return IPAddress(
            high: high & ~(UInt64.max >> UInt64(length)), low: low & ~(UInt64.max >> UInt64(max(length - 64, 0))))
    }
}
