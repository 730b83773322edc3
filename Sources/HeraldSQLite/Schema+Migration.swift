import HeraldCore

extension Schema {
    /// Migrates the database to the latest version, one transaction for each step, so that a crash leaves a complete
    /// version.
    static func migrate(_ connection: Connection, _ migrations: [String] = Schema.migrations) throws(StoreError) {
        let found = Int(try connection.integer("PRAGMA user_version"))
        for version in migrations.indices.dropFirst(found) {
            try connection.transaction { () throws(StoreError) in
                try connection.execute(migrations[version])
                try connection.execute("PRAGMA user_version = \(version + 1)")
            }
        }
    }
}
