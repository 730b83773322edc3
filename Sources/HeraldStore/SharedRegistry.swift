package import HeraldModel

/// Shared statements of the registry, of access and of the audit log.
package enum RegistryStatement: Int, CaseIterable, Sendable {
    case setDelegate, wipeDelegate, removeLanes, removeWaiting, removeReplays, removeStatistics, removeHeads,
        removeUnannounced, removeLeases, setEventType, removeEventType, setKey, removeKey, setSession, removeSession,
        setApp,
        markAppDeleted, removeStatuses, removeAppStates, removeAnswers, addAudit, lastAudit, countAudit, trimAuditOfApp,
        trimAudit, audit, deletedDelegateID, removeSomeWaiting, removeSomeStatuses, removeSomeAnswers

    func text(_ dialect: SQLDialect) -> String {
        switch self {
        case .setDelegate: DelegateColumns.table.upsert(on: "key") + " WHERE delegates.deleted_at IS NULL"
        case .wipeDelegate:
            """
            UPDATE delegates SET deleted_at = ?2, updated_at = ?2, \(DelegateColumns.table.wiping)
            WHERE key = ?1 AND deleted_at IS NULL
            """
        case .removeLanes: "DELETE FROM lanes WHERE delegate = ?1"
        case .removeWaiting: "DELETE FROM waiting WHERE delegate = ?1"
        case .removeReplays: "DELETE FROM replays WHERE delegate = ?1"
        case .removeStatistics: "DELETE FROM statistics WHERE delegate = ?1"
        case .removeHeads: "DELETE FROM \(dialect == .sqlite ? "attempt_heads" : "heads") WHERE delegate = ?1"
        case .removeUnannounced: "DELETE FROM unannounced WHERE delegate = ?1"
        case .removeLeases: "DELETE FROM leases WHERE delegate = ?1"
        case .setEventType: EventTypeColumns.table.upsert(on: "app, type")
        case .removeEventType: "DELETE FROM event_types WHERE app = ?1 AND type = ?2"
        case .setKey: KeyColumns.table.upsert(on: "id")
        case .removeKey: "DELETE FROM keys WHERE id = ?1"
        case .setSession: SessionColumns.table.upsert(on: "digest")
        case .removeSession: "DELETE FROM passes WHERE digest = ?1"
        case .setApp: AppColumns.table.upsert(on: "key")
        case .markAppDeleted: "UPDATE apps SET deleted_at = ?2, \(AppColumns.table.wiping) WHERE key = ?1"
        case .removeStatuses: "DELETE FROM auth_status WHERE app = ?1"
        case .removeAppStates: "DELETE FROM app_states WHERE app = ?1"
        case .removeAnswers: "DELETE FROM answers WHERE app = ?1"
        case .addAudit: AuditColumns.table.insert
        case .lastAudit: "SELECT max(id) FROM audit"
        case .countAudit: "SELECT app, count(*) FROM audit GROUP BY app"
        case .trimAuditOfApp:
            "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE app = ?1 ORDER BY id LIMIT ?2)"
        case .trimAudit: "DELETE FROM audit WHERE id IN (SELECT id FROM audit ORDER BY id LIMIT ?1)"
        case .audit: "SELECT \(StoredAuditEntry.columns) FROM audit WHERE id < ?1 ORDER BY id DESC LIMIT ?2"
        case .deletedDelegateID: "SELECT id FROM delegates WHERE key = ?1 AND deleted_at IS NOT NULL"
        case .removeSomeWaiting:
            """
            DELETE FROM waiting WHERE delegate = ?1 AND event IN
                (SELECT event FROM waiting WHERE delegate = ?1 ORDER BY event LIMIT ?2)
            """
        case .removeSomeStatuses:
            """
            DELETE FROM auth_status WHERE app = ?1 AND user_id IN
                (SELECT user_id FROM auth_status WHERE app = ?1 ORDER BY user_id LIMIT ?2)
            """
        case .removeSomeAnswers:
            """
            DELETE FROM answers WHERE app = ?1 AND key IN
                (SELECT key FROM answers WHERE app = ?1 ORDER BY key LIMIT ?2)
            """
        }
    }
}

/// Changes of the registry.
extension SharedTransaction {
    package func setDelegate(_ delegate: WebhookDelegate) throws(StoreError) {
        let changed = try change(.registry(.setDelegate), try DelegateColumns.table.values(of: delegate, sealer))
        if changed == 0 { throw .failed(reason: "delegate \(delegate.id) was deleted") }
    }

