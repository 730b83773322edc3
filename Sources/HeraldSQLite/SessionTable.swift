import HeraldCore

/// Sessions and links: `passes`.
struct SessionTable {
    private let set, remove: Statement

    init(_ connection: Connection) throws(StoreError) {
        set = try Statement(
            connection, "INSERT OR REPLACE INTO passes (\(Session.columns)) VALUES (?1, ?2, ?3, ?4, ?5)")
        remove = try Statement(connection, "DELETE FROM passes WHERE digest = ?1")
    }

    func set(_ session: Session) throws(StoreError) {
        set.bind(1, copying: session.digest)
        set.bind(2, Int64(session.kind.rawValue))
        set.bind(3, session.app.rawValue)
        set.bind(4, session.key)
        set.bind(5, session.expiresAt)
        try set.run()
    }

    func remove(_ digest: [UInt8]) throws(StoreError) { try remove.run(1, lent: digest) }
}

extension Session {
    static let columns = "digest, kind, app, key, expires_at"

    init(_ row: Statement) throws(StoreError) {
        let kind = Int(row.integer(1))
        self.init(
            digest: row.bytes(0), kind: try known(Kind(rawValue: kind), "kind of session", String(kind)),
            app: AppKey(rawValue: row.integer(2)), key: row.text(3), expiresAt: row.integer(4))
    }
}
