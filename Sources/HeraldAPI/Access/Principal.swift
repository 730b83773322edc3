import HeraldCore

/// On whose behalf a request is made: what it acts on, and what it may do there.
struct Principal: Sendable {
    enum Identity: Equatable, Sendable {
        /// No key is needed, because there is none, or because the address is open to all.
        case anyone
        /// The operator's key, from the configuration.
        case operatorKey
        /// The id of a key.
        case key(String)
        /// Whoever has followed a link.
        case portalLink

        /// As the audit log names it.
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
    let scopes: Scopes
    /// Milliseconds since 1970 UTC; `nil`: no end.
    var expiresAt: Int64?
    /// What its requests count to, and how many it may make in a second; `nil`: any number.
    var meter: RequestMeter?
    var requestsPerSecond: Int?
    /// The id of the key in the store that it comes from, be it by a session or a link; it ends with that.
    var key: String?
    /// Of a session or a link, by which its end is known: `Session.digest`.
    var session: [UInt8]?
    /// Of a link: where it comes from.
    var origin: String?

    /// The same in an app that `Herald-App` names.
    func acting(on app: AppKey) -> Principal {
        var principal = self
        principal.app = app
        return principal
    }

    /// Whoever asks for what is open to all.
    static let anyone = Principal(identity: .anyone, app: .default, scopes: Scopes([]))
}
