import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

@Suite("Schema migrations")
struct MigrationTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/herald.db" }

    private func tables(_ connection: Connection) throws -> [String] {
        try Statement(connection, "SELECT name FROM sqlite_schema ORDER BY name").rows { $0.text(0) }
    }

    @Test("the migrations after the first one are applied to a database of each version, and keep its content")
    func upgrade() throws {
        let later = Schema.migrations + ["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y"]
        for count in Schema.migrations.count...later.count {
            let path = "\(folder.path)/\(count).db"
            let connection = try newDatabase(path)
            try Schema.migrate(connection, Array(later.prefix(count)))
            #expect(try connection.integer("PRAGMA user_version") == Int64(Schema.first + count - 1))
            try connection.execute("INSERT INTO progress VALUES (7)")
            try Schema.migrate(connection, later)
            #expect(try connection.integer("PRAGMA user_version") == Int64(Schema.version(after: later[...])))
            #expect(try connection.integer("SELECT max(settled) FROM progress") == 7)
            #expect(try tables(connection).contains("a"))
        }
    }

    @Test("no column has a default, which would hide that a statement forgets it")
    func defaults() throws {
        let connection = try newDatabase(path)
        try Schema.migrate(connection)
        let columns = try Statement(
            connection,
            """
            SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
            WHERE t.type = 'table' AND c.dflt_value IS NOT NULL
            """
        ).rows { $0.text(0) }
        #expect(columns.isEmpty)
    }

    @Test("an empty database of Herald gets its tables when it is opened")
    func empty() throws {
        do {
            let connection = try newDatabase(path)
            try connection.execute("PRAGMA application_id = \(Schema.applicationID)")
            try connection.set("journal_mode", "wal")
            _ = try connection.checkpoint(.truncate)
        }
        let store = try SQLiteStore(folder: folder.path)
        #expect(try store.recover().head == 0)
        store.close()
    }

    @Test("a script that fails halfway leaves the previous version")
    func failing() throws {
        let connection = try newDatabase(path)
        let scripts = ["CREATE TABLE a (x)", "CREATE TABLE b (x); CREATE TABLE a (x)"]
        #expect(throws: StoreError.self) { try Schema.migrate(connection, scripts) }
        #expect(try tables(connection) == ["a"])
        #expect(try connection.integer("PRAGMA user_version") == Int64(Schema.first))
        try Schema.migrate(connection, [scripts[0], "CREATE TABLE b (x)"])
        #expect(try tables(connection) == ["a", "b"])
        #expect(try connection.integer("PRAGMA user_version") == Int64(Schema.first) + 1)
    }

    @Test("a kill during a script leaves the previous version")
    func kill() throws {
        let connection = try newDatabase(path)
        try connection.set("journal_mode", "wal")
        try Schema.migrate(connection, ["CREATE TABLE a (x)"])
        try connection.execute("PRAGMA cache_size = 1")
        try connection.execute("BEGIN IMMEDIATE; CREATE TABLE b (x); PRAGMA user_version = \(Schema.first + 1)")
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
        #expect(try restarted.integer("PRAGMA user_version") == Int64(Schema.first))
    }
}
