/// The port for access inside a transaction: apps, keys and sessions, which memory has whole from the start, and the audit
/// log.
package protocol AccessTransaction: AnyObject {
    /// Adds or replaces.
    func setKey(_ key: APIKey) throws(StoreError)
    /// One that is not there is no error.
    func removeKey(_ id: String) throws(StoreError)
    /// Adds.
    func setSession(_ session: Session) throws(StoreError)
    /// By the SHA-256 of its text. One that is not there is no error.
    func removeSession(_ digest: [UInt8]) throws(StoreError)
    /// Adds or replaces.
    func setApp(_ app: App) throws(StoreError)
    /// Its key is not used again. Forgets its auth statuses, its app state and its answers; whatever else it has is removed by
    /// itself, but for its events.
    func removeApp(_ key: AppKey, at time: Int64) throws(StoreError)
    /// Adds to the audit log, whose oldest entries go when there are more than `AuditEntry.limit`.
    func addAudit(_ entry: AuditEntry) throws(StoreError)
}

/// Reads the audit log.
package protocol AccessReader: AnyObject {
    /// The audit log of all apps, newest first: entries with a smaller id than `id`.
    func audit(before id: Int64, limit: Int) throws(StoreError) -> [StoredAuditEntry]
}
