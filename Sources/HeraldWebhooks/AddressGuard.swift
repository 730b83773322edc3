package import HeraldRuntime

/// Decides which addresses callbacks may reach. A value without I/O; the safety contract lists its rules.
///
/// The sender checks each address before it connects: when a name was resolved, when a socket opens, and before a
/// request is sent on an open connection.
package struct AddressGuard: Sendable {
    package enum Verdict: Equatable, Sendable {
        case allowed
        /// `rule` describes the rule that refused the address; it becomes the detail of the attempt.
        case refused(rule: String)
    }

    private let allow: [NetworkRule]
    private let deny: [NetworkRule]
    private let allowHosts: [HostRule]
    private let denyHosts: [HostRule]
    private let allowLoopback: @Sendable () -> Bool
    private let setting: String?
    private let own: [(address: IPAddress, port: UInt16)]
    private let interfaces: Set<IPAddress>

    /// - Parameters:
    ///   - allow: networks that are allowed although a rule refuses them. A metadata address is allowed only by an
    ///     entry for that single address.
    ///   - deny: networks that are always refused.
    ///   - allowHosts: hosts whose addresses are allowed although a rule refuses them, except for metadata, `deny` and
    ///     Herald's own addresses.
    ///   - denyHosts: hosts that are never called, whatever their addresses.
    ///   - allowLoopback: whether 127.0.0.0/8 and ::1 are allowed at this moment.
    ///   - setting: the name of the setting that is `allow`, for the operator who reads why an address was refused.
    ///   - ownAddresses: where this process listens; never reached. 0.0.0.0 and :: stand for every local address.
    ///   - interfaces: the addresses of this machine, see `IPAddress.ofInterfaces`.
    package init(
        allow: [NetworkRule] = [], deny: [NetworkRule] = [], allowHosts: [HostRule] = [], denyHosts: [HostRule] = [],
        allowLoopback: @escaping @autoclosure @Sendable () -> Bool = false, setting: String? = nil,
        ownAddresses: [(address: IPAddress, port: UInt16)] = [], interfaces: [IPAddress] = []
    ) {
        self.allow = allow
        self.deny = deny
        self.allowHosts = allowHosts
        self.denyHosts = denyHosts
        self.allowLoopback = allowLoopback
        self.setting = setting
        self.own = ownAddresses
        self.interfaces = Set(interfaces)
    }

    /// - Parameter host: the host of the URL, if it is a name.
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
                return .refused(rule: "metadata address \(face)" + advice(NetworkRule(face, face.bitCount)))
            }
        }
        if let host, allowHosts.contains(where: { $0.matches(host) }) { return .allowed }
        return judgeRange(address, port)
    }

    /// Checks a URL before its name is resolved. At registration, a refused address is an error.
    package func authorize(_ url: CallbackURL) -> Verdict {
        if let rule = denyHosts.first(where: { $0.matches(url.host) }) { return .refused(rule: "denied host \(rule)") }
        guard let address = url.address else { return .allowed }
        return authorize(address: address, port: url.port)
    }

    private func judgeRange(_ address: IPAddress, _ port: UInt16) -> Verdict {
        if allow.contains(where: { $0.contains(address) && $0.covers(port: port) }) { return .allowed }
        if address.isLoopback, allowLoopback() { return .allowed }
        if let entry = SpecialNetworks.refused(address) {
            return .refused(rule: "\(entry.name) \(entry.range)" + advice(entry.range))
        }
        if let inside = address.translated { return judgeRange(inside, port) }
        if address.family == .v6, !SpecialNetworks.globalUnicast.contains(address) {
            return .refused(
                rule: "not global unicast \(SpecialNetworks.globalUnicast)"
                    + advice(NetworkRule(address, address.bitCount)))
        }
        if let inside = address.isatap { return judgeRange(inside, port) }
        return .allowed
    }

    /// How the operator can allow a network that is refused by default.
    private func advice(_ network: NetworkRule) -> String {
        setting.map { "; the operator can allow it with \($0) \(network)" } ?? ""
    }

    private func isOwn(_ address: IPAddress, _ port: UInt16) -> Bool {
        own.contains { own in
            guard own.port == port else { return false }
            if own.address == address { return true }
            // A connection to the unspecified address reaches loopback.
            if address.isUnspecified { return own.address.isLoopback || own.address.isUnspecified }
            return own.address.isUnspecified && (address.isLoopback || interfaces.contains(address))
        }
    }
}
