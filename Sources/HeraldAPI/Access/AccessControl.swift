import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldModel
import HeraldRuntime

/// Authorizes requests by their header section.
///
/// Without any key, every request is allowed; once there is a key, every request needs one. Any thread.
final class AccessControl: Sendable {
    let hub: Hub
    let streams = AdmittedStreams()
    let wrongKeys: WrongKeys
    /// SHA-256 of the operator's key; `nil` if there is none.
    private let operatorDigest: [UInt8]?
    /// For keys without a limit of their own; `nil` for no limit.
    let requestsPerSecond: Int?
    /// The meter for links that were not created with a stored key.
    let linksOfOthers = RateMeter()
    /// Identifies the operator's key as the origin of a session: a different key has a different name.
    let operatorName: String?

    init(
        hub: Hub, operatorKey: String?, requestsPerSecond: Int? = nil,
        reportWrongKeys: @escaping @Sendable (WrongKeys.Report) -> Void = { _ in }
    ) {
        self.hub = hub
        wrongKeys = WrongKeys(report: reportWrongKeys)
        self.requestsPerSecond = requestsPerSecond
        operatorDigest = operatorKey.map { SHA256.hash(Array($0.utf8)) }
        operatorName = operatorDigest.map { "operator:" + Base64.encodeURLSafe(Array(SHA256.hash($0).prefix(12))) }
    }

    /// Whether a request needs a key.
    var isRequired: Bool { operatorDigest != nil || !hub.committed.keys.isEmpty }

    /// Whether the operator has access even if all stored keys are revoked.
    var hasOperatorKey: Bool { operatorDigest != nil }

    /// - Parameter parameters: of the path.
    /// - Throws: 401 without valid credentials, 403 without the required scope, 404 for another delegate than that of the key.
    func admit(_ head: RequestHead, to route: Route, _ parameters: [String]) throws(Problem) -> Principal {
        guard let scope = route.needs else { return .anyone }
        // What was revoked elsewhere may still be in memory. Metrics have no events, and report this very state.
        guard hub.isCurrent || route.template == "/metrics" else {
            throw Problem(.unavailable(reason: "it has not responded for seconds"))
        }
        let reader = route.isStream ? try streamPrincipal(of: head) : nil
        let principal = if let reader { reader } else { try principal(of: head) }
        guard principal.scopes.allow(scope) else { throw .forbidden(scope) }
        if let delegate = principal.delegate, parameters.first != delegate {
            throw Problem(HubError.noDelegate(parameters.first ?? ""))
        }
        return principal
    }

    /// - Throws: 401, the same for every invalid key; 404 for an unknown app or one without access.
    func principal(of head: RequestHead) throws(Problem) -> Principal {
        let principal = try identified(head)
        guard let word = head.value(of: "Herald-App") else { return principal }
        guard let app = hub.committed.apps.find(word), app.key == principal.app || principal.scopes.allow(.admin) else {
            throw .noApp(word)
        }
        return principal.acting(on: app.key)
    }

    private func identified(_ head: RequestHead) throws(Problem) -> Principal {
        guard isRequired else { return Principal(identity: .anyone, app: .default, scopes: .all) }
        if let credentials = head.bytes(of: "Authorization") {
            guard let token = Self.bearer(credentials) else { throw .notBearer }
            guard let principal = principal(token) else { throw .wrongKey }
            return principal
        }
        if SessionCookie.isSameOrigin(head), let principal = principal(sessions: SessionCookie.ids(in: head)) {
            return principal
        }
        throw .unauthorized
    }

    /// Counts an invalid key or link.
    /// - Returns: the problem, which is held after too many invalid keys.
    func counted(_ problem: Problem, from peer: PeerAddress) -> Problem {
        guard problem.isWrongKey else { return problem }
        var problem = problem
        problem.holdMilliseconds = wrongKeys.record(peer, now: hub.clock.monotonic())
        return problem
    }

    /// The principal of a key's text.
    func principal(_ text: ArraySlice<UInt8>) -> Principal? {
        guard text.count <= KeyText.maxBytes else { return nil }
        let digest = SHA256.hash(Array(text))
        if let operatorDigest, isEqualInConstantTime(digest, operatorDigest) {
            return operatorPrincipal
        }
        guard let name = KeyText.name(in: text), let entry = hub.committed.keys.entry(named: name),
            isEqualInConstantTime(digest, entry.key.digest)
        else { return nil }
        return principal(entry)
    }

    var operatorPrincipal: Principal { Principal(identity: .operatorKey, app: .default, scopes: .all) }

    func principal(_ entry: KeyRing.Entry) -> Principal? {
        let now = hub.clock.wall()
        guard entry.key.isValid(at: now) else { return nil }
        entry.recordUse(at: now)
        return Principal(
            identity: .key(entry.key.id), app: entry.key.app, scopes: entry.scopes, expiresAt: entry.key.expiresAt,
            meter: entry.meter, requestsPerSecond: entry.key.requestsPerSecond ?? requestsPerSecond,
            delegate: entry.key.delegate, key: entry.key.id)
    }

    /// Counts a request towards the rate limit of its key. The operator's own key has no limit.
    /// - Throws: 429 beyond the limit.
    func count(_ principal: Principal) throws(Problem) {
        guard let limit = principal.requestsPerSecond, let meter = principal.meter else { return }
        if let seconds = meter.refusal(limit: limit, now: hub.clock.monotonic()) {
            throw .tooManyRequests(limit, retryAfter: seconds)
        }
    }

    private static let scheme = Array("bearer ".utf8)

    /// Whether the authorization is still valid: neither the key, the session or link nor the app has ended, and a
    /// principal without a key still needs none.
    func isValid(_ principal: Principal) -> Bool {
        if principal.identity == .anyone {
            return !isRequired && (principal.app == .default || hub.committed.apps[principal.app] != nil)
        }
        let now = hub.clock.wall()
        if let key = principal.key, hub.committed.keys.entry(id: key)?.key.isValid(at: now) != true { return false }
        if let session = principal.session, hub.committed.sessions.find(session, at: now) == nil { return false }
        return hub.committed.apps[principal.app] != nil
    }

    /// The text after `Bearer`, which is case-insensitive.
    private static func bearer(_ credentials: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard credentials.count > scheme.count,
            zip(credentials, scheme).allSatisfy({ ($0 == UInt8(ascii: " ") ? $0 : $0 | 0x20) == $1 })
        else { return nil }
        return credentials.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
    }
}
