import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

/// `herald drain` from tables and replication slots of real databases.
@Suite("herald drain", .enabled(if: TestStore.isFolder), .timeLimit(.minutes(20)))
final class DrainTests {
    private let server: PostgresServer
    private let url: String

    init() throws {
        server = try PostgresServer.shared()
        url = try server.makeDatabase()
    }

    deinit { server.drop(url) }

    private func sql(_ texts: String...) throws -> String {
        try server.sql(each: texts, url).split(separator: "\n").joined(separator: "\n")
    }

    private static let table =
        "CREATE TABLE outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, type text, data jsonb, subject text)"

    /// The ids of all events, in the order of the log.
    private func ids(_ herald: HeraldProcess) async throws -> [String] {
        var (ids, cursor): ([String], String?) = ([], "")
        while let current = cursor {
            let page = try await herald.get("/v1/events?limit=200" + (current.isEmpty ? "" : "&cursor=\(current)"))
            ids += page.data.map { $0.text("id") }
            cursor = page.string("next_cursor")
        }
        return ids.reversed()
    }

    private func drain(_ herald: HeraldProcess, _ arguments: [String]) async throws -> Client.Result {
        try await Client.run(["drain"] + arguments, server: herald.url)
    }

    private func start(_ arguments: [String], _ port: UInt16) throws -> ChildProcess {
        try ChildProcess(
            try Binary.path(), ["drain"] + arguments,
            environment: ["HERALD_SERVER": "http://127.0.0.1:\(port)", "XDG_CONFIG_HOME": "/nonexistent"])
    }

    @Test("publishes the rows of committed transactions once, in order, and deletes them")
    func table() async throws {
        let herald = try await HeraldProcess.start()
        try _ = sql(
            Self.table,
            """
            DO $$ BEGIN
                FOR n IN 1..1500 LOOP
                    INSERT INTO outbox (type, data, subject) VALUES ('order.paid', to_jsonb(n), CASE WHEN n % 2 = 0 THEN 's' END);
                    IF n % 3 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
                END LOOP;
            END $$
            """)
        let first = try await drain(herald, [url, "--table", "outbox", "--once"])
        #expect(first.end == .exited(0) && first.text == "1000 events were published.", "\(first.text)")
        #expect(try await ids(herald) == (1...1500).filter { $0 % 3 != 0 }.map(String.init))
        let event = try await herald.get("/v1/events/1498")
        #expect(event.string("type") == "order.paid" && event.string("subject") == "s")
        #expect(event["data"]?.integer == 1498)
        #expect(try sql("SELECT count(*) FROM outbox") == "0")
        #expect(try await drain(herald, [url, "--table", "outbox", "--once"]).text == "0 events were published.")
    }

