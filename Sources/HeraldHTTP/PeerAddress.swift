internal import CHeraldMicrohttpd
import Glibc
internal import HeraldRuntime

/// The client's address, without its port. IPv4 addresses of dual-stack sockets are unmapped.
package struct PeerAddress: Sendable, Hashable, CustomStringConvertible {
    /// The 16 bytes in network order, as two big-endian halves; IPv4 as `::ffff:a.b.c.d`.
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package var isIPv4: Bool { high == 0 && low >> 32 == 0xffff }

    /// The unit of limits: an IPv4 address, or an IPv6 /64, which is what one subscriber gets.
    package var client: PeerAddress { isIPv4 ? self : PeerAddress(high: high, low: 0) }

    package var description: String {
        let ip = isIPv4 ? IPAddress(v4: UInt32(truncatingIfNeeded: low)) : IPAddress(high: high, low: low)
        return ip.description
    }
}

extension PeerAddress {
    /// - Parameter bytes: 4 or 16 bytes in network order; `nil` for any other number.
    init?(bytes: some Collection<UInt8>) {
        guard let ip = IPAddress(bytes: bytes) else { return nil }
        self.init(high: ip.high, low: ip.family == .v4 ? 0xffff_0000_0000 | ip.low : ip.low)
    }

    /// Parses dotted decimal with four parts, or IPv6 without brackets and zone.
    init?(text: some Collection<UInt8>) {
        guard text.count < Int(INET6_ADDRSTRLEN), !text.contains(0) else { return nil }
        let string = String(decoding: text, as: UTF8.self)
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, string, &four) == 1 {
            self.init(high: 0, low: 0xffff_0000_0000 | UInt64(UInt32(bigEndian: four.s_addr)))
        } else if inet_pton(AF_INET6, string, &six) == 1 {
            self.init(six)
        } else {
            return nil
        }
    }

    private init(_ ip: in6_addr) {
        let halves = withUnsafeBytes(of: ip) { $0.loadUnaligned(as: (UInt64, UInt64).self) }
        self.init(high: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1))
    }

    /// `nil` for an address of another family.
    init?(_ address: UnsafePointer<sockaddr>?) {
        guard let raw = UnsafeRawPointer(address) else { return nil }
        switch Int32(raw.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            let ip = raw.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr
            self.init(high: 0, low: 0xffff_0000_0000 | UInt64(UInt32(bigEndian: ip)))
        case AF_INET6:
            self.init(raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
        default: return nil
        }
    }
}
