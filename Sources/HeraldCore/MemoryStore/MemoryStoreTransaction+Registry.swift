/// Changes of the registry.
extension MemoryTransaction {
    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError) {
        let key = delegate.key
        if removed.contains(key) || store.read({ $0.deletedIDs[key] != nil }) {
            throw .failed(reason: "delegate \(delegate.id) was deleted")
        }
        if let owner = self.owner(of: delegate.settings.url, app: delegate.app), owner != key {
            throw .failed(reason: "another delegate has the same URL")
        }
        delegates[key] = delegate
        apply { $0.setDelegate(delegate) }
    }

    private func owner(of url: String, app: AppKey) -> DelegateKey? {
        let here = delegates.values.first { $0.app == app && $0.settings.url == url && !removed.contains($0.key) }
        if let here { return here.key }
        let name = MemoryContents.URLName(app: app, url: url)
        guard let owner = store.read({ $0.urls[name] }) else { return nil }
        return delegates[owner] == nil && !removed.contains(owner) ? owner : nil
    }

    func removeDelegate(_ key: DelegateKey, at time: Int64) {
        removed.insert(key)
        apply { $0.removeDelegate(key) }
    }

    func setEventType(_ type: EventTypeRecord) {
        apply { $0.eventTypes[.init(app: type.app, type: type.type)] = type }
    }

    func removeEventType(_ type: String, app: AppKey) {
        apply { $0.eventTypes[.init(app: app, type: type)] = nil }
    }
}
