import HeraldModel

extension Schema {
    /// Migrates the database to the latest version, one transaction for each step, so that a crash leaves a complete
    /// version.
    static func migrate(_ connection: Connection, _ migrations: [String] = Schema.migrations) throws(StoreError) {
        let found = try version(connection, migrations)
        for step in migrations.indices.dropFirst(found > 0 ? found - first + 1 : 0) {
            do throws(StoreError) {
                try connection.transaction { () throws(StoreError) in
                    try connection.execute(migrations[step])
                    try connection.execute("PRAGMA user_version = \(version(after: migrations[...step]))")
                }
            } catch {
                // The tables are not those of the version: a later one has made them, or another program.
                guard case .failed(let reason) = error else { throw error }
                throw .corrupt(
                    path: connection.path,
                    reason: "its tables are not those of version \(version(after: migrations[..<step])): \(reason)")
            }
        }
    }

    /// The schema version of a database; 0 if it has no tables yet.
    /// - Throws: `.newer` for a version of a later release, `.older` for one that no migration begins with, `.corrupt` for one
    ///   that no database can have.
    static func version(
        _ connection: Connection, _ migrations: [String] = Schema.migrations
    ) throws(StoreError) -> Int {
        let found = Int(try connection.integer("PRAGMA user_version"))
        let supported = version(after: migrations[...])
        guard found >= 0 else {
            throw .corrupt(path: connection.path, reason: "its schema version is \(found)")
        }
        guard found == 0 || found >= first else { throw .older(path: connection.path, found: found, supported: first) }
        guard found <= supported else { throw .newer(path: connection.path, found: found, supported: supported) }
        return found
    }
}
