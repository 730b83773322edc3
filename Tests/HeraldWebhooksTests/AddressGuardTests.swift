import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Testing

@Suite struct AddressGuardTests {
    private let plain = AddressGuard()

    private func verdict(_ guardian: AddressGuard, _ text: String, _ port: UInt16 = 443) throws -> AddressGuard.Verdict
    {
        guardian.authorize(address: try #require(IPAddress(text)), port: port)
    }

    /// First and last address of each refused range, and their neighbours outside where those are open.
    @Test(
        "each range is refused from its first address to its last, and its neighbours are not",
        arguments: [
            ("this network", "0.0.0.0", "0.255.255.255", nil, "1.0.0.0"),
            ("private network", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"),
            ("shared address space", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"),
            ("loopback", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"),
            ("metadata", "168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"),
            ("link-local", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"),
            ("private network", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"),
            ("protocol assignments", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"),
            ("documentation", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"),
            ("6to4 relays", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"),
            ("private network", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"),
            ("benchmarking", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"),
            ("documentation", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"),
            ("documentation", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"),
            ("multicast", "224.0.0.0", "239.255.255.255", "223.255.255.255", nil),
            ("reserved", "240.0.0.0", "255.255.255.255", nil, nil),
            (
                "not global unicast", "4000::", "5fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nil
            ),
            ("not global unicast", "100::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nil, "2000::"),
            ("not global unicast", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", nil, nil),
            (
                "protocol assignments", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
                "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"
            ),
            (
                "documentation", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"
            ),
            (
                "6to4", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "2003::"
            ),
            (
                "documentation", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
                "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"
            ),
            ("unique local", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nil, nil),
            ("link-local", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nil, nil),
            ("not global unicast", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nil, nil),
            ("multicast", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nil, nil),
            ("unspecified", "::", "::", nil, nil),
            ("loopback", "::1", "::1", nil, nil),
        ] as [(String, String, String, String?, String?)])
    func ranges(_ rule: String, _ first: String, _ last: String, _ before: String?, _ after: String?) throws {
        for text in [first, last] {
            guard case .refused(let said) = try verdict(plain, text) else { throw Unexpected("\(text) is open") }
            #expect(said.hasPrefix(rule), "\(text)")
        }
        for text in [before, after].compactMap(\.self) { #expect(try verdict(plain, text) == .allowed, "\(text)") }
    }

    @Test(
        "IPv6 addresses that embed IPv4 are checked by the IPv4 address",
        arguments: [
            "::ffff:", "::", "::ffff:0:", "64:ff9b::", "2620:fe::5efe:", "2620:fe::200:5efe:",
        ])
    func embedded(_ prefix: String) throws {
        #expect(try verdict(plain, prefix + "8.8.8.8") == .allowed)
        for inside in ["10.0.0.1", "127.0.0.1", "169.254.169.254", "255.255.255.255", "192.168.1.1"] {
            #expect(try verdict(plain, prefix + inside) != .allowed, "\(prefix)\(inside)")
        }
        #expect(try verdict(plain, prefix + "169.254.169.254") == .refused(rule: "metadata address 169.254.169.254"))
    }

    @Test(
        "addresses without special purpose are allowed",
        arguments: [
            "1.1.1.1", "8.8.8.8", "192.31.196.1", "192.175.48.1", "192.52.193.1", "2606:4700:4700::1111",
            "2a00:1450::1",
        ])
    func open(_ text: String) throws {
        #expect(try verdict(plain, text) == .allowed)
    }

    @Test("loopback can be allowed, and nothing else is")
    func loopback() throws {
        let guardian = AddressGuard(allowLoopback: true)
        for text in ["127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"] {
            #expect(try verdict(guardian, text) == .allowed, "\(text)")
        }
        for text in ["0.0.0.0", "::", "10.0.0.1", "169.254.169.254", "fe80::1"] {
            #expect(try verdict(guardian, text) != .allowed, "\(text)")
        }
    }

    @Test("an allowed network allows exactly its addresses")
    func allowed() throws {
        let guardian = AddressGuard(allow: try rules("10.1.2.3:80", "fd00::/8", "192.168.0.0/16"))
        #expect(try verdict(guardian, "10.1.2.3", 80) == .allowed)
        #expect(try verdict(guardian, "10.1.2.3", 81) != .allowed)
        #expect(try verdict(guardian, "10.1.2.4", 80) != .allowed)
        #expect(try verdict(guardian, "192.168.7.7") == .allowed)
        #expect(try verdict(guardian, "::ffff:192.168.7.7") == .allowed)
        #expect(try verdict(guardian, "fd12::1") == .allowed)
        #expect(try verdict(guardian, "127.0.0.1") != .allowed)
    }

    @Test("metadata addresses need an entry of their own")
    func metadata() throws {
        let wide = AddressGuard(
            allow: try rules("169.254.0.0/16", "0.0.0.0/0", "::/0", "fd00::/8", "192.0.0.0/24", "2002::/16"))
        for text in [
            "169.254.169.254", "169.254.170.2", "169.254.170.23", "168.63.129.16", "192.0.0.192", "100.100.100.200",
            "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "::ffff:169.254.169.254", "::ffff:169.254.170.2",
            "64:ff9b::169.254.170.23", "2002:a9fe:a9fe::", "169.254.0.23", "169.254.42.42", "fd00:c1::a9fe:a9fe",
            "fd00:100::100:200", "fd00:a9fe:a9fe::1", "fd00:42::42", "100.96.0.96",
        ] {
            #expect(try verdict(wide, text) != .allowed, "\(text)")
            // Nor behind a name that may reach private addresses, nor one bit wider than itself.
            let named = AddressGuard(
                allow: try rules("169.254.169.254/31", "169.254.170.2/31", "169.254.170.22/31", "fd00:ec2::22/127"),
                allowHosts: [try #require(HostRule("hooks.internal"))])
            let address = try #require(IPAddress(text))
            #expect(named.authorize(address: address, port: 80, host: "hooks.internal") != .allowed, "\(text)")
        }
        for text in ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"] {
            #expect(try verdict(AddressGuard(allow: try rules(text)), text) == .allowed, "\(text)")
        }
        #expect(try verdict(wide, "169.254.169.253") == .allowed)
        let exact = AddressGuard(allow: try rules("169.254.169.254/32:80", "fd00:ec2::254"))
        #expect(try verdict(exact, "169.254.169.254", 80) == .allowed)
        #expect(try verdict(exact, "169.254.169.254", 443) != .allowed)
        #expect(try verdict(exact, "fd00:ec2::254") == .allowed)
    }

    @Test("a denied network is refused even if it is also allowed")
    func denied() throws {
        let guardian = AddressGuard(allow: try rules("8.8.0.0/16"), deny: try rules("8.8.8.0/24", "1.1.1.1:25"))
        #expect(try verdict(guardian, "8.8.8.8") == .refused(rule: "denied network 8.8.8.0/24"))
        #expect(try verdict(guardian, "::ffff:8.8.8.8") != .allowed)
        #expect(try verdict(guardian, "8.8.9.8") == .allowed)
        #expect(try verdict(guardian, "1.1.1.1", 25) != .allowed)
        #expect(try verdict(guardian, "1.1.1.1") == .allowed)
    }

    @Test("Herald never calls itself")
    func ownAddresses() throws {
        let own = try ["127.0.0.1", "1.2.3.4"].map { (address: try #require(IPAddress($0)), port: UInt16(8080)) }
        let guardian = AddressGuard(allow: try rules("0.0.0.0/0"), allowLoopback: true, ownAddresses: own)
        for text in ["127.0.0.1", "1.2.3.4", "0.0.0.0", "::ffff:127.0.0.1"] {
            #expect(try verdict(guardian, text, 8080) == .refused(rule: "Herald's own address"), "\(text)")
            #expect(try verdict(guardian, text, 8081) == .allowed, "\(text)")
        }
        #expect(try verdict(guardian, "127.0.0.2", 8080) == .allowed)
    }

    @Test("listening on all addresses refuses every local address with that port")
    func ownEverywhere() throws {
        let any = try #require(IPAddress("0.0.0.0"))
        let interface = try #require(IPAddress("1.2.3.4"))
        let guardian = AddressGuard(
            allow: try rules("0.0.0.0/0"), allowLoopback: true, ownAddresses: [(any, 8080)], interfaces: [interface])
        for text in ["127.0.0.1", "127.9.9.9", "::1", "1.2.3.4", "0.0.0.0"] {
            #expect(try verdict(guardian, text, 8080) != .allowed, "\(text)")
        }
        #expect(try verdict(guardian, "1.2.3.5", 8080) == .allowed)
        #expect(try verdict(guardian, "127.0.0.1", 8081) == .allowed)
    }

    @Test("the machine's own addresses are found")
    func interfaces() throws {
        #expect(IPAddress.ofInterfaces().contains(try #require(IPAddress("127.0.0.1"))))
    }

    @Test(
        "rules are printed as written",
        arguments: [
            ("10.0.0.0/8", "10.0.0.0/8"), ("10.1.2.3", "10.1.2.3/32"), ("10.1.2.3:80", "10.1.2.3/32:80"),
            ("0.0.0.0/0", "0.0.0.0/0"), ("fd00::/8", "fd00::/8"), ("[fd00::/8]:443", "[fd00::/8]:443"),
            ("[::1]", "::1/128"),
            ("::/0", "::/0"), ("2001:db8:0:0:8000::/65", "2001:db8:0:0:8000::/65"),
        ])
    func ruleTexts(_ text: String, _ printed: String) throws {
        #expect(try NetworkRule(parsing: text).description == printed)
    }

    @Test(
        "invalid rules are refused with a reason",
        arguments: [
            ("", "not a network"), ("example.com", "not a network"), ("10.0.0", "not a network"),
            ("10.0.0.0/33", "0 to 32"),
            ("10.0.0.0/", "0 to 32"), ("10.0.0.0/-1", "0 to 32"), ("::/129", "0 to 128"), ("10.0.0.1/8", "10.0.0.0/8"),
            ("10.0.0.0/8:0", "1 to 65535"), ("10.0.0.0/8:65536", "1 to 65535"), ("10.0.0.0/8:", "1 to 65535"),
            ("[fd00::/8", "not a network"), ("[fd00::/8]443", "not a network"), ("fe80::1%eth0", "not a network"),
            ("10.0.0.0/8 ", "0 to 32"), ("010.0.0.0/8", "not a network"),
        ])
    func badRules(_ text: String, _ reason: String) {
        do {
            let rule = try NetworkRule(parsing: text)
            Issue.record("\(text) was read as \(rule)")
        } catch {
            #expect(error.description.contains(reason), "\(error)")
        }
    }

    private func rules(_ texts: String...) throws -> [NetworkRule] { try texts.map { try NetworkRule(parsing: $0) } }
}
