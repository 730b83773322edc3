import HeraldCore

extension Schema {
    /// Migrates the database to the latest version, one transaction for each step, so that a crash leaves a complete
    /// version.
    static func migrate(_ connection: Connection, _ migrations: [String] = Schema.migrations) throws(StoreError) {
        let found = try version(connection, upTo: migrations.count)
        for version in migrations.indices.dropFirst(found) {
            do throws(StoreError) {
                try connection.transaction { () throws(StoreError) in
                    try connection.execute(migrations[version])
                    try connection.execute("PRAGMA user_version = \(version + 1)")
                }
            } catch {
                // The tables are not those of the version: a later one has made them, or another program.
                guard case .failed(let reason) = error else { throw error }
                throw .corrupt(
                    path: connection.path, reason: "its tables are not those of version \(version): \(reason)")
            }
        }
    }

    /// The schema version of a database.
    /// - Throws: `.newer` for a version of a later release, `.corrupt` for one that no release has.
    static func version(
        _ connection: Connection, upTo supported: Int = Schema.migrations.count
    ) throws(StoreError) -> Int {
        let found = Int(try connection.integer("PRAGMA user_version"))
        guard found >= 0 else {
            throw .corrupt(path: connection.path, reason: "its schema version is \(found)")
        }
        guard found <= supported else { throw .newer(path: connection.path, found: found, supported: supported) }
        return found
    }
}
