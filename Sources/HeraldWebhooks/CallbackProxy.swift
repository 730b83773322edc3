import HeraldJSON

/// A proxy through which callbacks connect: `http://proxy.example:3128` (with CONNECT) or `socks5h://proxy.example:1080`. The
/// text may contain a user and a password.
package struct CallbackProxy: Equatable, Sendable {
    /// In libcurl's form.
    let url: String

    package static let form =
        "a proxy: http://host:port or socks5h://host:port, with user:password@ before the host if it requires them, "
        + "percent-encoded"

    /// `nil` if the text is no proxy.
    package init?(_ text: String) {
        guard let scheme = ["http://", "socks5h://"].first(where: text.hasPrefix) else { return nil }
        let authority = text.dropFirst(scheme.count)
        let place = authority.split(separator: "@", omittingEmptySubsequences: false)
        guard (1...2).contains(place.count), let last = place.last, last.contains(":"),
            text.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\\") }),
            place.count == 1 || !place[0].isEmpty,
            // libcurl ends the host at these, also before the @. Its message, which attempts show, quotes what it can't read.
            !authority.contains(where: { "/?#".contains($0) }),
            // With a control character in the user or the password, libcurl connects without the proxy.
            PercentEscapes.decode(Array(authority.utf8)).allSatisfy({ $0 >= 0x20 }),
            // `CallbackURL` alone defines what a valid host and port is.
            let server = try? CallbackURL("http://\(last)/"),
            last.hasSuffix(":\(server.port)")
        else { return nil }
        url = text
    }
}

/// Which proxy the callbacks of a delegate use: a value without I/O.
package struct ProxyRules: Sendable {
    /// An exception: the callbacks to a host, or of a delegate.
    package struct Override: Sendable {
        enum Subject: Sendable {
            case host(HostRule)
            case address(String)
            case delegate(String)
        }

        let subject: Subject
        /// `nil`: without a proxy.
        let proxy: CallbackProxy?

        package static let form =
            "a list of HOST=PROXY or DELEGATE=PROXY, such as hooks.internal=direct,*.example=http://other.example:3128"

        /// `nil` if the text is none.
        package init?(_ text: String) {
            let parts = text.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            let name = String(parts[0])
            proxy = parts[1] == "direct" ? nil : CallbackProxy(String(parts[1]))
            guard proxy != nil || parts[1] == "direct" else { return nil }
            if name.hasPrefix("dlg_") {
                subject = .delegate(name)
            } else if let rule = HostRule(name) {
                subject = .host(rule)
            } else if let url = try? CallbackURL("http://\(name)/"), url.address != nil {
                subject = .address(url.host)
            } else {
                return nil
            }
        }
    }

    private let proxy: CallbackProxy?
    private let overrides: [Override]

    package init(_ proxy: CallbackProxy? = nil, overrides: [Override] = []) {
        self.proxy = proxy
        self.overrides = overrides
    }

    /// The first exception that names the delegate wins, then the first one that names its host.
    package func proxy(of delegate: String, host: String) -> CallbackProxy? {
        let named = overrides.first { if case .delegate(delegate) = $0.subject { true } else { false } }
        let found =
            named
            ?? overrides.first {
                switch $0.subject {
                case .host(let rule): rule.matches(host)
                case .address(let address): address == host
                case .delegate: false
                }
            }
        return found.map(\.proxy) ?? proxy
    }
}
