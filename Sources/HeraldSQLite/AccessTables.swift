import HeraldCore
import HeraldStore

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
            connection, "UPDATE apps SET deleted_at = ?2, \(AppColumns.table.wiping(noBytes: "x''")) WHERE key = ?1")
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
