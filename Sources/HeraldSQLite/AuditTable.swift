import HeraldCore

/// The audit log: the table `audit`.
struct AuditTable {
    private let add, removeOld: Statement

    init(_ connection: Connection) throws(StoreError) {
        add = try Statement(connection, "INSERT \(AuditColumns.table.insert)")
        removeOld = try Statement(
            connection, "DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - \(AuditEntry.limit)")
    }

    func add(_ entry: AuditEntry) throws(StoreError) {
        try AuditColumns.table.bind(entry, to: add)
        try add.run()
    }

    func trim() throws(StoreError) { try removeOld.run() }
}

/// All columns but `id`, which SQLite assigns.
private enum AuditColumns {
    typealias Of<Value> = Column<AuditEntry, Value>

    static let app = Of("app", .integer) { $0.app.rawValue }
    static let time = Of("time", .integer) { $0.time }
    static let actor = Of("actor", .text) { $0.provenance.actor }
    static let address = Of("address", .text) { $0.provenance.address }
    static let action = Of("action", .text) { $0.provenance.action }
    static let target = Of("target", .optionalText) { $0.target }

    static let table = RowTable<AuditEntry>("audit", [app, time, actor, address, action, target])
}

extension StoredAuditEntry {
    static let columns = "\(AuditColumns.table.list), id"

    init(_ statement: Statement) throws(StoreError) {
        typealias Columns = AuditColumns
        let row = Columns.table.row(statement)
        let provenance = Provenance(
            actor: try row(Columns.actor), address: try row(Columns.address), action: try row(Columns.action))
        self.init(
            id: statement.integer(Int32(Columns.table.columns.count)),
            entry: AuditEntry(
                provenance, app: AppKey(rawValue: try row(Columns.app)), target: try row(Columns.target),
                time: try row(Columns.time)))
    }
}
