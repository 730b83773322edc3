/// The life of a webhook: its status, and what follows when something happens to it.
///
/// This is the one rule about it. Requests (register, change, pause, resume, renew) and what delivery loops find out
/// (an answer 410, an outage, consent) are each a `Cause`; `apply` makes the new state of it and says
/// what is to be done. A value without I/O, changed by nothing else; the store writer's thread applies it.
///
/// A delegate that is `failing` is an active one with `failingSince`. One that has *expired* is no longer there:
/// whatever its status, the end of its lease removes it, as a `DELETE` does.
public struct DelegateLifecycle: Equatable, Sendable {
    /// Whether events are sent to a delegate.
    public enum Status: String, Sendable, CaseIterable {
        /// Events are sent.
        ///
        /// Exits: `pendingVerification` when it needs consent for another URL or by another verification; `paused` by
        /// request; `disabled` when it failed for too long or its receiver asked for it; `gone` with an answer 410.
        case active
        /// Nothing is sent by request, nothing is lost.
        ///
        /// Exits: `active`, or `pendingVerification` with a verification, when it is resumed; `gone` when an attempt
        /// that was under way is answered 410. Other settings do not end it.
        case paused
        /// Its owner has not shown yet that they want the callbacks. Nothing is sent, nothing is lost.
        ///
        /// Exits: `active` with consent for its present URL, or when it needs none any more; `paused` by request;
        /// `gone` when an attempt that was under way is answered 410. Resuming it asks for consent again.
        case pendingVerification = "pending_verification"
        /// It failed for days, or its receiver asked for it. Nothing is sent, nothing is lost within the retention.
        ///
        /// Exits: as `paused`; and `paused` by request. Other settings do not end it.
        case disabled
        /// Its receiver answered 410: its deliveries have ended, and what is posted meanwhile is not kept for it.
        ///
        /// Exits: `active`, or `pendingVerification` with a verification, when it is resumed; `paused` by request.
        case gone
    }

    /// What happens to a delegate. Times are milliseconds since 1970 UTC.
    package enum Cause: Equatable, Sendable {
        // By request.

        /// Its settings are others than these were.
        case settingsChanged(from: WebhookSettings)
        case paused
        /// Whatever held it back is over.
        case resumed
        /// Its lease begins anew.
        case leaseRenewed

        // What its delivery loop finds.

        /// Its owner wants the callbacks at this URL, and at most so many a minute.
        case verified(url: String, ratePerMinute: Int? = nil)
        /// They have not shown it; `reason` says what came instead.
        case notVerified(reason: String)
        /// It fails as a whole.
        case failing(since: Int64)
        /// A probe succeeded.
        case recovered
        /// It failed for too long, or its receiver asked for it.
        case disabled(reason: String)
        /// Its receiver answered 410.
        case gone
        /// Its lease may have ended.
        case leaseEnded
    }

    /// What is to be done about a cause.
    package enum Consequence: Equatable, Sendable {
        /// It is no news, or comes too late.
        case nothing
        /// The new state is stored under the same version: it was observed, nobody changed the delegate.
        case observe
        /// The new state is stored as the next version.
        case change
        /// The delegate is removed: its lease ended at this time.
        case expire(Int64)
    }

    package private(set) var status: Status
    /// Why it is neither active nor paused, in words.
    package private(set) var reason: String?
    /// When the lease ends; milliseconds since 1970 UTC.
    package private(set) var expiresAt: Int64?
    /// Since when it fails as a whole; milliseconds since 1970 UTC.
    package private(set) var failingSince: Int64?

    /// As it was stored.
    package init(status: Status, reason: String? = nil, expiresAt: Int64? = nil, failingSince: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.expiresAt = expiresAt
        self.failingSince = failingSince
    }

    /// The beginning: registered with these settings.
    package init(registered settings: WebhookSettings, now: Int64) {
        status = Self.sendingStatus(settings)
        renewLease(settings, now)
    }

    /// - Parameters:
    ///   - settings: those of the delegate, after the cause.
    ///   - now: milliseconds since 1970 UTC.
    @discardableResult
    package mutating func apply(_ cause: Cause, settings: WebhookSettings, now: Int64) -> Consequence {
        let old = self
        switch cause {
        case .settingsChanged(let before): settingsChanged(from: before, to: settings, now)
        case .paused:
            if status == .disabled || status == .gone { failingSince = nil }
            enter(.paused)
        case .resumed:
            enter(status == .active ? .active : Self.sendingStatus(settings))
            failingSince = nil
        case .leaseRenewed: renewLease(settings, now)
        case .verified(let url, _): if status == .pendingVerification, url == settings.url { enter(.active) }
        case .notVerified(let why): if status == .pendingVerification { reason = why }
        case .failing(let since): failingSince = failingSince ?? since
        case .recovered: failingSince = nil
        case .disabled(let why): if status == .active { enter(.disabled, why) }
        case .gone:
            guard status != .gone else { break }
            enter(.gone, "the receiver responded with 410 Gone")
            failingSince = nil
        case .leaseEnded: if let expiresAt, expiresAt <= now { return .expire(expiresAt) }
        }
        if self == old { return .nothing }
        return status == old.status && reason == old.reason ? .observe : .change
    }

    /// Another URL has no history of failing. While it is sent to, it needs consent of its own; one that nothing is sent
    /// to is asked when it is resumed.
    private mutating func settingsChanged(from old: WebhookSettings, to new: WebhookSettings, _ now: Int64) {
        if new.leaseSeconds != old.leaseSeconds { renewLease(new, now) }
        if new.url != old.url { failingSince = nil }
        guard new.url != old.url || new.verification != old.verification else { return }
        switch status {
        case .active, .pendingVerification:
            // An active one that needs no consent any more has it.
            enter(Self.sendingStatus(new))
        case .paused, .disabled, .gone: break
        }
    }

    private mutating func enter(_ status: Status, _ reason: String? = nil) {
        self.status = status
        self.reason = reason
    }

    private mutating func renewLease(_ settings: WebhookSettings, _ now: Int64) {
        expiresAt = settings.leaseSeconds.map { now + Int64($0) * 1000 }
    }

    /// The status of a delegate that nothing holds back: nothing could tell whether consent was given for it as it is now.
    private static func sendingStatus(_ settings: WebhookSettings) -> Status {
        settings.verification == .none ? .active : .pendingVerification
    }
}
