/// The port for access inside a transaction: apps, keys and sessions, which are all in memory from the start, and the
/// audit log.
package protocol AccessTransaction: AnyObject {
    /// Adds or replaces.
    func setKey(_ key: APIKey) throws(StoreError)
    /// Ignores an unknown id.
    func removeKey(_ id: String) throws(StoreError)
    /// Adds.
    func setSession(_ session: Session) throws(StoreError)
    /// By the SHA-256 of its text. Ignores an unknown one.
    func removeSession(_ digest: [UInt8]) throws(StoreError)
    /// Adds or replaces.
    func setApp(_ app: App) throws(StoreError)
    /// Its key is not reused. Deletes its auth statuses, its app state and its stored responses; everything else,
    /// except its events, is deleted separately.
    func removeApp(_ key: AppKey, at time: Int64) throws(StoreError)
    /// Removes auth statuses and stored responses of an app, at most `limit` of each.
    /// - Returns: the larger one of both numbers.
    func removeValues(of app: AppKey, limit: Int) throws(StoreError) -> Int
    /// Adds an entry to the audit log.
    func addAudit(_ entry: AuditEntry) throws(StoreError)
    /// Removes entries of the audit log beyond `AuditEntry.limit` (`TableTrim`), once an entry has this id or a larger one.
    /// - Returns: the id for the next call.
    func trimAudit(from id: Int64) throws(StoreError) -> Int64
}

/// Reads the audit log.
package protocol AccessReader: AnyObject {
    /// The audit log of all apps, newest first: entries with a smaller id than `id`.
    func audit(before id: Int64, limit: Int) throws(StoreError) -> [StoredAuditEntry]
}
