package import HeraldModel

extension Registry {
    /// Each is compared with those that are registered.
    private static let maxOfURL = 100
    /// Each pull delegate of an app is compared with a new one.
    private static let maxPulls = 1_000

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
            if let uid = registration.uid, let owner = self.delegate(write.app, uid: uid) {
                return (.conflict(owner), nil)
            }
            let neighbors = delegates(write.app, url: settings.url)
            if registration.replacesSettings, settings.kind == .webhook, let first = neighbors.first {
                let replaced = neighbors.count == 1 ? first : neighbors.first { $0.settings.repeats(settings) }
                guard let replaced else { return (.conflict(first), nil) }
                return changed(replaced, new) { state, now throws(FieldErrors) in
                    try state.replace(settings, registration.isOwnSecret ? secret : nil, now: now)
                }
            }
            let existing = neighbors.first { $0.settings == settings && $0.settings.hasSubjects(of: settings) }
            if let existing {
                let newest = existing.state.secrets.first?.secret
                let isSame = newest?.scheme == secret.scheme && (!registration.isOwnSecret || newest == secret)
                return (isSame ? .existed(existing) : .conflict(existing), nil)
            }
            if let other = neighbors.first(where: { $0.settings.repeats(settings) }) { return (.conflict(other), nil) }
            switch settings.kind {
            case .pull where neighbors.count >= Self.maxPulls: return (.tooManyPulls(limit: Self.maxPulls), nil)
            case .webhook where neighbors.count >= Self.maxOfURL: return (.tooManyOfURL(limit: Self.maxOfURL), nil)
            case .pull, .webhook: break
            }
            var state = WebhookDelegate.State(registered: settings, secret, now: new.time)
            if registration.isPaused { state.apply(.paused, now: new.time) }
            let delegate = WebhookDelegate(
                app: write.app, key: new.key, id: new.makeID(), state: state,
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
        _ change: (_ state: inout WebhookDelegate.State, _ now: Int64) throws(FieldErrors) -> Void
    ) -> (RegistryWrite.Outcome, WriteEffect?) {
        var state = old.state
        do throws(FieldErrors) {
            try change(&state, new.time)
        } catch {
            return (.invalid(error.errors), nil)
        }
        state.apply(.settingsChanged(from: old.settings), now: new.time)
        if state == old.state, state.settings.hasSubjects(of: old.settings) { return (.updated(old), nil) }
        state.forgetExpiredSecrets(now: new.time)
        if let refusal = refusal(of: state.settings, over: old) { return (refusal, nil) }
        let delegate = old.changed(to: state, at: new.time)
        return (.updated(delegate), .set(delegate))
    }

    /// Settings that decide about repetitions may change to such that repeat no other delegate with the URL.
    private func refusal(of settings: WebhookSettings, over old: WebhookDelegate) -> RegistryWrite.Outcome? {
        let neighbors = delegates(old.app, url: settings.url).filter { $0.key != old.key }
        // Two processes of different releases may have made a repetition: it hinders no other change.
        if let other = neighbors.first(where: { $0.settings.repeats(settings) && !$0.settings.repeats(old.settings) }) {
            return .conflict(other)
        }
        return settings.url != old.settings.url && neighbors.count >= Self.maxOfURL
            ? .tooManyOfURL(limit: Self.maxOfURL) : nil
    }
}

extension WebhookSettings {
    /// Whether a receiver would get an event twice in the same request if two webhooks had these settings.
    ///
    /// Two filters, or two subjects of which one begins like the other, are taken for different ones.
    func repeats(_ other: WebhookSettings) -> Bool {
        kind == .webhook && url == other.url && format == other.format && headers == other.headers
            && request == other.request
            && (filter == nil || other.filter == nil || filter == other.filter)
            && events.contains { pattern in other.events.contains { $0.overlaps(pattern) } }
            && SubjectSelection.overlap(subjects, other.subjects)
    }
}

extension WebhookDelegate.State {
    /// Gives a webhook other settings. Another secret also replaces its key, which still signs for a day.
    package mutating func replace(
        _ settings: WebhookSettings, _ secret: SigningSecret?, now: Int64
    ) throws(FieldErrors) {
        self.settings = settings
        guard let secret, secrets.first?.secret != secret else { return }
        try SecretRotation(secret).rotate(&self, now: now)
    }
}

extension WebhookRules {
    /// Changes the state of a delegate, and validates the result. `now`: milliseconds since 1970 UTC.
    package func apply(
        _ change: (_ state: inout WebhookDelegate.State, _ now: Int64) throws(FieldErrors) -> Void,
        to state: inout WebhookDelegate.State, now: Int64
    ) throws(FieldErrors) {
        let old = state
        try change(&state, now)
        // Existing settings may be older than a rule. They stay valid until they are changed, unless they could not be read.
        if old.isUnreadable, state.isUnreadable, state.settings == old.settings, state.secrets == old.secrets {
            // What stands for the values is not written while nothing is set again.
            throw FieldErrors([FieldError("", old.statusReason ?? "")])
        }
        let isSetAgain = old.isUnreadable && !state.isUnreadable
        let isUnchanged = state.settings == old.settings && state.settings.hasSubjects(of: old.settings)
        var errors = isUnchanged && !isSetAgain ? [] : problems(of: &state.settings)
        if state.settings.kind != old.settings.kind {
            errors.append(Self.kindHasChanged)
        }
        if state.secrets.isEmpty { errors.append(FieldError("/secret", "must be at least one")) }
        // Older keys may be for the signatures of before, and sign no others.
        let newest = state.secrets.first?.secret
        if state.settings.request != old.settings.request || newest != old.secrets.first?.secret,
            let problem = newest?.problem(for: state.settings)
        {
            errors.append(FieldError("/secret", problem))
        }
        if !errors.isEmpty { throw FieldErrors(errors) }
    }
}
