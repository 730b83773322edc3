/// The port for the registry inside a transaction: delegates, which are all in memory from the start, and event types,
/// of which memory has summaries.
package protocol RegistryTransaction: AnyObject {
    /// Stores a new delegate, or the next version of one (same `key`). Throws `StoreError.failed` if it was deleted, or
    /// if another delegate of the app has the URL, as far as the store can read it.
    /// - Precondition: no other delegate of the app has the URL; the registry ensures that.
    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError)
    /// Deletes the delegate with its lane, its waiting deliveries, its replays and its statistics. Its attempts stay,
    /// with its id, without its secrets and headers.
    func removeDelegate(_ key: DelegateKey, at time: Int64) throws(StoreError)
    /// Removes the waiting and ended deliveries of a delegate, those of the earliest events first. They are as many as the log has
    /// events, so their removal takes several transactions.
    /// - Returns: their number, at most `limit`.
    func removeWaiting(of key: DelegateKey, limit: Int) throws(StoreError) -> Int
    /// Adds or replaces.
    func setEventType(_ type: EventTypeRecord) throws(StoreError)
    /// Ignores an unknown type.
    func removeEventType(_ type: String, app: AppKey) throws(StoreError)
}

/// Reads data of delegates that is not in memory.
package protocol RegistryReader: AnyObject {
    /// The event types of an app with these names, in the same order; without those that do not exist.
    func eventTypes(_ names: [String], app: AppKey) throws(StoreError) -> [EventTypeRecord]
    /// The id of a deleted delegate, by key.
    func deletedDelegateID(_ key: DelegateKey) throws(StoreError) -> String?
}
