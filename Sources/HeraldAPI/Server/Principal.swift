import HeraldCore
import HeraldModel

/// The client of a request: the app that it acts on, and its scopes.
struct Principal: Sendable {
    enum Identity: Equatable, Sendable {
        /// No key is needed, because there is none, or because anonymous access is allowed.
        case anyone
        /// The operator's key, from the configuration.
        case operatorKey
        /// The id of a key.
        case key(String)
        /// A client with a portal link.
        case portalLink

        /// The name in the audit log.
        var name: String {
            switch self {
            case .anyone: "anyone"
            case .operatorKey: "operator"
            case .key(let id): id
            case .portalLink: "portal"
            }
        }
    }

    let identity: Identity
    private(set) var app: AppKey
    private(set) var scopes: Scopes
    /// Milliseconds since 1970 UTC; `nil` for never.
    var expiresAt: Int64?
    /// The meter of its requests, and its limit per second; `nil` for no limit.
    var meter: RateMeter?
    var requestsPerSecond: Int?
    /// The id of the only delegate that it opens; `nil` for no limit.
    var delegate: String?
    /// The id of the stored key behind it, also for a session or a link; it ends with that key.
    var key: String?
    /// The `Session.digest` of a session or a link.
    var session: [UInt8]?
    /// The origin of a link.
    var origin: String?

    /// The key, also of a session, or the session of a link, also of one that a key has made: it identifies clients of an app.
    var owner: String { identity == .portalLink ? "portal \(session ?? [])" : key ?? identity.name }

    /// Returns this principal in the app that `Herald-App` names.
    func acting(on app: AppKey) -> Principal {
        var principal = self
        principal.app = app
        return principal
    }

    /// Returns this principal in the app, without the right to change anything.
    func reading(_ app: AppKey) -> Principal {
        var principal = acting(on: app)
        principal.scopes = Scopes([.read])
        return principal
    }

    /// The principal of routes that need no key.
    static let anyone = Principal(identity: .anyone, app: .default, scopes: Scopes([]))
}
