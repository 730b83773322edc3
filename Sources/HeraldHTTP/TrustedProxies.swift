/// The proxies in front of a server, which name the client of each request in `Forwarded` (RFC 7239) or in
/// `X-Forwarded-For`. The only place that decides which address a request comes from.
package struct TrustedProxies: Sendable {
    /// A range of addresses.
    package struct Network: Sendable {
        private let base: PeerAddress
        private let mask: PeerAddress

        /// - Parameters:
        ///   - address: 4 or 16 bytes in network order; `nil` for any other number.
        ///   - prefixLength: the number of leading bits that are compared.
        package init?(_ address: [UInt8], prefixLength: Int) {
            guard let start = PeerAddress(bytes: address), (0...address.count * 8).contains(prefixLength) else {
                return nil
            }
            let length = prefixLength + (16 - address.count) * 8
            // Shifting by the full width gives 0, which is correct here.
            mask = PeerAddress(high: ~(UInt64.max >> UInt64(length)), low: ~(UInt64.max >> UInt64(max(length - 64, 0))))
            base = PeerAddress(high: start.high & mask.high, low: start.low & mask.low)
        }

        func contains(_ address: PeerAddress) -> Bool {
            address.high & mask.high == base.high && address.low & mask.low == base.low
        }
    }

    private let networks: [Network]

    package init(_ networks: [Network] = []) {
        self.networks = networks
    }

    package func contains(_ address: PeerAddress) -> Bool {
        networks.contains { $0.contains(address) }
    }

    /// The rightmost address that is not a proxy's; if all are, the first one. Each proxy appends the address of its
    /// client, so everything to the left of an untrusted address may be invented.
    ///
    /// An element without an address (malformed, `unknown`, or an obfuscated name) ends the search: the client is then
    /// the proxy that sent it. If both headers are there and differ, one of them may come from the client, and the
    /// client is the proxy itself.
    func client(of head: RequestHead, from proxy: PeerAddress) -> PeerAddress {
        let elements = head.allBytes(of: "Forwarded")
        let list = head.allBytes(of: "X-Forwarded-For")
        if elements.isEmpty { return client(list, from: proxy, hasQuotes: false) { ForwardedNode.address($0) } }
        let client = client(elements, from: proxy, hasQuotes: true) { element in
            ForwardedNode.node(of: element).flatMap { ForwardedNode.address($0[...]) }
        }
        if list.isEmpty { return client }
        let other = self.client(list, from: proxy, hasQuotes: false) { ForwardedNode.address($0) }
        return client == other ? client : proxy
    }

    private func client(
        _ lines: [ArraySlice<UInt8>], from proxy: PeerAddress, hasQuotes: Bool,
        _ address: (ArraySlice<UInt8>) -> PeerAddress?
    ) -> PeerAddress {
        var client = proxy
        for line in lines.reversed() {
            var rest = line
            while let element = ForwardedNode.takeLast(of: &rest, hasQuotes: hasQuotes) {
                if element.isEmpty { continue }
                guard let next = address(element) else { return client }
                client = next
                if !contains(next) { return client }
            }
        }
        return client
    }
}
