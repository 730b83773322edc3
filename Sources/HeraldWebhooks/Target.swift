import HeraldModel
import HeraldRuntime

/// The state of a delegate that a sender keeps between callbacks: everything that they share.
///
/// Owned by one sender and confined to its thread. A changed delegate is a new object and gets a new target.
final class Target {
    /// Whether and where the delegate's callbacks may go, until `reachExpiresAt`.
    enum Reach {
        /// The name must be resolved.
        case unknown
        /// All addresses are allowed.
        case open([Pin])
        case closed(CallbackFailure, detail: String)
    }

    let delegate: WebhookDelegate
    /// Read for each callback: a copy of all settings would count a reference for each of their fields.
    let format: WebhookSettings.Format
    /// The time of an attempt, in nanoseconds.
    let timeout: Int64
    let multi: Multi.Kind
    let url: CallbackURL
    let parsedURL: ParsedURL
    /// `nil` for a direct connection.
    let proxy: CallbackProxy?
    /// `nil` if the delegate has no TLS requirements of its own.
    let tls: TargetTLS?
    /// With HTTP/2: all that share a connection. Callbacks wait only for new connections of their own group, so a receiver
    /// that stalls its handshake delays no other host at its address.
    let connectionGroup: Int
    /// TLS sessions to resume; `nil` without TLS.
    let sessions: TLSSessions?
    /// One for each secret that signs by Standard Webhooks, newest first.
    let signers: [Signer]
    /// `nil` for plain requests.
    let recipe: RecipeTarget?
    /// The tokens of its requests; `nil` if it needs none.
    let tokens: TokenSource?
    /// The request for an authorization server: only in the target of a `TokenSource`.
    var tokenRequest: RecipeRequest?
    /// The target that the tokens are for, likewise.
    weak var tokenOwner: Target?
    /// The headers that all callbacks share, except handshakes.
    let headers: HeaderList
    /// All headers of a handshake.
    let handshakeHeaders: HeaderList
    var reach = Reach.unknown
    /// Nanoseconds of the monotonic clock.
    var reachExpiresAt = Int64.min
    /// Index of the address in use: the first one, or the one to which a connection was made last.
    private(set) var preferred = 0
    /// The transfer that makes a connection for all callbacks, and those that wait for it; only with HTTP/2.
    var connecting: Transfer?
    var waitingToConnect: [Transfer] = []
    var openCount = 0
    /// Nanoseconds of the monotonic clock.
    var lastUsed: Int64 = 0

    /// - Parameter origin: the name of this service, in handshakes and in deliveries after them.
    init(
        _ delegate: WebhookDelegate, userAgent: String, origin: String = "", addressGuard: AddressGuard,
        proxies: ProxyRules = ProxyRules()
    ) throws(TransferError) {
        self.delegate = delegate
        let settings = delegate.settings
        format = settings.format
        timeout = Int64(clamping: min(max(settings.timeoutSeconds, 1), 3600)) * 1_000_000_000
        multi = settings.httpVersion == .http2 ? .http2 : .http1
        do {
            url = try CallbackURL(settings.url)
        } catch {
            throw TransferError("The URL \(error).", .addressBlocked)
        }
        guard let parsedURL = ParsedURL(url) else {
            throw TransferError("The URL \(CallbackURLError.malformed("no memory")).", .addressBlocked)
        }
        self.parsedURL = parsedURL
        proxy = proxies.proxy(of: delegate.id, host: url.host)
        tls = TargetTLS(delegate)
        var hasher = Hasher()
        hasher.combine(url.host)
        hasher.combine(proxy?.url)
        hasher.combine(tls)
        connectionGroup = hasher.finalize() & 0x7fff_ffff
        sessions = url.scheme == .https ? TLSSessions() : nil
        signers = try delegate.state.secrets.filter { $0.secret.scheme != .text }
            .map { entry throws(TransferError) in try Signer(entry) }
        if let recipe = settings.request {
            guard let plan = RecipePlan(recipe) else {
                throw TransferError("The setting request is none that this release understands.", .requestNotMade)
            }
            self.recipe = RecipeTarget(plan, delegate.state.secrets)
            if case .oauth2(let client) = plan.auth {
                tokens = TokenSource(
                    client,
                    try Target(
                        TokenSource.delegate(client, of: delegate), userAgent: userAgent, addressGuard: addressGuard,
                        proxies: proxies))
            } else {
                tokens = nil
            }
        } else {
            recipe = nil
            tokens = nil
        }
        let shared = Self.sharedLines(delegate, userAgent: userAgent)
        // An empty value stops libcurl from adding this header, which it would send with bodies of more than 1 MiB.
        var lines = ["Expect:"]
        if recipe == nil, let type = Payload.contentType(format) {
            lines.append("content-type: \(type)")
        }
        // The specification requires this header in each delivery after the handshake.
        if settings.verification == .cloudevents, HeaderText.isValue(origin) {
            lines.append("webhook-request-origin: \(origin)")
        }
        headers = HeaderList(lines + shared)
        handshakeHeaders = HeaderList(Self.handshakeLines(delegate, origin: origin) + shared)
        if case .refused(let rule) = addressGuard.authorize(url) {
            reach = .closed(.addressBlocked, detail: rule)
            reachExpiresAt = .max
        } else if let address = url.address {
            settle([address], expiresAt: .max, addressGuard)
        }
        tokens?.target.tokenOwner = self
    }

