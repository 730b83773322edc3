import HeraldCore

/// Changes apps, keys and sessions, and appends to the audit log.
extension Writer {
    func setKey(_ key: APIKey) throws(StoreError) { try access.set(key) }

    func removeKey(_ id: String) throws(StoreError) { try access.removeKey(id) }

    func setSession(_ session: Session) throws(StoreError) { try sessions.set(session) }

    func removeSession(_ digest: [UInt8]) throws(StoreError) { try sessions.remove(digest) }

    func setApp(_ app: App) throws(StoreError) { try access.set(app) }

    func removeApp(_ key: AppKey, at time: Int64) throws(StoreError) { try access.removeApp(key, at: time) }

    func addAudit(_ entry: AuditEntry) throws(StoreError) { try audit.add(entry) }

    func trimAudit() throws(StoreError) { try audit.trim() }
}
