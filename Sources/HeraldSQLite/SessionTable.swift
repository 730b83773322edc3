import HeraldCore
import HeraldStore

/// Sessions and links: the table `passes`.
struct SessionTable {
    private let set, remove: Statement

    init(_ connection: Connection) throws(StoreError) {
        set = try Statement(connection, SessionColumns.table.replace)
        remove = try Statement(connection, "DELETE FROM passes WHERE digest = ?1")
    }

    func set(_ session: Session) throws(StoreError) {
        try SessionColumns.table.bind(session, to: set)
        try set.run()
    }

    func remove(_ digest: [UInt8]) throws(StoreError) { try remove.run(1, lent: digest) }
}