    /// The headers of callbacks and handshakes: user agent, delegate, accepted codings, and those from the
    /// registration.
    private static func sharedLines(_ delegate: WebhookDelegate, userAgent: String) -> [String] {
        var lines: [String] = []
        if HeaderText.isValue(userAgent) { lines.append("user-agent: \(userAgent)") }
        if HeaderText.isValue(delegate.id) { lines.append("herald-delegate: \(delegate.id)") }
        if !CurlLibrary.contentCodings.isEmpty {
            lines.append("accept-encoding: \(CurlLibrary.contentCodings)")
        }
        return lines + registeredLines(delegate)
    }

    static func registeredLines(_ delegate: WebhookDelegate) -> [String] {
        delegate.settings.headers.filter { CallbackHeaderRules.problem(name: $0.key, value: $0.value) == nil }
            .map { HeaderText.line($0.key, $0.value) }
    }

    private static func handshakeLines(_ delegate: WebhookDelegate, origin: String) -> [String] {
        var lines: [String] = []
        if HeaderText.isValue(origin) { lines.append("webhook-request-origin: \(origin)") }
        if let rate = delegate.settings.rateLimit {
            // In requests per minute, at least one.
            lines.append("webhook-request-rate: \(Int(min(max(rate * 60, 1), 1_000_000)))")
        }
        return lines
    }

    /// Whether a connection carries only one request.
    var usesConnectionsOnce: Bool { multi == .http2 && url.scheme == .http && !CurlLibrary.keepsClearHTTP2 }

    /// The host if it is a name.
    var name: String? { url.address == nil ? url.host : nil }

    /// Authorizes the addresses of the host. If one is refused, all are.
    func settle(_ addresses: [IPAddress], expiresAt: Int64, _ addressGuard: AddressGuard) {
        reachExpiresAt = expiresAt
        for address in addresses {
            if case .refused(let rule) = addressGuard.authorize(address: address, port: url.port, host: name) {
                reach = .closed(.addressBlocked, detail: rule)
                return
            }
        }
        let addresses = addresses.interleaved()
        var used: IPAddress?
        if case .open(let pins) = reach {
            // Name servers return the addresses in changing order.
            if Set(pins.map(\.address)) == Set(addresses) { return }
            used = pins[preferred].address
        }
        preferred = used.flatMap { addresses.firstIndex(of: $0) } ?? 0
        reach = .open(addresses.map { Pin($0, of: url) })
    }

    /// Selects the address for the following callbacks.
    func prefer(_ pin: Pin) {
        guard case .open(let pins) = reach, let index = pins.firstIndex(where: { $0.address == pin.address }) else {
            return
        }
        preferred = index
    }

    /// Selects the next address for the following callbacks: a proxy could not connect to this one.
    func avoid(_ pin: Pin) {
        guard case .open(let pins) = reach, pins[preferred % pins.count].address == pin.address else { return }
        preferred = (preferred + 1) % pins.count
    }

    var hasSeveralAddresses: Bool {
        if case .open(let pins) = reach { pins.count > 1 } else { false }
    }
}

/// An allowed address, and how libcurl is made to connect to it.
final class Pin {
    let address: IPAddress
    let port: UInt16
    /// In libcurl's notation.
    let text: [CChar]
    /// `address:port`, for display.
    let peer: String
    /// `nil` if the URL contains the address.
    let connectTo: HeaderList?

    init(_ address: IPAddress, of url: CallbackURL) {
        self.address = address
        port = url.port
        text = address.description.utf8.map { CChar(bitPattern: $0) } + [0]
        let dialled = address.family == .v4 ? "\(address)" : "[\(address)]"
        peer = "\(dialled):\(url.port)"
        connectTo = url.address == nil ? HeaderList(["\(url.host):\(url.port):\(dialled):\(url.port)"]) : nil
    }
}
