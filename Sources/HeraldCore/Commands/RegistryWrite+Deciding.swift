extension Registry {
    /// The start of a new delegate.
    struct NewDelegate {
        let key: DelegateKey
        /// It gets events after this one.
        let start: LogPosition
        /// Milliseconds since 1970 UTC.
        let time: Int64
        let makeID: () -> String
    }

    /// Decides about a change without applying it. The writer's thread.
    func decide(_ write: RegistryWrite, _ new: NewDelegate) -> (RegistryWrite.Outcome, WriteEffect?) {
        switch write.action {
        case .register(let registration):
            let (settings, secret) = (registration.settings, registration.secret)
            if let existing = delegate(write.app, url: settings.url), registration.replacesSettings {
                return changed(existing, new) { state, now throws(RegistryWrite.InvalidSettings) in
                    try state.replace(settings, registration.isOwnSecret ? secret : nil, now: now)
                }
            }
            if let existing = delegate(write.app, url: settings.url) {
                let newest = existing.state.secrets.first?.secret
                let isSame =
                    existing.settings == settings && newest?.scheme == secret.scheme
                    && (!registration.isOwnSecret || newest == secret)
                return (isSame ? .existed(existing) : .conflict(existing), nil)
            }
            let delegate = WebhookDelegate(
                app: write.app, key: new.key, id: new.makeID(),
                state: .init(registered: settings, secret, now: new.time),
                start: registration.start ?? new.start, createdAt: new.time, updatedAt: new.time,
                version: 1)
            return (.registered(delegate), .set(delegate))

        case .update(let id, let version, let change):
            guard let old = delegate(write.app, id: id) else { return (.notFound, nil) }
            if let version, !version.contains(old.version) { return (.versionMismatch(old), nil) }
            return changed(old, new, change)

        case .remove(let id, let version):
            guard let old = delegate(write.app, id: id) else { return (.notFound, nil) }
            if let version, !version.contains(old.version) { return (.versionMismatch(old), nil) }
            return (.removed([old]), .remove([old]))

        case .removeAll:
            let all = list(write.app)
            return (.removed(all), all.isEmpty ? nil : .remove(all))
        }
    }

    private func changed(
        _ old: WebhookDelegate, _ new: NewDelegate,
        _ change: (_ state: inout WebhookDelegate.State, _ now: Int64) throws(RegistryWrite.InvalidSettings) -> Void
    ) -> (RegistryWrite.Outcome, WriteEffect?) {
        var state = old.state
        do throws(RegistryWrite.InvalidSettings) {
            try change(&state, new.time)
        } catch {
            return (.invalid(error.errors), nil)
        }
        state.apply(.settingsChanged(from: old.settings), now: new.time)
        if state == old.state { return (.updated(old), nil) }
        state.forgetExpiredSecrets(now: new.time)
        if let other = delegate(old.app, url: state.settings.url), other.key != old.key {
            return (.conflict(other), nil)
        }
        let delegate = old.changed(to: state, at: new.time)
        return (.updated(delegate), .set(delegate))
    }
}

extension WebhookDelegate.State {
    /// Gives a webhook other settings. Another secret also replaces its key, which still signs for a day.
    package mutating func replace(
        _ settings: WebhookSettings, _ secret: SigningSecret?, now: Int64
    ) throws(RegistryWrite.InvalidSettings) {
        self.settings = settings
        guard let secret, secrets.first?.secret != secret else { return }
        try SecretRotation(secret).rotate(&self, now: now)
    }
}

extension WebhookRules {
    /// The write with normalized settings; a change is validated when it is made.
    func checked(_ write: RegistryWrite) throws(RegistryWrite.InvalidSettings) -> RegistryWrite {
        switch write.action {
        case .register(var registration):
            let problem = registration.secret.problem(for: registration.settings)
            let errors = problems(of: &registration.settings) + (problem.map { [FieldError("/secret", $0)] } ?? [])
            if !errors.isEmpty { throw RegistryWrite.InvalidSettings(errors) }
            return write.with(.register(registration))
        case .update(let id, let version, let change):
            return write.with(
                .update(id: id, ifVersion: version) { [self] state, now throws(RegistryWrite.InvalidSettings) in
                    let old = state
                    try change(&state, now)
                    // Existing settings may be older than a rule. They stay valid until they are changed.
                    var errors = state.settings == old.settings ? [] : problems(of: &state.settings)
                    if state.secrets.isEmpty { errors.append(FieldError("/secret", "must be at least one")) }
                    // Older keys may be for the signatures of before, and sign no others.
                    let newest = state.secrets.first?.secret
                    if state.settings.request != old.settings.request || newest != old.secrets.first?.secret,
                        let problem = newest?.problem(for: state.settings)
                    {
                        errors.append(FieldError("/secret", problem))
                    }
                    if !errors.isEmpty { throw RegistryWrite.InvalidSettings(errors) }
                })
        case .remove, .removeAll: return write
        }
    }
}
