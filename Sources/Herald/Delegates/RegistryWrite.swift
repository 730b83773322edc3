/// A change of the registry: what is asked for, and who waits for it.
public struct RegistryWrite: Sendable {
    public enum Action: Sendable {
        /// `isOwn`: the client brought the secret, so that another one makes another registration.
        case register(WebhookSettings, secret: SigningSecret, isOwn: Bool = false)
        /// Changes settings and status. `ifVersion`: only this version of the delegate.
        case update(
            id: String, ifVersion: Int64?,
            change: @Sendable (inout WebhookSettings, inout WebhookDelegate.Status) -> Void)
        case remove(id: String, ifVersion: Int64?)
        case removeAll
    }

    public enum Outcome: Sendable {
        case registered(WebhookDelegate)
        /// The same URL is registered with the same settings.
        case existed(WebhookDelegate)
        /// The URL belongs to this other delegate.
        case conflict(WebhookDelegate)
        case updated(WebhookDelegate)
        case removed([WebhookDelegate])
        case notFound
        /// It has changed since `ifVersion`.
        case versionMismatch(WebhookDelegate)
    }

    public let app: AppKey
    public let action: Action
    public let idempotency: Idempotency<Outcome>?
    /// Called once on the writer's thread (or at once, when it is refused); must not wait.
    public let completion: @Sendable (WriteResult<Outcome>) -> Void

    public init(
        app: AppKey = .default, action: Action, idempotency: Idempotency<Outcome>? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.action = action
        self.idempotency = idempotency
        self.completion = completion
    }
}
