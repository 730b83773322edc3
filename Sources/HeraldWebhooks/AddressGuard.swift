/// Decides which addresses callbacks may reach. A value without I/O; the rules are those of the safety contract.
///
/// Who asks, with the address that is about to be dialled: the sender when a name was resolved, when a socket opens,
/// and before a request goes out on a connection that was open already.
package struct AddressGuard: Sendable {
    package enum Verdict: Equatable, Sendable {
        case allowed
        /// `rule` says in words which rule said no: the detail of the attempt.
        case refused(rule: String)
    }

    private let allow: [NetworkRule]
    private let deny: [NetworkRule]
    private let allowHosts: [HostRule]
    private let denyHosts: [HostRule]
    private let allowLoopback: Bool
    private let own: [(address: IPAddress, port: UInt16)]
    private let interfaces: Set<IPAddress>

    /// - Parameters:
    ///   - allow: opened although a rule refuses them. A metadata address is opened only by an entry for it alone.
    ///   - deny: closed whatever else holds.
    ///   - allowHosts: whose addresses are open although a rule refuses them, but for metadata, `deny` and our own.
    ///   - denyHosts: never called, whatever their addresses.
    ///   - allowLoopback: whether 127.0.0.0/8 and ::1 are open.
    ///   - ownAddresses: where this process listens; never reached. 0.0.0.0 and :: stand for every local address.
    ///   - interfaces: the addresses of this machine, see `IPAddress.ofInterfaces`.
    package init(
        allow: [NetworkRule] = [], deny: [NetworkRule] = [], allowHosts: [HostRule] = [], denyHosts: [HostRule] = [],
        allowLoopback: Bool = false,
        ownAddresses: [(address: IPAddress, port: UInt16)] = [], interfaces: [IPAddress] = []
    ) {
        self.allow = allow
        self.deny = deny
        self.allowHosts = allowHosts
        self.denyHosts = denyHosts
        self.allowLoopback = allowLoopback
        self.own = ownAddresses
        self.interfaces = Set(interfaces)
    }

    /// - Parameter host: of the URL, when that is a name.
    package func authorize(address: IPAddress, port: UInt16, host: String? = nil) -> Verdict {
        let inner = address.translated ?? address.isatap ?? address.sixToFour
        for face in [address, inner].compactMap(\.self) {
            if isOwn(face, port) { return .refused(rule: "Herald's own address") }
            if let rule = deny.first(where: { $0.contains(face) && $0.covers(port: port) }) {
                return .refused(rule: "denied network \(rule)")
            }
            if SpecialNetworks.metadata.contains(face),
                !allow.contains(where: { $0.names(face) && $0.covers(port: port) })
            {
                return .refused(rule: "metadata address \(face)")
            }
        }
        if let host, allowHosts.contains(where: { $0.matches(host) }) { return .allowed }
        return judgeRange(address, port)
    }

    /// What can be said of a URL before its name is resolved: at registration, a refused address is an error there.
    package func authorize(_ url: CallbackURL) -> Verdict {
        if let rule = denyHosts.first(where: { $0.matches(url.host) }) { return .refused(rule: "denied host \(rule)") }
        guard let address = url.address else { return .allowed }
        return authorize(address: address, port: url.port)
    }

    private func judgeRange(_ address: IPAddress, _ port: UInt16) -> Verdict {
        if allow.contains(where: { $0.contains(address) && $0.covers(port: port) }) { return .allowed }
        if allowLoopback, address.isLoopback { return .allowed }
        if let entry = SpecialNetworks.refused(address) { return .refused(rule: "\(entry.name) \(entry.range)") }
        if let inside = address.translated { return judgeRange(inside, port) }
        if address.family == .v6, !SpecialNetworks.globalUnicast.contains(address) {
            return .refused(rule: "not global unicast \(SpecialNetworks.globalUnicast)")
        }
        if let inside = address.isatap { return judgeRange(inside, port) }
        return .allowed
    }

    private func isOwn(_ address: IPAddress, _ port: UInt16) -> Bool {
        own.contains { own in
            guard own.port == port else { return false }
            if own.address == address { return true }
            // Dialling the unspecified address reaches loopback.
            if address.isUnspecified { return own.address.isLoopback || own.address.isUnspecified }
            return own.address.isUnspecified && (address.isLoopback || interfaces.contains(address))
        }
    }
}
