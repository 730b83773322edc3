import HeraldCore

/// Sessions and links: `passes`.
struct PassTable {
    private let set, remove: Statement

    init(_ connection: Connection) throws(StoreError) {
        set = try Statement(
            connection, "INSERT OR REPLACE INTO passes (\(Pass.columns)) VALUES (?1, ?2, ?3, ?4, ?5)")
        remove = try Statement(connection, "DELETE FROM passes WHERE digest = ?1")
    }

    func set(_ pass: Pass) throws(StoreError) {
        set.bind(1, copying: pass.digest)
        set.bind(2, Int64(pass.kind.rawValue))
        set.bind(3, pass.app.rawValue)
        set.bind(4, pass.key)
        set.bind(5, pass.expiresAt)
        try set.run()
    }

    func remove(_ digest: [UInt8]) throws(StoreError) { try remove.run(1, lent: digest) }
}

extension Pass {
    static let columns = "digest, kind, app, key, expires_at"

    init(_ row: Statement) throws(StoreError) {
        let kind = Int(row.integer(1))
        self.init(
            digest: row.bytes(0), kind: try known(Kind(rawValue: kind), "kind of pass", String(kind)),
            app: AppKey(rawValue: row.integer(2)), key: row.text(3), expiresAt: row.integer(4))
    }
}
