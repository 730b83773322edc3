import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

/// `herald.publish` in the transactions of a program.
@Suite("Events from SQL", .enabled(if: TestStore.isFolder), .timeLimit(.minutes(20)))
final class SQLPublishingTests {
    private let url: String

    init() throws { url = try PostgresServer.shared().makeDatabase() }

    deinit { try? PostgresServer.shared().drop(url) }

    private func start(_ arguments: String...) async throws -> HeraldProcess {
        try await HeraldProcess.start(
            command: ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url] + arguments,
            adminKey: MadeKey.admin.text)
    }

    @discardableResult
    private func sql(_ text: String) throws -> String { try PostgresServer.shared().sql(text, url) }

    /// Makes a login role that may not do anything. Roles belong to the server: each has the name of its database.
    private func makeRole(_ name: String) throws -> String {
        let database = url.split(separator: "/").first { $0.hasPrefix("test_") }?.prefix { $0 != "?" } ?? ""
        let role = "\(database)_\(name)"
        try sql("CREATE ROLE \(role) LOGIN")
        return role
    }

    private func drop(_ roles: String...) {
        for role in roles { _ = try? sql("DROP OWNED BY \(role); DROP ROLE \(role)") }
    }

    /// Runs SQL in a session of a role, and returns what it prints, or `nil` if it is refused.
    private func run(as role: String, _ text: String) -> String? {
        try? PostgresServer.shared().sql(each: ["SET SESSION AUTHORIZATION \(role)", text], url)
    }

    @Test("one that needs a row which cannot be read is refused, and holds up no other")
    func unreadableRow() async throws {
        let herald = try await start()
        let role = try makeRole("torn")
        defer { drop(role) }
        try sql("SELECT herald.allow('\(role)')")
        func login(_ id: String) -> String {
            "SELECT herald.publish('auth.logged_in', '{\"user\": {\"id\": \"u\"}}', id => '\(id)');"
        }
        #expect(run(as: role, login("first")) != nil)
        _ = try await herald.get("/v1/events") { $0.data.count == 2 }
        try sql("UPDATE herald.auth_status SET since = 1::bigint << 60")
        #expect(run(as: role, "BEGIN; \(login("second")) SELECT herald.publish('a.b', id => 'other'); COMMIT;") != nil)
        _ = try await herald.get("/v1/events") { $0.data.first?["id"]?.string == "other" }
        let refused = try await herald.get("/v1/events?state=refused") { $0.data.count == 1 }
        #expect(refused.data.first?["id"]?.string == "second")
        #expect(refused.data.first?["reason"]?.string?.contains("in the table auth_status") == true)
    }

    @Test("are published if and only if the transaction commits, once, with all their parts")
    func transactions() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let herald = try await start()
        _ = try await herald.register(receiver.url())
        let role = try makeRole("shop")
        defer { drop(role) }
        try sql("SELECT herald.allow('\(role)')")
        let soon = "now() + interval '1 hour'"
        #expect(
            run(
                as: role,
                """
                BEGIN; SELECT herald.publish('order.paid', '{"amount": 12.50}', subject => 'order:1', id => 'one'); COMMIT;
                BEGIN; SELECT herald.publish('order.paid', '1', id => 'rolled back'); ROLLBACK;
                BEGIN; SELECT herald.publish('order.paid', '1', id => 'rolled-back'); ROLLBACK;
                """) == nil, "an id with a space is refused")
        #expect(
            run(
                as: role,
                """
                BEGIN; SELECT herald.publish('order.paid', '{"amount": 12.50}', subject => 'order:1', id => 'one'); COMMIT;
                BEGIN; SELECT herald.publish('order.paid', '1', id => 'rolled-back'); ROLLBACK;
                SELECT herald.publish('order.paid', id => 'one'); SELECT herald.publish('a', id => 'later', deliver_at => \(soon));
                """) != nil)
        #expect(run(as: role, "SELECT herald.publish('order.shipped')")?.hasPrefix("sql_") == true)
        let log = try await herald.get("/v1/events") { $0.data.count == 2 && $0.data.last?["id"]?.string == "one" }
        let event = try #require(log.data.last)
        #expect(event["subject"]?.string == "order:1")
        #expect(event["data"].map { String(decoding: $0.bytes, as: UTF8.self) } == #"{"amount": 12.50}"#)
        _ = try await herald.deliveries(of: "one", "delivered")
        let scheduled = try await herald.get("/v1/events?state=scheduled") { $0.data.count == 1 }
        #expect(scheduled.data.first?["id"]?.string == "later")
        #expect(try sql("SELECT count(*) FROM herald.submissions").hasPrefix("0"))
    }

    @Test("10,000 transactions, a third of them rolled back: exactly the committed ones are published")
    func many() async throws {
        let herald = try await start()
        let role = try makeRole("many")
        defer { drop(role) }
        try sql("SELECT herald.allow('\(role)')")
        #expect(
            run(
                as: role,
                """
                DO $$ BEGIN
                    FOR n IN 1..10000 LOOP
                        PERFORM herald.publish('n', to_json(n), id => 'n' || n);
                        IF n % 3 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
                    END LOOP;
                END $$
                """) != nil)
        try await eventually("all are taken") { [url] in
            try PostgresServer.shared().sql("SELECT count(*) FROM herald.submissions", url).hasPrefix("0")
        }
        let counts = try sql(
            """
            SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE substr(id, 2)::int % 3 = 0) FROM herald.events
            WHERE type = 'n'
            """)
        #expect(counts.hasPrefix("6667|6667|0"), "\(counts)")
        #expect(try await herald.get("/v1/events?limit=1").data.first?["id"]?.string == "n10000")
    }

    @Test("a node that is killed while it publishes them loses none, and publishes none twice")
    func kills() async throws {
        let role = try makeRole("kills")
        defer { drop(role) }
        var herald = try await start()
        try sql("SELECT herald.allow('\(role)')")
        for round in 1...3 {
            #expect(
                run(
                    as: role,
                    """
                    DO $$ BEGIN
                        FOR n IN 1..3000 LOOP
                            PERFORM herald.publish('n', to_json(n), id => 'n\(round).' || n);
                            COMMIT;
                        END LOOP;
                    END $$
                    """) != nil)
            try await herald.kill()
            herald = try await start()
        }
        try await eventually("all are taken") { [url] in
            try PostgresServer.shared().sql("SELECT count(*) FROM herald.submissions", url).hasPrefix("0")
        }
        let counts = try sql("SELECT count(*), count(DISTINCT id) FROM herald.events WHERE type = 'n'")
        #expect(counts.hasPrefix("9000|9000"), "\(counts)")
    }

    @Test("what the strict parser or a schema refuses is kept with its reason, and erased with its subject")
    func refused() async throws {
        let herald = try await start()
        let role = try makeRole("bad")
        defer { drop(role) }
        try sql("SELECT herald.allow('\(role)')")
        let type = #"{"schema": {"type": "object", "required": ["n"]}, "check": "enforce"}"#
        #expect(try await herald.send("PUT", "/v1/event-types/checked", type).status == 201)
        for (id, type, data) in [
            ("twice", "a", #"{"a": 1, "a": 2}"#), ("schema", "checked", "{}"), ("good", "checked", #"{"n": 1}"#),
        ] {
            #expect(run(as: role, "SELECT herald.publish('\(type)', '\(data)', id => '\(id)', subject => 's')") != nil)
        }
        let list = try await herald.get("/v1/events?state=refused") { $0.data.count == 2 }
        #expect(list.data.map { $0["id"]?.string } == ["schema", "twice"])
        #expect(list.data.last?["raw_data"]?.string == #"{"a": 1, "a": 2}"#)
        #expect(list.data.allSatisfy { $0["reason"]?.string?.isEmpty == false && $0["state"]?.string == "refused" })
        _ = try await herald.get("/v1/events") { $0.data.map { $0["id"]?.string } == ["good"] }
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_pending_refused_total 2\n") }
        let lines = try await eventually("the log has both") {
            let lines = herald.log("committed event refused: GET /v1/events?state=refused has it")
            return lines.count == 2 ? lines : nil
        }
        #expect(lines.map { $0["id"]?.string } == ["twice", "schema"])
        #expect(lines.allSatisfy { $0["reason"]?.string?.isEmpty == false })
        let page = try await herald.get("/v1/events?state=refused&limit=1")
        let cursor = try #require(page.string("next_cursor"))
        #expect(
            try await herald.get("/v1/events?state=refused&cursor=\(cursor)").data.map { $0["id"]?.string } == ["twice"]
        )
        #expect(try await herald.get("/v1/events?state=refused&type=a").status == 422)
        #expect(try await herald.send("DELETE", "/v1/subjects/s").integer("scheduled_events") == 2)
        #expect(try await herald.get("/v1/events?state=refused").data.isEmpty)
    }

    @Test("when its app may store no more, a new one is refused, and a duplicate is not")
    func quota() async throws {
        let herald = try await start()
        let role = try makeRole("full")
        defer { drop(role) }
        try sql("SELECT herald.allow('\(role)')")
        #expect(run(as: role, "SELECT herald.publish('a.b', id => 'one')") != nil)
        _ = try await herald.get("/v1/events") { $0.data.count == 1 }
        #expect(try await herald.send("PATCH", "/v1/apps/default", #"{"max_stored_bytes": 1}"#).status == 200)
        for id in ["one", "two"] {
            #expect(run(as: role, "SELECT herald.publish('a.b', id => '\(id)')") != nil)
        }
        let refused = try await herald.get("/v1/events?state=refused") { !$0.data.isEmpty }
        #expect(refused.data.map { $0["id"]?.string } == ["two"])
    }

    @Test("with little memory a list of large refused events comes in small pages, and has everything in the end")
    func largeRefused() async throws {
        let herald = try await start("--memory", "64MiB")
        let role = try makeRole("large")
        defer { drop(role) }
        try sql("SELECT herald.allow('\(role)')")
        let data = #"('{"a": 1, "a": "' || repeat('x', 200000) || '"}')::json"#
        for id in 1...3 {
            #expect(run(as: role, "SELECT herald.publish('a', \(data), id => '\(id)')") != nil)
        }
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_pending_refused_total 3\n") }
        let first = try await herald.get("/v1/events?state=refused")
        #expect(first.data.map { $0["id"]?.string } == ["3", "2"])
        let cursor = try #require(first.string("next_cursor"))
        let rest = try await herald.get("/v1/events?state=refused&cursor=\(cursor)")
        #expect(rest.data.map { $0["id"]?.string } == ["1"])
    }

    @Test("invalid arguments fail in the caller's transaction")
    func invalid() async throws {
        let herald = try await start()
        let role = try makeRole("invalid")
        defer { drop(role) }
        try sql("SELECT herald.allow('\(role)')")
        let deep = String(repeating: "[", count: 61) + String(repeating: "]", count: 61)
        let calls = [
            "''", "'a..b'", "'.a'", "'ä'", "'herald.x'", "NULL", "repeat('a', 129)", "'a', '\(deep)'", "'a', id => ''",
            "'a', id => '.'", "'a', id => 'a,b'", "'a', id => 'a~b'", #"'a', id => 'a\b'"#, "'a', id => 'ä'",
            "'a', id => 'a b'",
            "'a', id => repeat('a', 129)", "'a', subject => ''", "'a', subject => repeat('ä', 257)",
            "'a', deliver_at => now() + interval '367 days'", "'a', deliver_at => 'infinity'",
            "'a', deliver_at => '-infinity'", "'a', to_json(repeat('x', 262144))", "'a', '{'",
        ]
        for call in calls { #expect(run(as: role, "SELECT herald.publish(\(call))") == nil, "\(call)") }
        let text = #"{"x": "[[[[\"[[["}"#
        let flat = "[" + Array(repeating: "[]", count: 100).joined(separator: ",") + "]"
        for call in [
            "'a.b-C_1', '\(text)'", "'a', '\(flat)'", "'a', subject => repeat('ä', 256)",
            #"'a', id => '!#$%&+-./:;<=>?@[]^_`{|}'"#,
        ] {
            #expect(run(as: role, "SELECT herald.publish(\(call))") != nil, "\(call)")
        }
        _ = try await herald.get("/v1/events") { $0.data.count == 4 }
        #expect(try await herald.get("/v1/events?state=refused").data.isEmpty)
    }

    @Test("the settings of the program's session and the collations of its columns do not matter")
    func settings() async throws {
        let herald = try await start()
        _ = try await herald.post("/v1/apps", #"{"name": "shop"}"#)
        let role = try makeRole("settings")
        defer { drop(role) }
        try sql("SELECT herald.allow('\(role)'); SELECT herald.allow('\(role)'::text COLLATE \"POSIX\", 'shop')")
        let old = "SET standard_conforming_strings = off; SET default_transaction_isolation = 'serializable'"
        #expect(run(as: role, "\(old); SELECT herald.publish('a', id => 'old', app => 'default')") != nil)
        let collated = #"'a'::text COLLATE "POSIX""#
        #expect(run(as: role, "SELECT herald.publish(\(collated), app => 'shop')") != nil)
        #expect(run(as: role, "SELECT herald.publish(\(collated), id => 'new', app => 'default')") != nil)
        let log = try await herald.get("/v1/events") { $0.data.count == 2 }
        #expect(log.data.map { $0["id"]?.string } == ["new", "old"])
    }

    @Test("a role publishes to the apps that it is bound to, and to no other one, in a hundred ways")
    func roles() async throws {
        let herald = try await start()
        for app in ["shop", "other", "gone"] { _ = try await herald.post("/v1/apps", #"{"name": "\#(app)"}"#) }
        let (shop, stranger, other) = (try makeRole("shop"), try makeRole("stranger"), try makeRole("other"))
        defer { drop(shop, stranger, other) }
        try sql("SELECT herald.allow('\(shop)', 'shop'); SELECT herald.allow('\(other)', 'other')")
        #expect((try? sql("SELECT herald.allow('\(shop)', 'none')")) == nil)
        #expect((try? sql("SELECT herald.allow('no_such_role', 'shop')")) == nil)
        let otherID = try sql("SELECT id FROM herald.apps WHERE name = 'other'").split(separator: "\n")[0]
        let otherKey = try sql("SELECT key FROM herald.apps WHERE name = 'other'").split(separator: "\n")[0]
        var attempts = [
            "SELECT herald.append_1(0, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{1}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 0)",
            "INSERT INTO herald.submissions (app, id, type, time, data) VALUES (\(otherKey), 'x', 'a', 0, 'null')",
            "INSERT INTO herald.submissions (app, id, type, time, data) VALUES (1, 'x', 'a', 0, 'null')",
            "INSERT INTO herald.publishers VALUES (session_user, \(otherKey))",
            "UPDATE herald.publishers SET app = \(otherKey)", "DELETE FROM herald.publishers",
            "TABLE herald.publishers",
            "TABLE herald.submissions", "TABLE herald.events", "TABLE herald.keys", "TABLE herald.apps",
            "INSERT INTO herald.events VALUES (1, \(otherKey), 'x', 'a', NULL, 0, 'null', NULL, NULL, 0)",
            "SELECT herald.allow(session_user::text, 'other')", "SELECT herald.disallow('\(other)')",
            "SELECT herald.app_key('other')", "CREATE TABLE herald.x (y int)", "DROP FUNCTION herald.publish",
            "CREATE OR REPLACE FUNCTION herald.app_key(word text) RETURNS bigint LANGUAGE sql AS 'SELECT \(otherKey)::bigint'",
            "ALTER TABLE herald.publishers OWNER TO \(shop)", "GRANT \(other) TO \(shop)",
        ]
        let publish = "SELECT herald.publish('a', app => "
        let words = [
            "'other'", "'\(otherID)'", "'\(otherKey)'", "'default'", "'Other'", "'other '", "' other'", "'gone'",
            "'none'", "''",
            "'shop,other'", "'shop'' OR ''1''=''1'", "'other'';--'", "E'other\\n'", "'SHOP'", "'app_'", "'%'", "'o%'",
            "'1'", "'0'",
        ]
        let prefixes = [
            "", "SET search_path = pg_temp, herald; ",
            "CREATE TEMP TABLE publishers (role text, app bigint); INSERT INTO publishers VALUES (session_user, \(otherKey)); SET search_path = pg_temp, herald, public; ",
            "CREATE TEMP TABLE apps (key bigint, name text, id text, deleted_at bigint); INSERT INTO apps VALUES (\(otherKey), 'shop', 'x', NULL); ",
        ]
        for prefix in prefixes { attempts += words.map { prefix + publish + $0 + ")" } }
        attempts.append("SET ROLE \(other); SELECT herald.publish('a')")
        attempts.append("SET SESSION ROLE \(other); SELECT herald.publish('a', app => 'other')")
        #expect(attempts.count >= 100)
        for attempt in attempts { #expect(run(as: shop, attempt) == nil, "\(attempt)") }
        // Has no effect: the role may not pass on its right.
        _ = run(as: shop, "GRANT EXECUTE ON FUNCTION herald.publish TO PUBLIC")
        for call in ["'a'", "'a', app => 'shop'", "'a', app => 'default'"] {
            #expect(run(as: stranger, "SELECT herald.publish(\(call))") == nil)
        }
        #expect(run(as: shop, "SELECT herald.publish('a', id => 'mine', app => 'shop')") != nil)
        let log = try await herald.get("/v1/events", ["Herald-App": "shop"]) { $0.data.count == 1 }
        #expect(log.data.first?["id"]?.string == "mine")
        for app in ["other", "default", "gone"] {
            #expect(try await herald.get("/v1/events", ["Herald-App": app]).data.isEmpty)
        }
        // A member of another role keeps its own binding.
        try sql("GRANT \(other) TO \(shop)")
        #expect(run(as: shop, "SET ROLE \(other); SELECT herald.publish('a', app => 'other')") == nil)
        try sql("SELECT herald.allow('\(shop)', 'other')")
        #expect(run(as: shop, "SELECT herald.publish('a')") == nil, "the app is not named")
        #expect(run(as: shop, "SELECT herald.publish('a', app => 'other')") != nil)
        #expect((try? sql("SELECT herald.disallow('\(shop)', 'othr')")) == nil, "there is no such app")
        try sql("SELECT herald.disallow('\(shop)', 'other')")
        #expect(run(as: shop, "SELECT herald.publish('a', app => 'other')") == nil)
        try sql("SELECT herald.disallow('\(shop)'::text COLLATE \"POSIX\")")
        #expect(run(as: shop, "SELECT herald.publish('a', app => 'shop')") == nil)
    }

    @Test("a database moves once no event from SQL waits in it")
    func migrate() async throws {
        let herald = try await start()
        try await herald.stop()
        try sql("INSERT INTO herald.submissions (app, id, type, time, data) VALUES (1, 'x', 'a', 0, 'null')")
        let folder = TemporaryFolder()
        let (end, text) = try await Binary.run(["migrate", url, folder.path + "/data"])
        #expect(end != .exited(0) && text.contains("wait in"), "\(text)")
        let next = try await start()
        _ = try await next.get("/v1/events") { $0.data.count == 1 }
        try await next.stop()
        #expect(try await Binary.run(["migrate", url, folder.path + "/data"]).end == .exited(0))
    }
}