    @Test("quotes the names of the command line, and marks rows with a time or a boolean")
    func names() async throws {
        let herald = try await HeraldProcess.start()
        let columns = #"id=Key,type="kind";--,data=da ta,time=at,deliver_at=later"#
        try _ = sql(
            #"CREATE SCHEMA "My ""App""; DROP""#,
            #"""
            CREATE TABLE "My ""App""; DROP"."out box" ("Key" uuid PRIMARY KEY, """kind"";--" text, "da ta" text, at timestamptz,
                later timestamp, "do;ne" timestamptz, flag boolean, rank serial)
            """#,
            #"""
            INSERT INTO "My ""App""; DROP"."out box" SELECT gen_random_uuid(), 'a', '[' || n || ']', '2026-01-31 12:00:00.5+01', NULL,
                NULL, NULL, n FROM generate_series(1, 20) AS n
            """#)
        let source = [url, "--table", #"My "App"; DROP.out box"#, "--columns", columns, "--order", "rank", "--once"]
        for mark in ["do;ne", "flag"] {
            let run = try await drain(herald, source + ["--after", "mark=\(mark)"])
            let words = mark == "flag" ? ", 20 of them before." : "."
            #expect(run.end == .exited(0) && run.text == "20 events were published\(words)", "\(run.text)")
            #expect(try await drain(herald, source + ["--after", "mark=\(mark)"]).text == "0 events were published.")
        }
        let events = try await herald.get("/v1/events?limit=200").data
        #expect(events.reversed().map { $0["data"]?.compactText } == (1...20).map { "[\($0)]" })
        #expect(events.allSatisfy { $0.text("time") == "2026-01-31T11:00:00.500Z" })
        for (flags, words) in [
            (["--table", #"x"; DROP TABLE "out box"; --"#], "no table"), (["--table", "nowhere.x"], "no table"),
            (["--table", "pg_class"], "no column"),
            (source.dropFirst().dropLast() + ["--order", "rank, 1"], "no column"),
            (source.dropFirst().dropLast() + ["--after", "mark=rank"], "boolean or a time"),
        ] {
            let run = try await drain(herald, [url] + flags + ["--once"])
            #expect(run.end == .exited(66) && run.text.contains(words), "\(run.text)")
        }
        for flags in [
            [], ["--table", "x", "--after", "mark="], ["--table", "x", "--columns", "type=a"], ["--table", "."],
            ["--table", "x", "--columns", "id,id=b,type"], ["--table", "x", "--columns", "id,type,colour=x"],
            ["--messages", "s", "--table", "x"], ["--table", "x", "--publication", "p"],
            ["--table", "x", "--sqlite", "f"],
        ] {
            #expect(try await drain(herald, [url] + flags).end == .exited(64), "\(flags)")
        }
    }

    @Test("a refused row ends it after the rows before, or goes to a file")
    func refused() async throws {
        let herald = try await HeraldProcess.start()
        let folder = TemporaryFolder()
        try _ = sql(
            "CREATE TABLE outbox (id text PRIMARY KEY, type text, data text, subject text)",
            """
            INSERT INTO outbox VALUES ('1', 'a', '1', NULL), ('2', 'a', '{"x": 1, "x": 2}', NULL), ('3', 'a', '3', 's'),
                ('4', 'no type', '4', NULL), ('5', NULL, '5', NULL), ('6', 'a', NULL, NULL), ('7 7', 'a', '7', NULL),
                ('8', 'a', '8', '')
            """)
        for _ in 1...2 {
            let run = try await drain(herald, [url, "--table", "outbox", "--once"])
            #expect(run.end == .exited(65) && run.text.contains("The event 2 is refused"), "\(run.text)")
            #expect(try await ids(herald) == ["1"])
            #expect(try sql("SELECT min(id) FROM outbox") == "2")
        }
        // A full disk has cut off a line of an earlier run.
        let cutOff = #"{"id":"2","rea"#
        let file = try folder.write(cutOff, to: "refused")
        let run = try await drain(herald, [url, "--table", "outbox", "--once", "--refused", file])
        #expect(run.end == .exited(0) && run.text == "2 events were published; 5 refused.", "\(run.text)")
        #expect(try await ids(herald) == ["1", "3", "6"])
        #expect(try sql("SELECT count(*) FROM outbox") == "0")
        let text = try Files.read(file).split(separator: 10)
        #expect(text.first.map { String(decoding: $0, as: UTF8.self) } == cutOff)
        let lines = try text.dropFirst().map { try JSONDocument(parsing: Array($0)).root }
        #expect(lines.map { $0.text("id") } == ["2", "4", "5", "7 7", "8"])
        #expect(lines.allSatisfy { !$0.text("reason").isEmpty && $0["row"]?["id"] != nil })

        // Another row with an id of the log.
        try _ = sql("INSERT INTO outbox VALUES ('3', 'b', '3', 's')")
        let other = try await drain(herald, [url, "--table", "outbox", "--once"])
        #expect(other.end == .exited(65) && other.text.contains("other values: /type"), "\(other.text)")
        #expect(other.text.contains("Stopped. 0 events were published."), "\(other.text)")
        #expect(try sql("SELECT count(*) FROM outbox") == "1")
    }

    @Test("a row that is due at infinity is refused, and not published at once")
    func infinity() async throws {
        let herald = try await HeraldProcess.start()
        try _ = sql(
            "CREATE TABLE outbox (id int PRIMARY KEY, type text, at timestamp, later timestamptz)",
            "INSERT INTO outbox VALUES (1, 'a', NULL, NULL), (2, 'a', NULL, 'infinity'), (3, 'a', '-infinity', NULL)")
        let folder = TemporaryFolder()
        let run = try await drain(
            herald,
            [
                url, "--table", "outbox", "--columns", "id,type,time=at,deliver_at=later", "--once", "--refused",
                folder.path + "/refused",
            ])
        #expect(run.end == .exited(0) && run.text == "1 event was published; 2 refused.", "\(run.text)")
        #expect(try await ids(herald) == ["1"])
    }

    @Test("two that are killed at any moment publish each row once")
    func kills() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let key = try await herald.post("/v1/keys", #"{"name": "drain", "scopes": ["publish"]}"#).string("key") ?? ""
        try _ = sql(
            Self.table,
            "INSERT INTO outbox (type, data) SELECT 'a', to_jsonb(n) FROM generate_series(1, 4000) AS n")
        var random = SeededRandom(seed: 35)
        for _ in 0..<12 {
            let drains = try (0..<2).map { _ in
                try ChildProcess(
                    try Binary.path(), ["drain", url, "--table", "outbox"],
                    environment: [
                        "HERALD_SERVER": herald.url, "HERALD_KEY": key,
                        "XDG_CONFIG_HOME": "/nonexistent",
                    ])
            }
            usleep(UInt32(random.number(5_000...60_000)))
            for drain in drains { drain.signal(SIGKILL) }
            for drain in drains { try await drain.ended() }
        }
        let last = try await Client.run(
            ["drain", url, "--table", "outbox", "--once", "--key-file", try keyFile(key, herald.folder)],
            server: herald.url)
        #expect(last.end == .exited(0), "\(last.text)")
        #expect(try sql("SELECT count(*) FROM outbox") == "0")
        let ids = try await ids(herald)
        #expect(ids.count == 4000 && Set(ids) == Set((1...4000).map(String.init)))
    }

    private func keyFile(_ key: String, _ folder: TemporaryFolder) throws -> String {
        try Files.write(Array(key.utf8), to: folder.path + "/key")
        return folder.path + "/key"
    }

    @Test("waits for the database and for Herald, reports it once, and ends with a signal")
    func outages() async throws {
        let own = try PostgresServer()
        let url = try own.makeDatabase()
        let herald = try await HeraldProcess.start(listen: "127.0.0.1:\(try unusedPort())")
        let port = herald.port
        try own.sql(Self.table, url)
        let drain = try start([url, "--table", "outbox"], port)
        func insert(_ number: Int) throws {
            try own.sql("INSERT INTO outbox (type, data) VALUES ('a', '\(number)')", url)
        }
        try insert(1)
        _ = try await herald.get("/v1/events") { $0.data.count == 1 }
        // A crash before that would repeat the event, as a duplicate.
        try await eventually("the row is deleted") { try own.sql("SELECT count(*) FROM outbox", url).hasPrefix("0") }
        try own.crash()
        try insert(2)
        _ = try await herald.get("/v1/events") { $0.data.count == 2 }
        try await herald.stop()
        try insert(3)
        try await eventually("it reports that Herald is away") {
            drain.text.contains("127.0.0.1:\(port) was not reached")
        }
        let next = try await HeraldProcess.start(folder: herald.folder, listen: "127.0.0.1:\(port)")
        _ = try await next.get("/v1/events") { $0.data.count == 3 }
        try await eventually("the row is deleted") { try own.sql("SELECT count(*) FROM outbox", url).hasPrefix("0") }
        drain.signal(SIGTERM)
        #expect(try await drain.ended() == .exited(0))
        #expect(drain.lines.filter { $0.contains("Herald") || $0.contains("Retrying") }.count <= 3, "\(drain.text)")
        #expect(drain.lines.last == "3 events were published.", "\(drain.text)")
        // The ids have a gap: a crash of PostgreSQL skips numbers of a sequence.
        #expect(try await next.get("/v1/events").data.map { $0["data"]?.integer } == [3, 2, 1])
    }

    @Test(
        "waits for a busy server, whatever time that names",
        arguments: ["9223372036854775807", "-9223372036854775808"])
    func retryAfter(_ seconds: String) async throws {
        let busy = try Receiver { _ in .status(503, headers: [("retry-after", seconds)]) }
        defer { busy.close() }
        try _ = sql(Self.table, "INSERT INTO outbox (type, data) VALUES ('a', '1')")
        let drain = try start([url, "--table", "outbox"], busy.port)
        try await eventually("it waits") { drain.text.contains("Retrying until it responds.") }
        drain.signal(SIGTERM)
        #expect(try await drain.ended() == .exited(0), "\(drain.text)")
        #expect(drain.lines.last == "0 events were published.", "\(drain.text)")
        #expect(try sql("SELECT count(*) FROM outbox") == "1")
    }

    @Test("ends when the server accepts no size")
    func noSize() async throws {
        let proxy = try Receiver { _ in .status(413) }
        defer { proxy.close() }
        try _ = sql(Self.table, "INSERT INTO outbox (type, data) VALUES ('a', '1'), ('a', '2')")
        let run = try await Client.run(["drain", url, "--table", "outbox", "--once"], server: proxy.url())
        #expect(run.end == .exited(65) && run.text.contains("The event 1 is refused"), "\(run.text)")
        #expect(try sql("SELECT count(*) FROM outbox") == "2")
    }

    @Test("what another server refuses stays in the outbox")
    func otherServer() async throws {
        let proxy = try Receiver { _ in .status(400, body: "<html></html>") }
        defer { proxy.close() }
        try _ = sql(Self.table, "INSERT INTO outbox (type, data) VALUES ('a', '1'), ('a', '2')")
        let folder = TemporaryFolder()
        let run = try await Client.run(
            ["drain", url, "--table", "outbox", "--refused", folder.path + "/refused", "--once"], server: proxy.url())
        #expect(run.end == .exited(1) && run.text.contains("is not a Herald server"), "\(run.text)")
        #expect(try sql("SELECT count(*) FROM outbox") == "2")
    }

    @Test("publishes the rows of an SQLite database, while programs write to it, and when it is killed")
    func sqlite() async throws {
        let herald = try await HeraldProcess.start()
        let folder = TemporaryFolder()
        let path = folder.path + "/app.db"
        func python(_ code: String) async throws {
            let (end, text) = try await ChildProcess.run(
                "python3", ["-c", "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1], timeout=30)\n" + code, path])
            #expect(end == .exited(0), "\(text)")
        }
        try await python(
            """
            db.execute("CREATE TABLE outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT, data, subject TEXT, done TEXT)")
            db.commit()
            """)
        async let writes: Void = python(
            """
            for n in range(1, 601):
                db.execute("INSERT INTO outbox (type, data) VALUES ('a', ?)", [b'%d' % n if n % 2 else str(n)])
                db.rollback() if n % 3 == 0 else db.commit()
            """)
        var random = SeededRandom(seed: 36)
        for _ in 0..<6 {
            let drain = try start(["--sqlite", path, "--table", "outbox", "--after", "mark=done"], herald.port)
            usleep(UInt32(random.number(5_000...60_000)))
            drain.signal(SIGKILL)
            try await drain.ended()
        }
        try await writes
        let run = try await drain(herald, ["--sqlite", path, "--table", "outbox", "--after", "mark=done", "--once"])
        #expect(run.end == .exited(0), "\(run.text)")
        let events = try await ids(herald)
        // A number that was rolled back is given again.
        #expect(events == (1...400).map(String.init))
        try await python("assert db.execute('SELECT count(*) FROM outbox WHERE done IS NULL').fetchone() == (0,)")
        let delete = try await drain(herald, ["--sqlite", path, "--table", "main.outbox", "--once"])
        #expect(delete.text == "400 events were published, 400 of them before.", "\(delete.text)")
        try await python("assert db.execute('SELECT count(*) FROM outbox').fetchone() == (0,)")
        for flags in [["--table", "none"], ["--table", "outbox", "--order", "x"]] {
            #expect(try await drain(herald, ["--sqlite", path, "--once"] + flags).end == .exited(66))
        }
        #expect(try await drain(herald, ["--sqlite", path + "x", "--table", "a", "--once"]).end == .exited(66))
    }

    @Test("warns when SQLite would give the id of a published row to a new one", arguments: [true, false])
    func idsGivenAgain(isKept: Bool) async throws {
        let herald = try await HeraldProcess.start()
        let folder = TemporaryFolder()
        let path = folder.path + "/app.db"
        let key = "INTEGER PRIMARY KEY" + (isKept ? " AUTOINCREMENT" : "")
        let script = """
            import sqlite3, sys
            db = sqlite3.connect(sys.argv[1])
            db.execute("CREATE TABLE outbox (id \(key), type TEXT, data, subject TEXT)")
            db.execute("INSERT INTO outbox (type, data) VALUES ('a', '1')")
            db.commit()
            """
        let (end, text) = try await ChildProcess.run("python3", ["-c", script, path])
        #expect(end == .exited(0), "\(text)")
        let run = try await drain(herald, ["--sqlite", path, "--table", "outbox", "--once"])
        #expect(run.end == .exited(0) && run.text.contains("AUTOINCREMENT") == !isKept, "\(run.text)")
    }

    @Test(
        "publishes messages of a replication slot once, in the order of the commits, when it and the database are killed"
    )
    func messages() async throws {
        let own = try PostgresServer(["wal_level=logical", "fsync=on"])
        let url = try own.makeDatabase()
        let herald = try await HeraldProcess.start()
        let source = [url, "--messages", "herald_slot"]
        let missing = try await drain(herald, source + ["--once"])
        #expect(missing.end == .exited(66) && missing.text.contains("pg_create_logical_replication_slot"))
        try own.sql(each: ["SELECT pg_create_logical_replication_slot('herald_slot', 'pgoutput')"], url)
        #expect(try await drain(herald, source + ["--once"]).text.contains("CREATE PUBLICATION herald"))
        try own.sql(
            each: [
                "CREATE PUBLICATION herald", "CREATE TABLE other (n int)",
                "CREATE PROCEDURE emit(a int, b int) LANGUAGE plpgsql AS $$ BEGIN FOR n IN a..b LOOP"
                    + " INSERT INTO other VALUES (n); PERFORM pg_logical_emit_message(true, 'other', 'x');"
                    + " PERFORM pg_logical_emit_message(true, 'herald', '{\"type\": \"a\", \"data\": ' || n || '}');"
                    + " PERFORM pg_logical_emit_message(true, 'herald', '{\"id\": \"own' || n || '\", \"type\": \"b\"}');"
                    + " IF n % 3 = 0 THEN ROLLBACK; ELSE COMMIT; END IF; END LOOP; END $$",
                "CALL emit(1, 300)",
            ], url)
        var random = SeededRandom(seed: 37)
        for round in 0..<6 {
            let drain = try start(source, herald.port)
            usleep(UInt32(random.number(10_000...80_000)))
            if round == 3 { try own.crash() }
            drain.signal(SIGKILL)
            try await drain.ended()
            if round == 4 { try own.sql("CALL emit(301, 600)", url) }
        }
        let last = try await drain(herald, source + ["--once"])
        #expect(last.end == .exited(0) && last.text.contains("max_slot_wal_keep_size"), "\(last.text)")
        #expect(try await drain(herald, source + ["--once"]).lines.last == "0 events were published.")
        let committed = (1...600).filter { $0 % 3 != 0 }
        let ids = try await ids(herald)
        #expect(ids.filter { $0.hasPrefix("own") } == committed.map { "own\($0)" })
        #expect(ids.count == 2 * committed.count && Set(ids).count == ids.count)
        let others = ids.filter { $0.hasPrefix("pg-") }
        #expect(others.count == committed.count && others == others.sorted())

        // A crash takes the slot back to where it was at the last checkpoint. A drain that survives it repeats, and continues.
        let survivor = try start(source, herald.port)
        try own.sql("CALL emit(601, 900)", url)
        _ = try await herald.get("/v1/events/own899") { $0.status == 200 }
        try own.crash()
        try own.sql("CALL emit(901, 903)", url)
        _ = try await herald.get("/v1/events/own902") { $0.status == 200 }
        survivor.signal(SIGTERM)
        #expect(try await survivor.ended() == .exited(0), "\(survivor.text)")

        // Messages of other programs are passed over, also many that belong to no transaction.
        try own.sql(
            "SELECT count(pg_logical_emit_message(false, 'other', 'x')) FROM generate_series(1, 2500)", url)
        try own.sql("SELECT pg_logical_emit_message(true, 'herald', '{\"id\": \"behind\", \"type\": \"a\"}')", url)
        let behind = try await drain(herald, source + ["--once"])
        #expect(behind.end == .exited(0), "\(behind.text)")
        #expect(try await herald.get("/v1/events/behind").status == 200)

        // A refused one stays, or goes to a file.
        try own.sql("SELECT pg_logical_emit_message(true, 'herald', '[1]')", url)
        #expect(try await drain(herald, source + ["--once"]).end == .exited(65))
        let file = herald.folder.path + "/refused"
        let run = try await drain(herald, source + ["--once", "--refused", file])
        #expect(run.text.hasSuffix("0 events were published; 1 refused."), "\(run.text)")
        #expect(String(decoding: try Files.read(file), as: UTF8.self).contains("not a JSON object"))
    }
}
