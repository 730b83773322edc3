import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldPostgres

@Suite("What a PostgreSQL server says and is set to")
struct PostgresSettingsTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    @Test("a warning that says nothing of the commit, such as of a database that must be vacuumed, fails none")
    func warnings() throws {
        let store = try database.open()
        // PostgreSQL gives one in each transaction that writes, long before it refuses them.
        try database.sql(
            """
            CREATE FUNCTION herald.warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE WARNING 'database must be vacuumed within 39999999 transactions';
                RETURN NULL;
            END $$;
            CREATE TRIGGER warn AFTER INSERT ON herald.events FOR EACH STATEMENT EXECUTE FUNCTION herald.warn();
            """)
        try store.append("a")
        try store.append("b", kind: .deciding)
        #expect(try store.ids() == ["a", "b"])
    }

    @Test(
        "transactions see what was committed while they waited, whatever the isolation of a database is",
        arguments: ["repeatable read", "serializable"])
    func isolation(_ level: String) throws {
        let name = try database.sql("SELECT current_database()")
        try database.sql("ALTER DATABASE \(name) SET default_transaction_isolation = '\(level)'")
        let store = try database.open()
        try database.sql(
            """
            CREATE FUNCTION herald.check_isolation() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF current_setting('transaction_isolation') <> 'read committed' THEN RAISE EXCEPTION 'an old snapshot'; END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER check_isolation AFTER INSERT ON herald.events
                FOR EACH STATEMENT EXECUTE FUNCTION herald.check_isolation();
            """)
        try store.append("a")
        try store.append("b", kind: .deciding)
        #expect(try store.ids() == ["a", "b"])
    }

    @Test("transactions start no workers of the server, whatever its settings are")
    func workers() throws {
        let name = try database.sql("SELECT current_database()")
        try database.sql("ALTER DATABASE \(name) SET max_parallel_workers_per_gather = 4")
        let session = try Database(url: database.url).open(.log)
        let setting = Request(Statement("SELECT current_setting('max_parallel_workers_per_gather')"))
        #expect(try session.run(setting, seconds: Database.readSeconds).first?.text(0) == "0")
    }

    @Test("limits of a role for its sessions do not end those of a drain")
    func drain() throws {
        let name = try database.sql("SELECT current_database()")
        try database.sql("ALTER DATABASE \(name) SET idle_session_timeout = '7s'")
        let connection = try DrainConnection(url: database.url)
        let rows = try connection.run([Request(Statement("SELECT current_setting('idle_session_timeout')"))])
        #expect(rows.first?.first?.text(0) == "0")
    }

    @Test("where no server of the address takes a session, the error has the reasons of all")
    func reasons() throws {
        let name = try database.sql("SELECT current_database()")
        try database.sql("ALTER DATABASE \(name) SET default_transaction_read_only = on")
        let url = database.url.replacing("host=", with: "host=/nonexistent,")
        let text = failure { try PostgresStore(url: url).close() }?.description ?? "opened"
        #expect(text.contains("/nonexistent") && text.contains("read-only"), "\(text)")
        // A name may be that of several servers, too.
        let names = HostNames { _ in ["127.0.0.1", "127.0.0.2"] }
        let several = try Database(url: "postgres://herald@db:1/a", names)
        let both = failure { _ = try several.open(.log) }?.description ?? "opened"
        #expect(both.contains("127.0.0.1") && both.contains("127.0.0.2"), "\(both)")
    }
}
