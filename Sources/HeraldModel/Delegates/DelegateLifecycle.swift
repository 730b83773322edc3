/// The life cycle of a webhook: its status and the transitions.
///
/// This is the only place with these rules. Requests (register, change, pause, resume, renew) and observations of
/// delivery loops (a response 410, an outage, consent) are each a `Cause`; `apply` computes the new state and returns
/// what has to be done. A value without I/O, changed only by `apply`, on the writer's thread.
///
/// A delegate that is `failing` is an active one with `failingSince`. An *expired* delegate does not exist any more:
/// the end of its lease removes it in any status, like a `DELETE`.
package struct DelegateLifecycle: Equatable, Sendable {
    /// Whether events are sent to a delegate.
    package enum Status: String, Sendable, CaseIterable {
        /// Events are sent.
        ///
        /// Transitions: to `pendingVerification` when another URL or verification requires consent; to `paused` by
        /// request; to `disabled` after failing too long or on request of the receiver; to `gone` after a response 410.
        case active
        /// Nothing is sent, by request; events are kept.
        ///
        /// Transitions: to `active`, or to `pendingVerification` with a verification, when it is resumed; to `gone`
        /// when an attempt in flight gets a response 410. Changes of the settings do not end it.
        case paused
        /// Its owner has not agreed to the callbacks yet. Nothing is sent; events are kept.
        ///
        /// Transitions: to `active` with consent for its current URL, or when it needs none any more; to `paused` by
        /// request; to `gone` when an attempt in flight gets a response 410. Resuming it requests consent again.
        case pendingVerification = "pending_verification"
        /// It failed for days, or its receiver requested it. Nothing is sent; events are kept within the retention.
        ///
        /// Transitions: like `paused`; and to `paused` by request. Changes of the settings do not end it.
        case disabled
        /// Its receiver responded with 410: its deliveries have ended, and events are not kept for it.
        ///
        /// Transitions: to `active`, or to `pendingVerification` with a verification, when it is resumed; to `paused`
        /// by request.
        case gone
    }

    /// The causes of a transition. Times are milliseconds since 1970 UTC.
    package enum Cause: Equatable, Sendable {
        // Requests.

        /// The settings were changed from these.
        case settingsChanged(from: WebhookSettings)
        case paused
        /// The delegate is resumed.
        case resumed
        /// The lease restarts.
        case leaseRenewed

        // Observations of its delivery loop.

        /// Its owner agrees to callbacks at this URL, with a limit per minute.
        case verified(url: String, ratePerMinute: Int? = nil)
        /// Its owner did not agree; `reason` says what happened.
        case notVerified(reason: String)
        /// It is failing.
        case failing(since: Int64)
        /// A probe succeeded.
        case recovered
        /// It failed for too long, or its receiver requested it.
        case disabled(reason: String)
        /// Its receiver responded with 410.
        case gone
        /// Its lease may have ended.
        case leaseEnded
    }

    /// The action that follows a cause.
    package enum Consequence: Equatable, Sendable {
        /// The cause has no effect, or is outdated.
        case nothing
        /// Store the new state with the same version: an observation is not a change of the delegate.
        case observe
        /// Store the new state as the next version.
        case change
        /// Remove the delegate: its lease has ended.
        case expire
    }

    /// Why it is neither active nor paused.
    package private(set) var reason: String?
    /// When the lease ends; milliseconds since 1970 UTC.
    package private(set) var expiresAt: Int64?
    /// When it started failing; milliseconds since 1970 UTC.
    package private(set) var failingSince: Int64?
    package private(set) var status: Status

    /// The stored state.
    package init(status: Status, reason: String? = nil, expiresAt: Int64? = nil, failingSince: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.expiresAt = expiresAt
        self.failingSince = failingSince
    }

    /// The initial state with these settings.
    package init(registered settings: WebhookSettings, now: Int64) {
        status = Self.sendingStatus(settings)
        renewLease(settings, now)
    }

    /// - Parameters:
    ///   - settings: the settings of the delegate, after the cause.
    ///   - now: milliseconds since 1970 UTC.
    @discardableResult
    package mutating func apply(_ cause: Cause, settings: WebhookSettings, now: Int64) -> Consequence {
        let old = self
        switch cause {
        case .settingsChanged(let before): settingsChanged(from: before, to: settings, now)
        case .paused:
            if status == .disabled || status == .gone { failingSince = nil }
            enter(.paused)
            renewLostLease(settings, now)
        case .resumed:
            enter(status == .active ? .active : Self.sendingStatus(settings))
            failingSince = nil
            renewLostLease(settings, now)
        case .leaseRenewed: renewLease(settings, now)
        case .verified(let url, _): if status == .pendingVerification, url == settings.url { enter(.active) }
        case .notVerified(let why): if status == .pendingVerification { reason = why }
        case .failing(let since): if status != .gone { failingSince = failingSince ?? since }
        case .recovered: failingSince = nil
        case .disabled(let why): if status == .active { enter(.disabled, why) }
        case .gone:
            guard status != .gone else { break }
            enter(.gone, Reason.respondedGone())
            failingSince = nil
        case .leaseEnded: if let expiresAt, expiresAt <= now { return .expire }
        }
        if self == old { return .nothing }
        return status == old.status && reason == old.reason ? .observe : .change
    }

    /// A new URL has no history of failing. An active delegate needs new consent; a stopped one is verified when it is
    /// resumed.
    private mutating func settingsChanged(from old: WebhookSettings, to new: WebhookSettings, _ now: Int64) {
        if new.leaseSeconds != old.leaseSeconds { renewLease(new, now) }
        if new.url != old.url { failingSince = nil }
        guard new.url != old.url || new.verification != old.verification else { return }
        switch status {
        case .active, .pendingVerification:
            // An active delegate that needs no consent.
            enter(Self.sendingStatus(new))
        case .paused, .disabled, .gone: break
        }
    }

    private mutating func enter(_ status: Status, _ reason: String? = nil) {
        self.status = status
        self.reason = reason
    }

    /// Where the stored end of the lease could not be read.
    private mutating func renewLostLease(_ settings: WebhookSettings, _ now: Int64) {
        if expiresAt == nil { renewLease(settings, now) }
    }

    private mutating func renewLease(_ settings: WebhookSettings, _ now: Int64) {
        expiresAt = settings.leaseSeconds.map { now + Int64($0) * 1000 }
    }

    /// The status of a delegate that is not stopped: earlier consent may not apply to its current settings.
    private static func sendingStatus(_ settings: WebhookSettings) -> Status {
        settings.verification == .none ? .active : .pendingVerification
    }
}
