import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldRuntime

/// Decides who is let in, by the head of a request.
///
/// As long as there is no key at all everybody may do everything; from the first one on, every request needs one. Any thread.
final class AccessControl: Sendable {
    let hub: Hub
    let streams = AdmittedStreams()
    let wrongKeys: WrongKeys
    /// SHA-256 of the operator's key; `nil`: there is none.
    private let operatorDigest: [UInt8]?
    /// For keys that have no number of their own; `nil`: any number.
    let requestsPerSecond: Int?
    /// Links that come from no key of the store share it.
    let linksOfOthers = RequestMeter()
    /// Names the operator's key where a session comes from it: another key, another name.
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
    var isRequired: Bool { operatorDigest != nil || !hub.keys.isEmpty }

    /// Whether the operator can get in whatever keys are revoked.
    var hasOperatorKey: Bool { operatorDigest != nil }

    /// - Throws: 401 when nobody known asks, 403 when what they may do is something else.
    func admit(_ head: RequestHead, to route: Route, from peer: PeerAddress) throws(Problem) -> Principal {
        guard let scope = route.needs else { return .anyone }
        let principal = try principal(of: head, from: peer)
        guard principal.scopes.allow(scope) else { throw .forbidden(scope) }
        return principal
    }

    /// - Throws: 401, the same whatever is wrong with the key; 404 for an app that is not there or another's.
    func principal(of head: RequestHead, from peer: PeerAddress) throws(Problem) -> Principal {
        let principal = try identified(head, peer)
        guard let word = head.value(of: "Herald-App") else { return principal }
        guard let app = hub.apps.find(word), app.key == principal.app || principal.scopes.allow(.admin) else {
            throw .noApp(word)
        }
        return principal.acting(on: app.key)
    }

    private func identified(_ head: RequestHead, _ peer: PeerAddress) throws(Problem) -> Principal {
        guard isRequired else { return Principal(identity: .anyone, app: .default, scopes: .all) }
        if let credentials = head.bytes(of: "Authorization") {
            if let token = Self.bearer(credentials), let principal = principal(token) { return principal }
            throw wrongKey(from: peer)
        } else if let id = SessionCookie.id(in: head), SessionCookie.isSameOrigin(head),
            let principal = principal(session: id)
        {
            return principal
        }
        throw .unauthorized
    }

    /// Counts a key or a link that lets nobody in.
    /// - Returns: 401, held back where too many came before.
    func wrongKey(from peer: PeerAddress) -> Problem {
        var problem = Problem.unauthorized
        problem.holdMilliseconds = wrongKeys.note(peer, now: hub.clock.monotonic())
        return problem
    }

    /// Whose text this is.
    func principal(_ text: ArraySlice<UInt8>) -> Principal? {
        guard text.count <= KeyText.maxBytes else { return nil }
        let digest = SHA256.hash(Array(text))
        if let operatorDigest, isEqualInConstantTime(digest, operatorDigest) {
            return operatorPrincipal
        }
        guard let name = KeyText.name(in: text), let entry = hub.keys.entry(named: name),
            isEqualInConstantTime(digest, entry.key.digest)
        else { return nil }
        return principal(entry)
    }

    var operatorPrincipal: Principal { Principal(identity: .operatorKey, app: .default, scopes: .all) }

    func principal(_ entry: KeyRing.Entry) -> Principal? {
        let now = hub.clock.wall()
        guard entry.key.isValid(at: now) else { return nil }
        entry.noteUse(at: now)
        return Principal(
            identity: .key(entry.key.id), app: entry.key.app, scopes: entry.scopes, expiresAt: entry.key.expiresAt,
            meter: entry.meter, requestsPerSecond: entry.key.requestsPerSecond ?? requestsPerSecond, key: entry.key.id)
    }

    /// Counts a request to the key of whoever makes it. The operator's own key has no limit.
    /// - Throws: 429 when the key has made as many as it may.
    func count(_ principal: Principal) throws(Problem) {
        guard let limit = principal.requestsPerSecond, let meter = principal.meter else { return }
        if let seconds = meter.refusal(limit: limit, now: hub.clock.monotonic()) {
            throw .tooManyRequests(limit, retryAfter: seconds)
        }
    }

    private static let scheme = Array("bearer ".utf8)

    /// Whether what let somebody in would do so now: neither the key, nor the session or link, nor the app has ended, and who
    /// had no key still needs none.
    func isGood(_ principal: Principal) -> Bool {
        if principal.identity == .anyone {
            return !isRequired && (principal.app == .default || hub.apps[principal.app] != nil)
        }
        let now = hub.clock.wall()
        if let key = principal.key, hub.keys.entry(id: key)?.key.isValid(at: now) != true { return false }
        if let session = principal.session, hub.sessions.find(session, at: now) == nil { return false }
        return hub.apps[principal.app] != nil
    }

    /// What follows `Bearer`, in any case.
    private static func bearer(_ credentials: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard credentials.count > scheme.count,
            zip(credentials, scheme).allSatisfy({ ($0 == UInt8(ascii: " ") ? $0 : $0 | 0x20) == $1 })
        else { return nil }
        return credentials.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
    }
}
