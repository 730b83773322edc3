import HeraldCore

/// API keys and apps: the tables `keys` and `apps`.
struct AccessTables {
    private let setKey, removeKey, setApp, markAppDeleted: Statement
    /// Deletes the remaining rows of a deleted app.
    private let removeOfApp: [Statement]

    init(_ connection: Connection) throws(StoreError) {
        setKey = try Statement(connection, KeyColumns.table.replace)
        removeKey = try Statement(connection, "DELETE FROM keys WHERE id = ?1")
        setApp = try Statement(connection, AppColumns.table.replace)
        markAppDeleted = try Statement(
            connection, "UPDATE apps SET deleted_at = ?2, \(AppColumns.table.wiping) WHERE key = ?1")
        var removals: [Statement] = []
        for table in ["auth_status", "app_states", "answers"] {
            removals.append(try Statement(connection, "DELETE FROM \(table) WHERE app = ?1"))
        }
        removeOfApp = removals
    }

    func set(_ key: APIKey) throws(StoreError) {
        try KeyColumns.table.bind(key, to: setKey)
        try setKey.run()
    }

    func removeKey(_ id: String) throws(StoreError) {
        removeKey.bind(1, id)
        try removeKey.run()
    }

    func set(_ app: App) throws(StoreError) {
        try AppColumns.table.bind(app, to: setApp)
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

private enum AppColumns {
    typealias Of<Value> = Column<App, Value>

    static let key = Of("key", .integer) { $0.key.rawValue }
    static let id = Of("id", .text) { $0.id }
    static let name = Of("name", .text, wiped: .text("")) { $0.settings.name }
    static let maxDelegates = Of("max_delegates", .optionalInt) { $0.settings.maxDelegates }
    static let eventsPerSecond = Of("events_per_second", .optionalInt) { $0.settings.eventsPerSecond }
    static let maxStoredBytes = Of("max_stored_bytes", .optionalInteger) { $0.settings.maxStoredBytes }
    static let createdAt = Of("created_at", .integer) { $0.createdAt }
    static let updatedAt = Of("updated_at", .integer) { $0.updatedAt }
    static let version = Of("version", .integer) { $0.version }

    static let table = RowTable<App>(
        "apps", [key, id, name, maxDelegates, eventsPerSecond, maxStoredBytes, createdAt, updatedAt, version])
}

extension App {
    static let columns = AppColumns.table.list

    init(_ statement: Statement) throws(StoreError) {
        typealias Columns = AppColumns
        let row = Columns.table.row(statement)
        self.init(
            key: AppKey(rawValue: try row(Columns.key)), id: try row(Columns.id),
            settings: Settings(
                name: try row(Columns.name), maxDelegates: try row(Columns.maxDelegates),
                eventsPerSecond: try row(Columns.eventsPerSecond),
                maxStoredBytes: try row(Columns.maxStoredBytes)),
            createdAt: try row(Columns.createdAt), updatedAt: try row(Columns.updatedAt),
            version: try row(Columns.version))
    }
}

private enum KeyColumns {
    typealias Of<Value> = Column<APIKey, Value>

    static let app = Of("app", .integer) { $0.app.rawValue }
    static let id = Of("id", .text) { $0.id }
    static let name = Of("name", .text) { $0.name }
    static let scopes = Of("scopes", .list({ $0.rawValue }, { Scope(rawValue: $0) })) { $0.scopes }
    static let digest = Of("digest", .blob) { $0.digest }
    static let createdAt = Of("created_at", .integer) { $0.createdAt }
    static let expiresAt = Of("expires_at", .optionalInteger) { $0.expiresAt }
    static let lastUsedAt = Of("last_used_at", .optionalInteger) { $0.lastUsedAt }
    static let requestsPerSecond = Of("requests_per_second", .optionalInt) { $0.requestsPerSecond }

    static let table = RowTable<APIKey>(
        "keys", [app, id, name, scopes, digest, createdAt, expiresAt, lastUsedAt, requestsPerSecond])
}

extension APIKey {
    static let columns = KeyColumns.table.list

    init(_ statement: Statement) throws(StoreError) {
        typealias Columns = KeyColumns
        let row = Columns.table.row(statement)
        self.init(
            app: AppKey(rawValue: try row(Columns.app)), id: try row(Columns.id), name: try row(Columns.name),
            scopes: try row(Columns.scopes), digest: try row(Columns.digest),
            createdAt: try row(Columns.createdAt), expiresAt: try row(Columns.expiresAt),
            lastUsedAt: try row(Columns.lastUsedAt), requestsPerSecond: try row(Columns.requestsPerSecond))
    }
}
