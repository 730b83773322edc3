/// Changes of access.
extension MemoryTransaction {
    func setKey(_ key: APIKey) { apply { $0.keys[key.id] = key } }

    func removeKey(_ id: String) { apply { $0.keys[id] = nil } }

    func setSession(_ session: Session) { apply { $0.sessions[session.digest] = session } }

    func removeSession(_ digest: [UInt8]) { apply { $0.sessions[digest] = nil } }

    func setApp(_ app: App) { apply { $0.set(app) } }

    func removeApp(_ key: AppKey, at time: Int64) { apply { $0.removeApp(key) } }

    func addAudit(_ entry: AuditEntry) { apply { $0.add(entry) } }
}
