import HeraldCore

/// Who is let in, and to what: `keys` and `apps`.
struct AccessTables {
    private let setKey, removeKey, setApp, markAppDeleted: Statement
    /// What an app leaves behind that nobody else removes.
    private let removeOfApp: [Statement]

    init(_ connection: Connection) throws(StoreError) {
        setKey = try Statement(
            connection,
            "INSERT OR REPLACE INTO keys (\(APIKey.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
        removeKey = try Statement(connection, "DELETE FROM keys WHERE id = ?1")
        setApp = try Statement(
            connection, "INSERT OR REPLACE INTO apps (\(App.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
        markAppDeleted = try Statement(connection, "UPDATE apps SET deleted_at = ?2, name = '' WHERE key = ?1")
        var removals: [Statement] = []
        for table in ["auth_status", "app_states", "answers"] {
            removals.append(try Statement(connection, "DELETE FROM \(table) WHERE app = ?1"))
        }
        removeOfApp = removals
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
        setKey.bind(9, key.requestsPerSecond.map(Int64.init))
        try setKey.run()
    }

    func removeKey(_ id: String) throws(StoreError) {
        removeKey.bind(1, id)
        try removeKey.run()
    }
}

extension AccessTables {
    func set(_ app: App) throws(StoreError) {
        setApp.bind(1, app.key.rawValue)
        setApp.bind(2, app.id)
        setApp.bind(3, app.settings.name)
        setApp.bind(4, app.settings.maxDelegates.map(Int64.init))
        setApp.bind(5, app.settings.eventsPerSecond.map(Int64.init))
        setApp.bind(6, app.createdAt)
        setApp.bind(7, app.updatedAt)
        setApp.bind(8, app.version)
        setApp.bind(9, app.settings.maxStoredBytes)
        try setApp.run()
    }

    func removeApp(_ key: AppKey, at time: Int64) throws(StoreError) {
        markAppDeleted.bind(1, key.rawValue)
        markAppDeleted.bind(2, time)
        try markAppDeleted.run()
        for statement in removeOfApp {
            statement.bind(1, key.rawValue)
            try statement.run()
        }
    }
}

extension App {
    static let columns =
        "key, id, name, max_delegates, events_per_second, created_at, updated_at, version, max_stored_bytes"

    init(_ row: Statement) {
        self.init(
            key: AppKey(rawValue: row.integer(0)), id: row.text(1),
            settings: Settings(
                name: row.text(2), maxDelegates: row.optionalInteger(3).map { Int($0) },
                eventsPerSecond: row.optionalInteger(4).map { Int($0) }, maxStoredBytes: row.optionalInteger(8)),
            createdAt: row.integer(5), updatedAt: row.integer(6), version: row.integer(7))
    }
}

extension APIKey {
    static let columns =
        "app, id, name, scopes, digest, created_at, expires_at, last_used_at, requests_per_second"

    init(_ row: Statement) throws(StoreError) {
        var scopes: [Scope] = []
        for text in try row.textList(3) { scopes.append(try known(Scope(rawValue: text), "scope", text)) }
        self.init(
            app: AppKey(rawValue: row.integer(0)), id: row.text(1), name: row.text(2), scopes: scopes,
            digest: row.bytes(4), createdAt: row.integer(5), expiresAt: row.optionalInteger(6),
            lastUsedAt: row.optionalInteger(7), requestsPerSecond: row.optionalInteger(8).map { Int($0) })
    }
}
