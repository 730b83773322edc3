/// The number of a delegate in the store: small, never reused, and how lanes, retries and attempts refer to it.
package typealias DelegateKey = Int64

/// A registered webhook. Immutable; a change makes a new object with the same `key`.
public final class WebhookDelegate: Sendable {
    /// Whether events are sent to it.
    public typealias Status = DelegateLifecycle.Status

    /// What changes while the delegate lives.
    package struct State: Equatable, Sendable {
        package var settings: WebhookSettings
        /// The keys that sign each callback, newest first. Never empty.
        package var secrets: [DelegateSecret]
        package private(set) var lifecycle: DelegateLifecycle

        /// As it was stored.
        package init(
            settings: WebhookSettings, status: Status = .active, statusReason: String? = nil,
            secrets: [DelegateSecret], expiresAt: Int64? = nil, failingSince: Int64? = nil
        ) {
            self.settings = settings
            self.secrets = secrets
            lifecycle = DelegateLifecycle(
                status: status, reason: statusReason, expiresAt: expiresAt, failingSince: failingSince)
        }

        /// Of a delegate that is registered now.
        init(registered settings: WebhookSettings, _ secret: SigningSecret, now: Int64) {
            self.settings = settings
            secrets = [DelegateSecret(secret)]
            lifecycle = DelegateLifecycle(registered: settings, now: now)
        }

        package var status: Status { lifecycle.status }
        /// Why it is neither active nor paused, in words.
        package var statusReason: String? { lifecycle.reason }
        /// When the lease ends; milliseconds since 1970 UTC.
        package var expiresAt: Int64? { lifecycle.expiresAt }
        /// Since when it fails as a whole; milliseconds since 1970 UTC.
        package var failingSince: Int64? { lifecycle.failingSince }

        /// Something happens to the delegate.
        /// - Parameter now: milliseconds since 1970 UTC.
        @discardableResult
        package mutating func apply(_ cause: DelegateLifecycle.Cause, now: Int64) -> DelegateLifecycle.Consequence {
            let consequence = lifecycle.apply(cause, settings: settings, now: now)
            if consequence != .nothing, case .verified(_, let ratePerMinute?) = cause {
                // 10,000 a second is as much as can be asked for.
                settings.rateLimit = min(settings.rateLimit ?? 10_000, Double(ratePerMinute) / 60)
            }
            return consequence
        }

        /// Secrets that sign no more are forgotten, but never all of them.
        mutating func forgetExpiredSecrets(now: Int64) {
            let valid = secrets.filter { $0.isValid(at: now) }
            if !valid.isEmpty { secrets = valid }
        }
    }

    package let app: AppKey
    package let key: DelegateKey
    /// `dlg_` and a ULID.
    public let id: String
    package let state: State
    /// The delegate is told of events after this one.
    package let start: LogPosition
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64
    package let updatedAt: Int64
    /// Counts the changes; the base of the `ETag`.
    package let version: Int64
    /// Which events it is told of, by its settings.
    package let selection: EventSelection

    package convenience init(
        app: AppKey, key: DelegateKey, id: String, state: State, start: LogPosition, createdAt: Int64, updatedAt: Int64,
        version: Int64
    ) {
        self.init(
            app: app, key: key, id: id, state: state, start: start, createdAt: createdAt, updatedAt: updatedAt,
            version: version, selection: EventSelection(state.settings, app: app, addressee: key))
    }

    private init(
        app: AppKey, key: DelegateKey, id: String, state: State, start: LogPosition, createdAt: Int64, updatedAt: Int64,
        version: Int64, selection: EventSelection
    ) {
        self.app = app
        self.key = key
        self.id = id
        self.state = state
        self.start = start
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.version = version
        self.selection = selection
    }

    /// What its owner has chosen.
    public var settings: WebhookSettings { state.settings }
    /// Whether events are sent to it.
    public var status: Status { state.status }
    /// Why it is neither active nor paused, in words.
    public var statusReason: String? { state.statusReason }

    /// The same version: what was observed of a delegate is no change of it.
    func observed(_ state: State) -> WebhookDelegate { with(state, updatedAt: updatedAt, version: version) }

    /// The next version.
    func changed(to state: State, at time: Int64) -> WebhookDelegate {
        with(state, updatedAt: time, version: version + 1)
    }

    private func with(_ state: State, updatedAt: Int64, version: Int64) -> WebhookDelegate {
        WebhookDelegate(
            app: app, key: key, id: id, state: state, start: start, createdAt: createdAt, updatedAt: updatedAt,
            version: version,
            // Subjects are many: they are compiled again only when the settings have changed.
            selection: state.settings == settings
                ? selection : EventSelection(state.settings, app: app, addressee: key))
    }
}
