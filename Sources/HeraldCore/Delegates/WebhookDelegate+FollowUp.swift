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
        } else if status == .active && old.status != .active {
            // Nothing else could tell whether consent was given for the address as it is now.
            status = .pendingVerification
        } else if status == .active || status == .disabled,
            settings.url != old.settings.url || settings.verification != old.settings.verification
        {
            status = .pendingVerification
        }
        let isFreed = status != old.status && (old.status == .disabled || old.status == .gone)
        if isFreed || settings.url != old.settings.url { failingSince = nil }
        if status != old.status { statusReason = nil }
        let valid = secrets.filter { $0.isValid(at: now) }
        if !valid.isEmpty { secrets = valid }
    }
}
