/// A change of the registry: what is asked for, and who waits for it.
public struct RegistryWrite: Sendable {
    public enum Action: Sendable {
        case register(Registration)
        /// Changes what may change. `ifVersion`: only this version of the delegate. `now`: milliseconds since 1970 UTC.
        case update(
            id: String, ifVersion: Int64?,
            change: @Sendable (_ state: inout WebhookDelegate.State, _ now: Int64) throws(InvalidSettings) -> Void)
        case remove(id: String, ifVersion: Int64?)
        case removeAll
    }

    /// What a new delegate brings.
    public struct Registration: Sendable {
        public internal(set) var settings: WebhookSettings
        public let secret: SigningSecret
        /// The client brought the secret, so that another one makes another registration.
        public var isOwnSecret = false
        /// It is told of events after this one; `nil`: of those to come.
        public var start: LogPosition?
        /// The current app state, and the auth status of the subjects, are sent first.
        public var replaysCurrentState = false

        public init(settings: WebhookSettings, secret: SigningSecret) {
            self.settings = settings
            self.secret = secret
        }
    }

    public enum Outcome: Sendable {
        case registered(WebhookDelegate)
        /// The same URL is registered with the same settings.
        case existed(WebhookDelegate)
        /// The URL belongs to this other delegate.
        case conflict(WebhookDelegate)
        case updated(WebhookDelegate)
        case removed([WebhookDelegate])
        /// The app has as many delegates as it may have.
        case tooMany(limit: Int)
        case notFound
        /// It has changed since `ifVersion`.
        case versionMismatch(WebhookDelegate)
        /// What would come out of the change is not allowed.
        case invalid([FieldError])
    }

    /// A change finds that it does not fit the settings that are there.
    public struct InvalidSettings: Error {
        public let errors: [FieldError]
        public init(_ errors: [FieldError]) { self.errors = errors }
    }

    public let app: AppKey
    public let action: Action
    /// For the audit log; `nil`: the process itself asks, which is not noted.
    public let provenance: Provenance?
    public let idempotency: Idempotency<Outcome>?
    /// Called once on the writer's thread (or at once, when it is refused); must not wait.
    public let completion: @Sendable (WriteResult<Outcome>) -> Void

    public init(
        app: AppKey = .default, action: Action, provenance: Provenance? = nil, idempotency: Idempotency<Outcome>? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.action = action
        self.provenance = provenance
        self.idempotency = idempotency
        self.completion = completion
    }

    /// The same of another action.
    func with(_ action: Action) -> RegistryWrite {
        RegistryWrite(
            app: app, action: action, provenance: provenance, idempotency: idempotency, completion: completion)
    }
}
