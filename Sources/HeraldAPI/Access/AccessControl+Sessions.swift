import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldModel
import HeraldRuntime

/// Sessions and portal links: random texts, of which the store has only the SHA-256.
extension AccessControl {
    /// The principal of a session cookie.
    func principal(session id: ArraySlice<UInt8>) -> Principal? {
        guard let session = session(id), session.kind != .link else { return nil }
        return principal(of: session)
    }

    /// The principal of the first valid one. Each is found once: a session may end at any time, and
    /// `lazy.compactMap(…).first` evaluates the result twice and unwraps it.
    func principal(sessions ids: [ArraySlice<UInt8>]) -> Principal? {
        for id in ids {
            if let principal = principal(session: id) { return principal }
        }
        return nil
    }

    /// The principal of the token in a link's URL.
    func principal(link token: String) -> Principal? {
        guard let session = session(Array(token.utf8)[...]), session.kind == .link else { return nil }
        return principal(of: session)
    }

    private func session(_ text: ArraySlice<UInt8>) -> Session? {
        guard text.count <= KeyText.maxBytes else { return nil }
        return hub.committed.sessions.find(SHA256.hash(Array(text)), at: hub.clock.wall())
    }

    /// A session is valid as long as its origin is.
    func principal(of session: Session) -> Principal? {
        guard session.kind != .session else {
            var principal =
                session.key == operatorName
                ? operatorPrincipal : hub.committed.keys.entry(id: session.key).flatMap(principal)
            principal?.session = session.digest
            return principal
        }
        var principal = Principal(
            identity: .portalLink, app: session.app, scopes: Scopes([.manage]), expiresAt: session.expiresAt)
        principal.session = session.digest
        principal.origin = session.key
        principal.requestsPerSecond = requestsPerSecond
        if let entry = hub.committed.keys.entry(id: session.key) {
            guard entry.key.isValid(at: hub.clock.wall()) else { return nil }
            principal.key = entry.key.id
            principal.expiresAt = min(session.expiresAt, entry.key.expiresAt ?? .max)
            principal.meter = entry.meter
            principal.requestsPerSecond = entry.key.requestsPerSecond ?? requestsPerSecond
        } else if session.key == operatorName || session.key == Self.anonymousOrigin {
            principal.meter = linksOfOthers
        } else {
            return nil
        }
        return hub.committed.apps[session.app] == nil ? nil : principal
    }

    /// The origin of a link that is created while no key is needed.
    static let anonymousOrigin = "anyone"

    /// The origin of a session that this principal opens.
    func origin(of principal: Principal) -> String {
        switch principal.identity {
        case .key(let id): id
        case .operatorKey: operatorName ?? Self.anonymousOrigin
        case .anyone: Self.anonymousOrigin
        case .portalLink: principal.origin ?? Self.anonymousOrigin
        }
    }

    /// Creates a session for an authenticated principal.
    /// - Returns: the text for the cookie, and the session.
    func newSession(_ principal: Principal) throws(Problem) -> (text: String, session: Session) {
        let end = min(hub.clock.wall() + SessionCookie.lifetime, principal.expiresAt ?? .max)
        let kind = principal.identity == .portalLink ? Session.Kind.portalSession : .session
        return try new(kind, to: principal.app, by: principal, until: end)
    }

    /// Creates a session or a link.
    /// - Parameter end: milliseconds since 1970 UTC.
    func new(
        _ kind: Session.Kind, to app: AppKey, by principal: Principal, until end: Int64
    ) throws(Problem) -> (text: String, session: Session) {
        guard let bytes = try? randomBytes(32) else { throw .noRandomness }
        let text = Base64.encodeURLSafe(bytes)
        let digest = SHA256.hash(Array(text.utf8))
        return (text, Session(digest: digest, kind: kind, app: app, key: origin(of: principal), expiresAt: end))
    }

    func isKnown(_ id: ArraySlice<UInt8>) -> Bool { session(id) != nil }

    /// Ends a session and its streams at once.
    /// - Parameter done: called once, on some thread; must not wait.
    func close(_ id: ArraySlice<UInt8>, _ done: @escaping @Sendable () -> Void) {
        let digest = SHA256.hash(Array(id))
        guard hub.committed.sessions.find(digest, at: hub.clock.wall()) != nil else { return done() }
        hub.committed.sessions.remove(digest)
        streams.end { $0.session == digest }
        forget(digest, done)
    }

    /// Milliseconds between two attempts to remove a session from the store.
    private static let forgetPause = 1_000

    /// Removes a session that has ended from the store, from which other processes and the next start read it. The write is
    /// repeated when the store fails or has too much to do.
    private func forget(_ digest: [UInt8], _ done: @escaping @Sendable () -> Void) {
        hub.submit(
            AccessWrite(action: .close(digest)) { [self] result in
                done()
                switch result {
                case .refused(.busy), .refused(.store):
                    hub.after(milliseconds: Self.forgetPause) { [self] in forget(digest) {} }
                case .refused, .done, .replayed: break
                }
            })
    }
}
