import HeraldCore

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

private enum SessionColumns {
    typealias Of<Value> = Column<Session, Value>

    static let digest = Of("digest", .blob) { $0.digest }
    static let kind = Of("kind", .number) { $0.kind }
    static let app = Of("app", .integer) { $0.app.rawValue }
    static let key = Of("key", .text) { $0.key }
    static let expiresAt = Of("expires_at", .integer) { $0.expiresAt }

    static let table = RowTable<Session>("passes", [digest, kind, app, key, expiresAt])
}

extension Session {
    static let columns = SessionColumns.table.list

    init(_ statement: Statement) throws(StoreError) {
        typealias Columns = SessionColumns
        let row = Columns.table.row(statement)
        self.init(
            digest: try row(Columns.digest), kind: try row(Columns.kind), app: AppKey(rawValue: try row(Columns.app)),
            key: try row(Columns.key), expiresAt: try row(Columns.expiresAt))
    }
}
