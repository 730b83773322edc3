/// A registered webhook. Immutable; a change creates a new object with the same `key`.
@usableFromInline package final class WebhookDelegate: Sendable {
    /// The status type of webhooks.
    package typealias Status = DelegateLifecycle.Status

    /// The mutable state of a delegate.
    @usableFromInline package struct State: Equatable, Sendable {
        @usableFromInline package var settings: WebhookSettings
        /// The keys that sign each callback, newest first. Empty only if they can't be read.
        package var secrets: [DelegateSecret]
        package private(set) var lifecycle: DelegateLifecycle

        /// The stored state.
        package init(
            settings: WebhookSettings, status: Status = .active, statusReason: String? = nil,
            secrets: [DelegateSecret], expiresAt: Int64? = nil, failingSince: Int64? = nil
        ) {
            self.settings = settings
            self.secrets = secrets
            lifecycle = DelegateLifecycle(
                status: status, reason: statusReason, expiresAt: expiresAt, failingSince: failingSince)
        }

        /// The initial state of a new delegate.
        package init(registered settings: WebhookSettings, _ secret: SigningSecret, now: Int64) {
            self.settings = settings
            secrets = [DelegateSecret(secret)]
            lifecycle = DelegateLifecycle(registered: settings, now: now)
        }

        package var status: Status { lifecycle.status }
        /// Why it is neither active nor paused.
        package var statusReason: String? { lifecycle.reason }
        /// Whether it is disabled, because stored values of it can't be read. Values that the rules refuse stand for them.
        package var isUnreadable: Bool { status == .disabled && statusReason?.hasPrefix(Reason.unreadable("")) == true }
        /// When the lease ends; milliseconds since 1970 UTC.
        package var expiresAt: Int64? { lifecycle.expiresAt }
        /// When it started failing; milliseconds since 1970 UTC.
        package var failingSince: Int64? { lifecycle.failingSince }

        /// Applies a cause to the delegate.
        /// - Parameter now: milliseconds since 1970 UTC.
        @discardableResult
        package mutating func apply(_ cause: DelegateLifecycle.Cause, now: Int64) -> DelegateLifecycle.Consequence {
            // Its lease cannot be renewed before the values are set again.
            if isUnreadable, case .leaseEnded = cause { return .nothing }
            let consequence = lifecycle.apply(cause, settings: settings, now: now)
            if consequence != .nothing, case .verified(_, let ratePerMinute?) = cause {
                // 10,000 per second is the maximum.
                settings.rateLimit = min(settings.rateLimit ?? 10_000, Double(ratePerMinute) / 60)
            }
            return consequence
        }

        /// Removes expired secrets, but never all of them.
        package mutating func forgetExpiredSecrets(now: Int64) {
            let valid = secrets.filter { $0.isValid(at: now) }
            if !valid.isEmpty { secrets = valid }
        }
    }

    package let app: AppKey
    package let key: DelegateKey
    /// `dlg_` and a ULID.
    package let id: String
    @usableFromInline package let state: State
    /// The delegate gets events after this one; a pull delegate also earlier ones, after a seek.
    package let start: LogPosition
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64
    package let updatedAt: Int64
    /// The number of changes; the base of the `ETag`.
    package let version: Int64
    /// The subjects of its settings, compiled.
    private let subjects: SubjectSelection

    /// - Parameter subjects: those of its settings; `nil` if they are not compiled yet.
    package init(
        app: AppKey, key: DelegateKey, id: String, state: State, start: LogPosition, createdAt: Int64, updatedAt: Int64,
        version: Int64, subjects: SubjectSelection? = nil
    ) {
        self.app = app
        self.key = key
        self.id = id
        self.state = state
        self.start = start
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.version = version
        self.subjects = subjects ?? SubjectSelection(state.settings.subjects)
    }

    /// The settings of its owner. Inlinable, because each delivery reads several of them: a call into this module would copy all.
    @inlinable package var settings: WebhookSettings { state.settings }
    /// The status type of webhooks.
    package var status: Status { state.status }

    /// The events that it gets, according to its settings. Computed, because storing it would cost memory for each of
    /// many delegates.
    package var selection: EventSelection {
        EventSelection(app: app, events: settings.events, subjects, filter: settings.filter, addressee: key)
    }

    /// Keeps the version: an observation is not a change of the delegate.
    package func observed(_ state: State) -> WebhookDelegate { with(state, updatedAt: updatedAt, version: version) }

    /// The next version.
    package func changed(to state: State, at time: Int64) -> WebhookDelegate {
        with(state, updatedAt: time, version: version + 1)
    }

    /// No event up to here is delivered. A pull delegate has no such limit, since a seek may move it back.
    package var floor: LogPosition { settings.kind == .pull ? 0 : start }

    private func with(_ state: State, updatedAt: Int64, version: Int64) -> WebhookDelegate {
        WebhookDelegate(
            app: app, key: key, id: id, state: state, start: start, createdAt: createdAt, updatedAt: updatedAt,
            version: version,
            // They may be many: they are compiled again only when they have changed.
            subjects: state.settings.hasSubjects(of: settings) ? subjects : nil)
    }
}
