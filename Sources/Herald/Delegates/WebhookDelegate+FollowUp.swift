extension WebhookDelegate.State {
    /// What follows from a change that was asked for: consent is needed for another address, a lease runs anew, who is
    /// resumed has a clean slate, and secrets that sign no more are forgotten.
    /// - Parameters:
    ///   - old: the state before the change.
    ///   - now: milliseconds since 1970 UTC.
    mutating func followUp(_ old: Self, now: Int64) {
        if settings.leaseSeconds != old.settings.leaseSeconds {
            expiresAt = settings.leaseSeconds.map { now + Int64($0) * 1000 }
        }
        if settings.verification == .none {
            if status == .pendingVerification { status = .active }
        } else if old.status == .pendingVerification && status == .active {
            // To resume it is to ask again.
            status = .pendingVerification
        } else if status == .active || status == .paused || status == .disabled,
            settings.url != old.settings.url || settings.verification != old.settings.verification
        {
            status = .pendingVerification
        }
        if status == .active && (old.status == .disabled || old.status == .gone) { failingSince = nil }
        if status != old.status { statusReason = nil }
        let valid = secrets.filter { $0.isValid(at: now) }
        if !valid.isEmpty { secrets = valid }
    }
}
