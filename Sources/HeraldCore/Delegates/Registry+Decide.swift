extension Registry {
    /// What a new delegate gets.
    struct NewDelegate {
        let key: DelegateKey
        /// It is told of events after this one.
        let start: LogPosition
        /// Milliseconds since 1970 UTC.
        let time: Int64
        let makeID: () -> String
    }

    /// Decides on a change against what is registered; changes nothing. The writer's thread.
    func decide(_ write: RegistryWrite, _ new: NewDelegate) -> (RegistryWrite.Outcome, WriteEffect?) {
        switch write.action {
        case .register(let registration):
            let settings = registration.settings
            let secret = registration.secret
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
            if let version, version != old.version { return (.versionMismatch(old), nil) }
            var state = old.state
            do throws(RegistryWrite.InvalidSettings) {
                try change(&state, new.time)
            } catch {
                return (.invalid(error.errors), nil)
            }
            state.apply(.settingsChanged(from: old.settings), now: new.time)
            if state == old.state { return (.updated(old), nil) }
            state.forgetExpiredSecrets(now: new.time)
            if let other = delegate(write.app, url: state.settings.url), other.key != old.key {
                return (.conflict(other), nil)
            }
            let delegate = old.changed(to: state, at: new.time)
            return (.updated(delegate), .set(delegate))

        case .remove(let id, let version):
            guard let old = delegate(write.app, id: id) else { return (.notFound, nil) }
            if let version, version != old.version { return (.versionMismatch(old), nil) }
            return (.removed([old]), .remove([old]))

        case .removeAll:
            let all = list(write.app)
            return (.removed(all), all.isEmpty ? nil : .remove(all))
        }
    }
}
