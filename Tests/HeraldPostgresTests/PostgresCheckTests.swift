import HeraldCrypto
import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldPostgres

@Suite("The check of a PostgreSQL database before a start")
struct PostgresCheckTests {
    private let database: TestDatabase
    private let key = APIKey(
        id: "key_1", name: "One", scopes: [.admin], digest: Array(repeating: 1, count: 32), createdAt: 0)

    init() throws { database = try TestDatabase() }

    @Test("the offset of the clock is a range for any time of a server", arguments: [Int64.min, 0, 1_500, .max])
    func offset(_ time: Int64) {
        let offset = PostgresCheck.offset(of: time, sent: 1_000, received: 1_200)
        #expect(offset.upperBound - offset.lowerBound == 200)
        #expect(time != 1_500 || offset == 300...500)
    }

    private func sealer(_ byte: UInt8) throws -> Sealer {
        Sealer(try MasterKey(bytes: Array(repeating: byte, count: MasterKey.byteCount)))
    }

    private func addKey(_ sealer: Sealer? = nil) throws {
        let store = try database.open(sealer: sealer)
        defer { store.close() }
        try store.transaction { transaction throws(StoreError) in try transaction.setKey(key) }
    }

    /// The error of a start, which the check has found before.
    private func refusal(sourceLocation: SourceLocation = #_sourceLocation) -> StoreError? {
        let found = failure { _ = try PostgresCheck(url: database.url) }
        let error = failure { try database.open().close() }
        #expect(found == error, sourceLocation: sourceLocation)
        return error
    }

    @Test("it finds the keys, also beside a server, and makes no schema")
    func keys() throws {
        #expect(try PostgresCheck(url: database.url).keys?.isEmpty == true)
        #expect(try database.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'herald'") == "0")
        try addKey()
        #expect(try PostgresCheck(url: database.url).keys == [key])
        let store = try database.open()
        defer { store.close() }
        #expect(try PostgresCheck(url: database.url).keys == [key])
    }

    @Test("a database is not encrypted while a node without the key uses it, which could not read it")
    func sealedBesideNode() throws {
        let own = try sealer(1)
        let node = try database.open()
        let refused = failure { _ = try database.open(sealer: own) }
        #expect(try refused == .inUse(path: database.label, holder: "a node without the master key"))
        node.close()
        try database.open(sealer: own).close()
    }

    @Test("a node without the key ends when the database was encrypted while it had no session")
    func sealedMeanwhile() throws {
        let node = try database.open()
        try database.endSessions()
        try database.open(sealer: try sealer(1)).close()
        let thrown = failure { try node.write([attempt(1, 1)]) }
        #expect(thrown == .replaced(path: node.label, reason: "another process has encrypted its secrets"))
    }

    @Test("an encrypted database needs its key, and one that is not encrypted takes any")
    func sealed() throws {
        let (own, other) = (try sealer(1), try sealer(2))
        try database.open().close()
        #expect(try PostgresCheck(url: database.url, sealer: own).keys?.isEmpty == true)
        try addKey(own)
        let wrong = failure { _ = try PostgresCheck(url: database.url, sealer: other) }
        let reason = "under another key than the one that was given"
        #expect(try wrong == .sealed(path: database.label, reason: reason))
        #expect(try refusal() == .sealed(path: database.label, reason: "and no key was given"))
        #expect(try PostgresCheck(url: database.url, sealer: own).keys == [key])
    }

    @Test("a schema of another version, or without its version, is found")
    func versions() throws {
        try database.open().close()
        try database.sql("UPDATE herald.meta SET version = 99, oldest_version = 98")
        #expect(try refusal() == .newer(path: database.label, found: 99, supported: Schema.version()))
        try database.sql("UPDATE herald.meta SET version = 1, oldest_version = 1")
        #expect(try refusal() == .older(path: database.label, found: 1, supported: Schema.first))
        try database.sql("DROP TABLE herald.meta")
        let reason = "it lacks the table herald.meta, which has the version of the others"
        #expect(try refusal() == .corrupt(path: database.label, reason: reason))
    }

    @Test("no column but one that does not move has a default, which would hide that a statement forgets it")
    func defaults() throws {
        try database.open().close()
        let columns = try database.sql(
            """
            SELECT table_name, column_name FROM information_schema.columns
            WHERE table_schema = 'herald' AND column_default IS NOT NULL
            """)
        #expect(columns == "waiting|request")
    }

    @Test("a role that may not make the schema is found, with the command that permits it")
    func rights() throws {
        let role = "checker_of_\(try database.sql("SELECT current_database()"))"
        try database.sql("CREATE ROLE \(role) LOGIN")
        let url = database.url.replacing("herald@", with: "\(role)@")
        guard case .notWritable(_, let reason)? = failure({ _ = try PostgresCheck(url: url) })
        else { throw Unexpected("the role may make it") }
        let command = try #require(reason.firstRange(of: "GRANT "))
        try database.sql(String(reason[command.lowerBound...]))
        #expect(try PostgresCheck(url: url).keys?.isEmpty == true)
        try database.sql("DROP OWNED BY \(role)")
        try database.sql("DROP ROLE \(role)")
    }

    @Test("in a schema that was made for the role, it needs no right to make one")
    func givenSchema() throws {
        let role = "guest_of_\(try database.sql("SELECT current_database()"))"
        try database.sql("CREATE ROLE \(role) LOGIN")
        try database.sql("CREATE SCHEMA herald")
        let url = database.url.replacing("herald@", with: "\(role)@")
        let grant = "GRANT ALL ON SCHEMA herald TO \(role)"
        let refusal = failure { _ = try PostgresCheck(url: url) }?.description ?? "accepted"
        #expect(refusal.contains(grant), "\(refusal)")
        try database.sql(grant)
        #expect(try PostgresCheck(url: url).keys?.isEmpty == true)
        try PostgresStore(url: url).close()
        #expect(try PostgresCheck(url: url).keys?.isEmpty == true)
        try database.sql("DROP OWNED BY \(role) CASCADE")
        try database.sql("DROP ROLE \(role)")
    }
}
