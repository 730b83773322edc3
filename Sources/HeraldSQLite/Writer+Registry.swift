import HeraldCore

/// Changes delegates and event types.
extension Writer {
    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError) { try delegates.set(delegate) }

    func removeDelegate(_ key: DelegateKey, at time: Int64) throws(StoreError) {
        try delegates.remove(key, at: time)
        attempts.forget(key)
    }

    func setEventType(_ type: EventTypeRecord) throws(StoreError) { try values.set(type) }

    func removeEventType(_ type: String, app: AppKey) throws(StoreError) { try values.removeEventType(type, app: app) }
}
