import HeraldCore

/// The audit log: `audit`.
struct AuditTable {
    private let add, removeOld: Statement

    init(_ connection: Connection) throws(StoreError) {
        add = try Statement(
            connection,
            "INSERT INTO audit (app, time, actor, address, action, target) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        removeOld = try Statement(
            connection, "DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - \(AuditEntry.limit)")
    }

    func add(_ entry: AuditEntry) throws(StoreError) {
        add.bind(1, entry.app.rawValue)
        add.bind(2, entry.time)
        add.bind(3, entry.provenance.actor)
        add.bind(4, entry.provenance.address)
        add.bind(5, entry.provenance.action)
        add.bind(6, entry.target)
        try add.run()
        try removeOld.run()
    }
}

extension StoredAuditEntry {
    static let columns = "id, app, time, actor, address, action, target"

    init(_ row: Statement) {
        let provenance = Provenance(actor: row.text(3), address: row.text(4), action: row.text(5))
        self.init(
            id: row.integer(0),
            entry: AuditEntry(
                provenance, app: AppKey(rawValue: row.integer(1)), target: row.optionalText(6), time: row.integer(2)))
    }
}