    package func removeDelegate(_ key: DelegateKey, at time: Int64) throws(StoreError) {
        try change(.registry(.wipeDelegate), [key, time, ColumnValue.blob([])])
        let removals: [RegistryStatement] = [
            .removeLanes, .removeWaiting, .removeReplays, .removeStatistics, .removeHeads, .removeUnannounced,
            .removeLeases,
        ]
        for removal in removals { try record(.registry(removal), [key]) }
        forgetAttempts(of: key)
    }

    package func removeWaiting(of key: DelegateKey, limit: Int) throws(StoreError) -> Int {
        try change(.registry(.removeSomeWaiting), [key, limit])
    }

    package func setEventType(_ type: EventTypeRecord) throws(StoreError) {
        try change(.registry(.setEventType), try EventTypeColumns.table.values(of: type))
    }

    package func removeEventType(_ type: String, app: AppKey) throws(StoreError) {
        try change(.registry(.removeEventType), [app, type])
    }
}

/// Changes of access.
extension SharedTransaction {
    package func setKey(_ key: APIKey) throws(StoreError) {
        try change(.registry(.setKey), try KeyColumns.table.values(of: key))
    }

    package func removeKey(_ id: String) throws(StoreError) { try change(.registry(.removeKey), [id]) }

    package func setSession(_ session: Session) throws(StoreError) {
        try change(.registry(.setSession), try SessionColumns.table.values(of: session))
    }

    package func removeSession(_ digest: [UInt8]) throws(StoreError) {
        try change(.registry(.removeSession), [digest])
    }

    package func setApp(_ app: App) throws(StoreError) {
        try change(.registry(.setApp), try AppColumns.table.values(of: app))
    }

    package func removeApp(_ key: AppKey, at time: Int64) throws(StoreError) {
        try change(.registry(.markAppDeleted), [key, time])
        let removals: [RegistryStatement] = [.removeStatuses, .removeAppStates, .removeAnswers]
        for removal in removals { try record(.registry(removal), [key]) }
    }

    package func removeValues(of app: AppKey, limit: Int) throws(StoreError) -> Int {
        let values: [any ColumnConvertible] = [app, limit]
        let statuses = try change(.registry(.removeSomeStatuses), values)
        return max(statuses, try change(.registry(.removeSomeAnswers), values))
    }

    package func addAudit(_ entry: AuditEntry) throws(StoreError) {
        try record(.registry(.addAudit), try AuditColumns.table.values(of: entry))
    }

    package func trimAudit(from id: Int64) throws(StoreError) -> Int64 {
        let last = try first(.registry(.lastAudit)) { $0.figure(0) } ?? 0
        guard last >= id else { return id }
        let removed = try trim(
            to: AuditEntry.limit, .registry(.countAudit), ofApp: .registry(.trimAuditOfApp),
            oldest: .registry(.trimAudit))
        return removed.next(after: last, slack: AuditEntry.slack)
    }

    /// Removes the rows of a table beyond its limit.
    /// - Parameters:
    ///   - counts: counts the rows of each app.
    ///   - ofApp: removes the oldest rows of app ?1: ?2 of them.
    ///   - oldest: removes the oldest rows of all apps: ?1 of them.
    @discardableResult
    func trim(
        to limit: Int64, _ counts: SharedStatement, ofApp: SharedStatement, oldest: SharedStatement
    ) throws(StoreError) -> TableTrim {
        let shares = try rows(counts, []) {
            TableTrim.Share(app: AppKey(rawValue: $0.integer(0)), rows: $0.figure(1))
        }
        let trim = TableTrim(shares, limit: limit)
        for share in trim.shares { try record(ofApp, [share.app, share.rows]) }
        if trim.oldest > 0 { try record(oldest, [trim.oldest]) }
        return trim
    }
}

/// Reads the registry and the audit log.
extension SharedReader {
    package func deletedDelegateID(_ key: DelegateKey) throws(StoreError) -> String? {
        try first(.registry(.deletedDelegateID), [key]) { $0.text(0) }
    }

    package func audit(before id: Int64, limit: Int) throws(StoreError) -> [StoredAuditEntry] {
        try rows(.registry(.audit), [id, limit])
    }
}
