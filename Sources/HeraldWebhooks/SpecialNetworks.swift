import HeraldRuntime

/// Networks that callbacks must not reach (IANA's special-purpose registries, and the additional addresses of clouds).
enum SpecialNetworks {
    /// All routed IPv6 addresses. Everything else is refused as a whole, because lists of the exceptions have never
    /// been complete.
    static let globalUnicast = NetworkRule(IPAddress(high: 0x2000 << 48, low: 0), 3)

    /// The entry that refuses `address`, if there is one. The table does not contain the IPv6 forms of IPv4 addresses.
    static func refused(_ address: IPAddress) -> (name: String, range: NetworkRule)? {
        switch address.family {
        case .v4: v4.first { $0.range.contains(address) }
        case .v6: v6.first { $0.range.contains(address) }
        }
    }

    /// Where clouds give credentials to any client inside their network.
    static let metadata: Set<IPAddress> = [
        four(169, 254, 169, 254),
        // Containers on ECS, pods on EKS.
        four(169, 254, 170, 2),
        four(169, 254, 170, 23),
        IPAddress(high: 0xFD00_0EC2 << 32, low: 0x23),
        four(168, 63, 129, 16),
        four(192, 0, 0, 192),
        four(100, 100, 100, 200),
        IPAddress(high: 0xFD00_0EC2 << 32, low: 0x254),
        IPAddress(high: 0xFD20_00CE << 32, low: 0x254),
        // Tencent, Scaleway, Volcengine; Oracle, Alibaba, Akamai and Scaleway by IPv6.
        four(169, 254, 0, 23),
        four(169, 254, 42, 42),
        four(100, 96, 0, 96),
        IPAddress(high: 0xFD00_00C1_0000_0000, low: 0xA9FE_A9FE),
        IPAddress(high: 0xFD00_0100_0000_0000, low: 0x0100_0200),
        IPAddress(high: 0xFD00_A9FE_A9FE_0000, low: 1),
        IPAddress(high: 0xFD00_0042_0000_0000, low: 0x42),
    ]

    private static let v4: [(name: String, range: NetworkRule)] = [
        ("this network", NetworkRule(four(0, 0, 0, 0), 8)),
        ("private network", NetworkRule(four(10, 0, 0, 0), 8)),
        ("shared address space", NetworkRule(four(100, 64, 0, 0), 10)),
        ("loopback", NetworkRule(four(127, 0, 0, 0), 8)),
        ("platform address", NetworkRule(four(168, 63, 129, 16), 32)),
        ("link-local", NetworkRule(four(169, 254, 0, 0), 16)),
        ("private network", NetworkRule(four(172, 16, 0, 0), 12)),
        ("protocol assignments", NetworkRule(four(192, 0, 0, 0), 24)),
        ("documentation", NetworkRule(four(192, 0, 2, 0), 24)),
        ("6to4 relays", NetworkRule(four(192, 88, 99, 0), 24)),
        ("private network", NetworkRule(four(192, 168, 0, 0), 16)),
        ("benchmarking", NetworkRule(four(198, 18, 0, 0), 15)),
        ("documentation", NetworkRule(four(198, 51, 100, 0), 24)),
        ("documentation", NetworkRule(four(203, 0, 113, 0), 24)),
        ("multicast", NetworkRule(four(224, 0, 0, 0), 4)),
        ("reserved", NetworkRule(four(240, 0, 0, 0), 4)),
    ]

    private static let v6: [(name: String, range: NetworkRule)] = [
        ("unspecified", NetworkRule(IPAddress(high: 0, low: 0), 128)),
        ("loopback", NetworkRule(.v6Loopback, 128)),
        ("unique local", NetworkRule(IPAddress(high: 0xFC00 << 48, low: 0), 7)),
        ("link-local", NetworkRule(IPAddress(high: 0xFE80 << 48, low: 0), 10)),
        ("multicast", NetworkRule(IPAddress(high: 0xFF00 << 48, low: 0), 8)),
        ("protocol assignments", NetworkRule(IPAddress(high: 0x2001 << 48, low: 0), 23)),
        ("documentation", NetworkRule(IPAddress(high: 0x2001_0DB8 << 32, low: 0), 32)),
        ("6to4", NetworkRule(IPAddress(high: 0x2002 << 48, low: 0), 16)),
        ("documentation", NetworkRule(IPAddress(high: 0x3FFF << 48, low: 0), 20)),
    ]

    private static func four(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32) -> IPAddress {
        IPAddress(v4: a << 24 | b << 16 | c << 8 | d)
    }
}
