/// The port for the registry inside a transaction: delegates and event types, which memory has whole from the start.
package protocol RegistryTransaction: AnyObject {
    /// A new delegate, or the next version of one (same `key`). `StoreError.failed` when that was deleted, or when
    /// another delegate of the app has the URL, as far as the store can read it.
    /// - Precondition: no other delegate of the app has the URL; the registry sees to it.
    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError)
    /// Deletes the delegate with its lane, its waiting deliveries, its replays and its statistics. Its attempts stay, under
    /// its id, without its secrets and headers.
    func removeDelegate(_ key: DelegateKey, at time: Int64) throws(StoreError)
    /// Adds or replaces.
    func setEventType(_ type: EventTypeRecord) throws(StoreError)
    /// One that is not there is no error.
    func removeEventType(_ type: String, app: AppKey) throws(StoreError)
}

/// Reads what memory has no more of delegates.
package protocol RegistryReader: AnyObject {
    /// Delegates that were deleted, by key: the id under which they were known.
    func deletedDelegateID(_ key: DelegateKey) throws(StoreError) -> String?
}
