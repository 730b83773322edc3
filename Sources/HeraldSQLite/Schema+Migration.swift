import HeraldCore

extension Schema {
    /// Brings the file to the last version, one transaction for each step: a crash leaves one version or the next.
    static func migrate(_ connection: Connection, _ migrations: [String] = Schema.migrations) throws(StoreError) {
        let found = Int(try connection.integer("PRAGMA user_version"))
        for version in migrations.indices.dropFirst(found) {
            do {
                try connection.execute("BEGIN IMMEDIATE")
                try connection.execute(migrations[version])
                try connection.execute("PRAGMA user_version = \(version + 1)")
                try connection.execute("COMMIT")
            } catch {
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                throw error
            }
        }
    }
}
