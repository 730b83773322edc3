import HeraldRuntime

/// Changes are noted in the transaction that makes them: none is without its entry, and no entry is of what was not done.
extension LogWriter {
    /// - Parameter target: the id of what was changed; `nil`: all delegates of the app.
    func note(
        _ provenance: Provenance?, _ app: AppKey, target: String?, _ transaction: any StoreTransaction
    ) throws(StoreError) {
        guard let provenance else { return }
        try transaction.addAudit(AuditEntry(provenance, app: app, target: target, time: clock.wall()))
    }
}
