import HeraldCore
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

    @Test("a database of every older version is migrated", arguments: 0...Schema.migrations.count)
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

    @Test("the content of a version 1 database is complete afterwards")
    func contentOfVersion1() throws {
        do {
            let connection = try newDatabase(path)
            try connection.execute("PRAGMA application_id = \(Schema.applicationID)")
            try connection.set("journal_mode", "wal")
            try Schema.migrate(connection, [Schema.migrations[0]])
            try connection.execute(
                """
                INSERT INTO events VALUES (1, 1, 'e1', 'order.created', 'order:1', 1000, CAST('{"n":1}' AS BLOB)),
                    (2, 1, 'e2', 'order.created', NULL, 2000, CAST('2' AS BLOB));
                INSERT INTO delegates VALUES
                    (1, 1, 'dlg_1', 'paused', 1, 10, 20, 3, NULL, 'https://example.com/', '6:auth.*', '6:user:1', 'shop',
                    '4:team1:a', 7, 60, '3:0.13:5.0', '3:x-a1:b', CAST('3:abc4:defg' AS BLOB)),
                    (2, 1, 'dlg_2', 'active', 0, 10, 99, 1, 99, '', '', '', '', '', 1, 1, '', '', x'');
                INSERT INTO lanes VALUES (1, 1, 2);
                UPDATE progress SET settled = 2;
                INSERT INTO waiting VALUES (1, 1, 4, 900, 1), (1, 2, 9, 800, 2);
                INSERT INTO attempts VALUES (1, 1, 1, 4, 500, 70, 503, NULL, NULL, CAST('busy' AS BLOB)),
                    (2, 1, 1, 5, 600, 80, NULL, 'timeout', 'too slow', NULL);
                INSERT INTO auth_status VALUES (1, '42', 1, CAST('{}' AS BLOB), 5, 'e1');
                INSERT INTO app_states VALUES (1, CAST('"open"' AS BLOB), 6, 'e2');
                INSERT INTO answers VALUES (1, 'k', x'01', 201, '1:a1:b', CAST('body' AS BLOB), 100);
                """)
            _ = try connection.checkpoint(.truncate)
        }
        let store = try SQLiteStore(folder: folder.path)
        defer { store.close() }
        let recovery = try store.found()
        #expect((recovery.first, recovery.head, recovery.settled) == (1, 2, 2))
        #expect((recovery.delegates.map(\.id), recovery.nextDelegateKey) == (["dlg_1"], 3))
        var settings = WebhookSettings(
            url: "https://example.com/", events: [.prefix("auth.")], subjects: ["user:1"], description: "shop",
            metadata: [KeyValue("team", "a")], headers: [KeyValue("x-a", "b")], maxInFlight: 7)
        settings.timeoutSeconds = 60
        settings.retrySchedule = [0.1, 5]
        settings.format = .standard
        let secrets = ["abc", "defg"].map { DelegateSecret(SigningSecret(bytes: Array($0.utf8))) }
        let found = try #require(recovery.delegates.first)
        #expect(found.state == WebhookDelegate.State(settings: settings, status: .paused, secrets: secrets))
        #expect((found.start, found.createdAt, found.updatedAt, found.version) == (1, 10, 20, 3))
        #expect(recovery.lanes == [LanePosition(delegate: 1, cursor: 1, position: 2)])
        #expect(
            recovery.waiting == [
                WaitingDelivery(delegate: 1, event: 1, attempts: 4, dueAt: 900, state: .retrying, subject: "order:1")
            ])
        #expect(recovery.decided == [DeliveryKey(delegate: 1, event: 2)])
        #expect(recovery.appStates.map(\.eventID) == ["e2"])
        let reader = try store.makeReader()
        let events = try reader.events(after: 0, limit: 9, maxBytes: 999).events
        #expect(events.map(\.id) == ["e1", "e2"])
        #expect(events.map(\.subject) == ["order:1", nil])
        #expect(events.map { String(decoding: $0.data, as: UTF8.self) } == [#"{"n":1}"#, "2"])
        #expect(try reader.events(EventQuery()).count == 2)
        let attempts = try reader.attempts(event: 1)
        #expect(attempts.map(\.record.status) == [503, nil])
        #expect(attempts.map(\.record.failure) == [nil, .timeout])
        #expect(attempts.allSatisfy { !$0.record.isReplay && $0.record.transport == TransportRecord() })
        #expect(try reader.deletedDelegateID(2) == "dlg_2")
        try store.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.authStatus(app: .default, userID: "42")?.eventID == "e1")
            #expect(try transaction.answer(app: .default, key: "k", now: 1)?.body == Array("body".utf8))
            try transaction.append(Event(id: "e3"))
            #expect(try transaction.head == 3)
        }
    }

    @Test("the share of each app in an older database is counted when it is opened")
    func blocks() throws {
        do {
            let connection = try newDatabase(path)
            try connection.execute("PRAGMA application_id = \(Schema.applicationID)")
            try connection.set("journal_mode", "wal")
            try Schema.migrate(connection, Array(Schema.migrations.prefix(6)))
            try connection.execute(
                """
                WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 2100)
                INSERT INTO events (sequence, app, id, type, subject, time, data, attributes)
                SELECT i, 1 + i % 2, 'e' || i, 'a.b', iif(i % 3, 'ü', NULL), 0, CAST(i AS BLOB), iif(i % 5, NULL, '1:a1:b')
                FROM n
                """)
            _ = try connection.checkpoint(.truncate)
        }
        let store = try SQLiteStore(folder: folder.path)
        defer { store.close() }
        let batch = try store.makeReader().events(after: 0, limit: .max, maxBytes: .max)
        for block in try store.recover().blocks {
            let places = batch.events.indices.filter {
                AppBlock.number(of: batch.first + LogPosition($0)) == block.block && batch.events[$0].app == block.app
            }
            #expect(block.events == places.count)
            #expect(block.bytes == places.reduce(0) { $0 + batch.events[$1].storedBytes })
        }
        #expect(try store.recover().blocks.reduce(0) { $0 + $1.events } == 2_100)
    }

    @Test("a script that fails halfway leaves the previous version")
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

    @Test("a kill during a script leaves the previous version")
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
