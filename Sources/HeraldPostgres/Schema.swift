import HeraldStore

/// The schema of the database, in the PostgreSQL schema `herald`, and the migration from each version to the next.
///
/// `meta.version` is the version of the tables. A release appends to the list of migrations and never changes existing entries.
/// It works on two versions of the schema: with and without its contracting migration (`Migration.Step`).
enum Schema {
    /// SQLSTATE of our own: something has changed since it was read.
    static let outdated = "HR001"

    /// The key of the advisory lock under which the schema is changed.
    static let migrationLock: Int64 = 0x4852_4c44_0001
    /// Held by `herald migrate` while it reads from the database or writes to it.
    static let moveLock: Int64 = 0x4852_4c44_0004
    /// The lock that gives events their order.
    static let orderLock: Int64 = 0x4852_4c44_0003
    /// The lock that sessions share which record the progress of deliveries. It comes before their rows, and before the lock of the
    /// order: who has it alone finds no such row locked.
    static let progressLock: Int64 = 0x4852_4c44_0005

    /// The first half of the key of the lock that sessions share whose release knows the schema up to a version; the second one is
    /// that version.
    static let versionLock: Int32 = 0x4852_4c13
    /// The first half of the key of the lock of a round of attempts; the second one is its number.
    static let roundLock: Int32 = 0x48_524c

    /// The version that the first migration makes. No release has made a schema of a lower one.
    static let first = 14

    /// The version that a list of migrations makes.
    static func version(after migrations: [Migration.Step] = migrations) -> Int { first + migrations.count - 1 }

    static let migrations: [Migration.Step] = [
        """
        \(logTables)
        \(attemptTables)
        \(SharedTables.delegates(.postgres))
        \(clusterTables)
        \(deliveryTables)
        \(SharedTables.pending(.postgres))
        \(SharedTables.values(.postgres))
        \(accessTables)
        \(submissionTables)
        \(appendFunction)
        """
    ]
}
