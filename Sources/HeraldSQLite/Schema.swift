import HeraldStore

/// The schema of `herald.db`, and the migration from each version to the next.
///
/// `application_id` marks the file as Herald's; `user_version` is the version of its tables. A release appends to the list of
/// migrations and never changes existing entries.
enum Schema {
    /// "HRLD".
    static let applicationID: Int64 = 0x4852_4c44

    /// The version that the first migration makes. No release has made a database of a lower one.
    static let first = 27

    /// The version that a list of migrations makes.
    static func version(after migrations: ArraySlice<String> = migrations[...]) -> Int {
        migrations.isEmpty ? 0 : first + migrations.count - 1
    }

    static let migrations = [
        """
        \(logTables)
        \(attemptTables)
        \(SharedTables.delegates(.sqlite))
        \(deliveryTables)
        \(SharedTables.pending(.sqlite))
        \(SharedTables.values(.sqlite))
        \(accessTables)
        """
    ]
}
