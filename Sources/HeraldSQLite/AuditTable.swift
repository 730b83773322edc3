import HeraldCore
import HeraldStore

/// The audit log: the table `audit`.
struct AuditTable {
    private let add, removeOld: Statement

    init(_ connection: Connection) throws(StoreError) {
        add = try Statement(connection, AuditColumns.table.insert("?"))
        removeOld = try Statement(
            connection, "DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - \(AuditEntry.limit)")
    }

    func add(_ entry: AuditEntry) throws(StoreError) {
        try AuditColumns.table.bind(entry, to: add)
        try add.run()
    }

    func trim() throws(StoreError) { try removeOld.run() }
}
