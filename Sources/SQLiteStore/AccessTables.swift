import Herald

/// Who is let in: `keys`.
struct AccessTables {
    private let setKey, removeKey: Statement

    init(_ connection: Connection) throws(StoreError) {
        setKey = try Statement(
            connection,
            "INSERT OR REPLACE INTO keys (\(APIKey.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        removeKey = try Statement(connection, "DELETE FROM keys WHERE id = ?1")
    }

    func set(_ key: APIKey) throws(StoreError) {
        setKey.bind(1, key.app.rawValue)
        setKey.bind(2, key.id)
        setKey.bind(3, key.name)
        setKey.bind(4, TextList.encode(key.scopes.map(\.rawValue)))
        setKey.bind(5, copying: key.digest)
        setKey.bind(6, key.createdAt)
        setKey.bind(7, key.expiresAt)
        setKey.bind(8, key.lastUsedAt)
        try setKey.run()
    }

    func removeKey(_ id: String) throws(StoreError) {
        removeKey.bind(1, id)
        try removeKey.run()
    }
}

extension APIKey {
    static let columns = "app, id, name, scopes, digest, created_at, expires_at, last_used_at"

    init(_ row: Statement) throws(StoreError) {
        var scopes: [Scope] = []
        for text in try row.textList(3) { scopes.append(try known(Scope(rawValue: text), "scope", text)) }
        self.init(
            app: AppKey(rawValue: row.integer(0)), id: row.text(1), name: row.text(2), scopes: scopes,
            digest: row.bytes(4), createdAt: row.integer(5), expiresAt: row.optionalInteger(6),
            lastUsedAt: row.optionalInteger(7))
    }
}
