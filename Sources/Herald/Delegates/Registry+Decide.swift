extension Registry {
    /// What a new delegate gets.
    struct Newcomer {
        let key: DelegateKey
        /// It is told of events after this one.
        let start: Sequence
        /// Milliseconds since 1970 UTC.
        let time: Int64
        let makeID: () -> String
    }

    /// Decides on a change against what is registered; changes nothing. The writer's thread.
    func decide(_ write: RegistryWrite, _ newcomer: Newcomer) -> (RegistryWrite.Outcome, RegistryEffect?) {
        switch write.action {
        case .register(let settings, let secret, let isOwn):
            if let existing = delegate(write.app, url: settings.url) {
                let isSame = existing.settings == settings && (!isOwn || existing.secrets.first == secret)
                return (isSame ? .existed(existing) : .conflict(existing), nil)
            }
            let delegate = WebhookDelegate(
                app: write.app, key: newcomer.key, id: newcomer.makeID(), settings: settings, status: .active,
                secrets: [secret], start: newcomer.start, createdAt: newcomer.time, updatedAt: newcomer.time,
                version: 1)
            return (.registered(delegate), .set(delegate))

        case .update(let id, let version, let change):
            guard let old = delegate(write.app, id: id) else { return (.notFound, nil) }
            if let version, version != old.version { return (.versionMismatch(old), nil) }
            var settings = old.settings
            var status = old.status
            change(&settings, &status)
            if settings == old.settings && status == old.status { return (.updated(old), nil) }
            if let other = delegate(write.app, url: settings.url), other.key != old.key {
                return (.conflict(other), nil)
            }
            let delegate = WebhookDelegate(
                app: old.app, key: old.key, id: old.id, settings: settings, status: status, secrets: old.secrets,
                start: old.start, createdAt: old.createdAt, updatedAt: newcomer.time, version: old.version + 1)
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
