import Herald
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Schema migrations")
struct MigrationTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/herald.db" }

    private func tables(_ connection: Connection) throws -> [String] {
        try Statement(connection, "SELECT name FROM sqlite_schema ORDER BY name").rows { $0.text(0) }
    }

    @Test("a database of every older version is brought up to date", arguments: 0...Schema.migrations.count)
    func upgrade(from version: Int) throws {
        do {
            let connection = try newDatabase(path)
            try connection.execute("PRAGMA application_id = \(Schema.applicationID)")
            try connection.set("journal_mode", "wal")
            try Schema.migrate(connection, Array(Schema.migrations.prefix(version)))
            #expect(try connection.integer("PRAGMA user_version") == Int64(version))
            _ = try connection.checkpoint(.truncate)
        }
        let store = try SQLiteStore(folder: folder.path)
        #expect(try store.recover().head == 0)
        store.close()
    }

    @Test("a script that fails in the middle leaves the version before it")
    func failing() throws {
        let connection = try newDatabase(path)
        let scripts = ["CREATE TABLE a (x)", "CREATE TABLE b (x); CREATE TABLE a (x)"]
        #expect(throws: StoreError.self) { try Schema.migrate(connection, scripts) }
        #expect(try tables(connection) == ["a"])
        #expect(try connection.integer("PRAGMA user_version") == 1)
        try Schema.migrate(connection, [scripts[0], "CREATE TABLE b (x)"])
        #expect(try tables(connection) == ["a", "b"])
        #expect(try connection.integer("PRAGMA user_version") == 2)
    }

    @Test("a kill in the middle of a script leaves the version before it")
    func kill() throws {
        let connection = try newDatabase(path)
        try connection.set("journal_mode", "wal")
        try Schema.migrate(connection, ["CREATE TABLE a (x)"])
        try connection.execute("PRAGMA cache_size = 1")
        try connection.execute("BEGIN IMMEDIATE; CREATE TABLE b (x); PRAGMA user_version = 2")
        // Enough to spill uncommitted pages to the disk.
        try connection.execute(
            """
            WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 100)
            INSERT INTO b SELECT randomblob(4000) FROM n
            """)
        let copy = folder.path + "/copy"
        copyAsAfterKill(folder.path, to: copy)

        let restarted = try Connection(path: copy + "/herald.db", .readWrite)
        #expect(try tables(restarted) == ["a"])
        #expect(try restarted.integer("PRAGMA user_version") == 1)
    }
}
