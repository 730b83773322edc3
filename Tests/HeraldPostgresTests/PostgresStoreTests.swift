import HeraldCrypto
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldPostgres

/// A database of its own for one test.
final class TestDatabase: Sendable {
    let server: PostgresServer
    let url: String
    private let stores = Mutex<[PostgresStore]>([])

    init(_ options: [String] = [], on server: PostgresServer? = nil) throws {
        self.server = try server ?? .shared()
        url = try self.server.makeDatabase(options)
    }

    deinit {
        for store in stores.withLock({ $0 }) { store.close() }
        server.drop(url)
    }

    /// As errors name it.
    var label: String { get throws { try Database(url: url).label } }

    /// A store that is closed when the test is over, if not before.
    func open(partitionSize: Int64 = Partitions.size, sealer: Sealer? = nil) throws -> PostgresStore {
        let store = try PostgresStore(url: url, sealer: sealer, partitionSize: partitionSize)
        stores.withLock { $0.append(store) }
        return store
    }

    @discardableResult
    func sql(_ text: String) throws -> String { try server.sql(text, url) }

    /// Ends the sessions of this test's stores, and waits until that is done.
    func endSessions() throws {
        try sql(
            """
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE 'herald, %'
            """)
    }
}

extension PostgresStore {
    func append(_ ids: String..., kind: TransactionKind = .publishing) throws {
        try transaction(kind) { transaction throws(StoreError) in try transaction.append(ids.map { Event(id: $0) }) }
    }

    func write(_ attempts: [AttemptRecord]) throws {
        var checkpoint = Checkpoint()
        checkpoint.attempts = attempts
        try transaction(.recording) { transaction throws(StoreError) in try transaction.write(checkpoint) }
    }

    /// Almost fills so many partitions of 1,000 events.
    func fill(partitions: Int) throws {
        for part in 0..<partitions {
            try transaction(.publishing) { transaction throws(StoreError) in
                try transaction.append((0..<900).map { Event(id: "\(part) \($0)") })
            }
            _ = try checkpointIfDue()
        }
    }

    func ids() throws -> [String] {
        try makeReader().events(after: 0, limit: .max, maxBytes: .max).events.map(\.id)
    }
}

@Suite("The contents of a PostgreSQL database")
struct PostgresContentTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    @Test("texts with U+0000, which PostgreSQL has not, are kept")
    func zero() throws {
        for text in ["", "a", "a\0b", "\u{10FFFF}", "\u{10FFFF}0", "\0\u{10FFFF}\0", "\u{10FFFE}x"] {
            var bytes: [UInt8] = []
            StoredText.write(text, to: &bytes)
            #expect(!bytes.contains(0))
            #expect(String(decoding: bytes.withUnsafeBytes { StoredText.read($0) }, as: UTF8.self) == text)
        }
        // As a program writes them with SQL.
        for text in ["\u{10FFFF}abcd", "a\u{10FFFF}", "\u{10FFFF}\u{10FFFE}"] {
            #expect(String(decoding: Array(text.utf8).withUnsafeBytes { StoredText.read($0) }, as: UTF8.self) == text)
        }
        let store = try database.open()
        let event = Event(id: "a", subject: "a\0b\u{10FFFF}", attributes: [KeyValue("source", "\0")])
        try store.transaction(.publishing) { transaction throws(StoreError) in try transaction.append(event) }
        let found = try #require(try store.makeReader().event(app: .default, id: "a")).event
        #expect(found.subject == event.subject && found.attributes == event.attributes)
    }

    @Test("an event that was changed, or is at another position, is damaged: it is not served, and counted once")
    func damage() throws {
        let store = try database.open()
        try store.append("a", "b", "c", "d")
        try database.sql("UPDATE herald.events SET data = '[]' WHERE id = 'b'")
        try database.sql("UPDATE herald.events SET sequence = 9 WHERE id = 'd'")
        let reader = try store.makeReader()
        #expect(try reader.events(after: 0, limit: 9, maxBytes: 999).events.map(\.isDamaged) == [false, true, false])
        #expect(try reader.event(app: .default, id: "b")?.event.isDamaged == true)
        #expect(try reader.events(EventQuery()).map(\.event.id) == ["c", "a"])
        #expect(store.damagedEvents.count == 1)
    }

    @Test("a transaction that a deadlock has ended has no effect, and can be run again", arguments: ["40P01", "40001"])
    func deadlock(state: String) throws {
        let store = try database.open()
        _ = try store.recover()
        // A sequence is not rolled back: every second insertion fails.
        _ = try database.sql(
            """
            CREATE SEQUENCE herald.turns;
            CREATE FUNCTION herald.fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('herald.turns') % 2 = 1 THEN RAISE EXCEPTION 'on purpose' USING ERRCODE = '\(state)'; END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER fails AFTER INSERT ON herald.keys FOR EACH STATEMENT EXECUTE FUNCTION herald.fails();
            """)
        func add() throws {
            try store.transaction { transaction throws(StoreError) in
                try transaction.setKey(APIKey(id: "key_1", name: "", scopes: [.read], digest: [1], createdAt: 1))
            }
        }
        #expect(failure { try add() } == .outdated)
        #expect(try store.recover().keys.isEmpty)
        try add()
        #expect(try store.recover().keys.count == 1)
    }

    @Test("the attempts of a delegate are found after a restart, however long ago the last one was")
    func heads() throws {
        var store = try database.open()
        try store.transaction { transaction throws(StoreError) in
            for key in [1, 2] as [DelegateKey] { try transaction.setDelegate(WebhookDelegate(key)) }
        }
        try store.write([attempt(2, 1), attempt(2, 2, status: 500), attempt(2, 3)])
        for part in 0..<4 { try store.write((0..<10_000).map { attempt(1, LogPosition(part * 10_000 + $0)) }) }
        for _ in 1...2 {
            let reader = try store.makeReader()
            #expect(try reader.attempts(AttemptQuery(delegate: 2)).map(\.record.event) == [3, 2, 1])
            var query = AttemptQuery(delegate: 1)
            query.succeeded = false
            #expect(try reader.attempts(query) == [])
            query.succeeded = true
            query.limit = 2
            #expect(try reader.attempts(query).map(\.record.event) == [39_999, 39_998])
            let newest = try #require(try reader.attempts(query).first).id
            #expect(try #require(try reader.rest(of: query)) == newest - 9_999)
            store.close()
            store = try database.open()
        }
        store.close()
    }
}

@Suite("Opening a PostgreSQL database")
struct PostgresOpeningTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    @Test("secrets are encrypted with the first key, and the database opens with that key only")
    func sealing() throws {
        func key(_ byte: UInt8) throws -> Sealer {
            Sealer(try MasterKey(text: Base64.encode([UInt8](repeating: byte, count: 32))))
        }
        let plain = try database.open()
        let delegate = WebhookDelegate(1, url: "https://receiver.example/path") { $0.headers = [KeyValue("x-a", "1")] }
        let answer = StoredAnswer(fingerprint: [1], status: 200, headers: [], body: Array("body".utf8))
        try plain.transaction { transaction throws(StoreError) in
            try transaction.setDelegate(delegate)
            try transaction.setAnswer(answer, app: .default, key: "k", expiresAt: .max)
            // More than are encrypted at once, of two apps.
            for number in 0..<2 * Sealing.page + 500 {
                let app = AppKey(rawValue: Int64(1 + number / 50 % 2))
                try transaction.setAnswer(answer, app: app, key: "n\(number)", expiresAt: .max)
            }
        }
        let secret = try plain.recover().secret
        plain.close()
        let sealed = try database.open(sealer: try key(1))
        #expect(try sealed.recover().delegates.first?.settings == delegate.settings)
        #expect(try sealed.recover().secret == secret)
        try sealed.transaction { transaction throws(StoreError) in
            #expect(try transaction.answer(app: .default, key: "k", now: 0) == answer)
            for number in stride(from: 0, to: 2 * Sealing.page + 500, by: 50) {
                let app = AppKey(rawValue: Int64(1 + number / 50 % 2))
                #expect(try transaction.answer(app: app, key: "n\(number)", now: 0) == answer)
            }
        }
        sealed.close()
        #expect(
            try database.sql(
                "SELECT count(*) FROM herald.delegates WHERE url LIKE 'http%' OR headers LIKE '%x-a%'") == "0")
        for sealer in [nil, try key(2)] {
            guard case .sealed? = failure({ _ = try database.open(sealer: sealer) })
            else { throw Unexpected("opened with another key") }
        }
        try database.open(sealer: try key(1)).close()
    }

    @Test("an erasure removes a response that does not open")
    func erasedResponses() throws {
        let key = Sealer(try MasterKey(text: Base64.encode([UInt8](repeating: 1, count: 32))))
        let store = try database.open(sealer: key)
        let answer = StoredAnswer(fingerprint: [1], status: 200, headers: [], body: Array("body".utf8))
        try store.transaction { transaction throws(StoreError) in
            for name in ["k1", "k2"] { try transaction.setAnswer(answer, app: .default, key: name, expiresAt: .max) }
        }
        let table = "answers"
        try database.sql("UPDATE herald.\(table) SET body = '\\x00' WHERE key = 'k1'")
        try store.transaction { transaction throws(StoreError) in
            #expect(try transaction.eraseSubject("user:42", app: .default).answers == 1)
            #expect(try transaction.answer(app: .default, key: "k1", now: 0) == nil)
            #expect(try transaction.answer(app: .default, key: "k2", now: 0) == answer)
        }
    }

    @Test("a newer schema is refused, unless it says that this release can use it")
    func newer() throws {
        try database.open().close()
        try database.sql("UPDATE herald.meta SET version = 99")
        try database.open().close()
        try database.sql("UPDATE herald.meta SET oldest_version = 98")
        let error = failure { _ = try database.open() }
        #expect(try error == .newer(path: database.label, found: 99, supported: Schema.version()))
    }

    @Test("a schema that is older than all that this release supports is refused, and stays as it is")
    func older() throws {
        try database.open().close()
        for version in [1, Schema.first - 1] {
            try database.sql("UPDATE herald.meta SET version = \(version), oldest_version = 1")
            let error = failure { _ = try database.open() }
            #expect(try error == .older(path: database.label, found: version, supported: Schema.first))
            #expect(try database.sql("SELECT version, oldest_version FROM herald.meta") == "\(version)|1")
        }
    }

    @Test("a newer release expands the schema beside an older one, and contracts it when that has ended")
    func versions() throws {
        let next =
            Schema.migrations + [
                "ALTER TABLE herald.nodes ADD COLUMN extra bigint; CREATE TABLE herald.extra (key bigint);"
            ]
        let expanded = Schema.version(after: next)
        let last =
            next + [
                .contraction(oldest: expanded, "DROP TABLE herald.extra;"), "CREATE TABLE herald.later (key bigint);",
            ]
        func open(_ migrations: [Migration.Step]) throws -> PostgresStore {
            try PostgresStore(url: database.url, migrations: migrations)
        }
        func meta() throws -> String { try database.sql("SELECT version, oldest_version FROM herald.meta") }
        let old = try database.open()
        try old.append("a")
        for number in 1...2 {
            let new = try open(next)
            defer { new.close() }
            #expect(try meta() == "\(expanded)|\(Schema.first)")
            try new.append("b\(number)")
            try old.append("c\(number)")
            #expect(try new.makeReader().lastEvent() == 1 + 2 * LogPosition(number))
        }
        // The last release of the three can't contract yet, and does not go on behind it.
        let newest = try open(last)
        defer { newest.close() }
        #expect(try meta() == "\(expanded)|\(Schema.first)")
        try database.open().close()
        try database.endSessions()
        try old.append("d")
        try newest.append("e")
        // The older one loses its session, and another start is faster than it.
        try database.endSessions()
        let after = try open(last)
        defer { after.close() }
        #expect(try meta() == "\(expanded + 2)|\(expanded)")
        let reason = "a newer release has changed its schema"
        #expect(failure { try old.append("f") } == .replaced(path: old.label, reason: reason))
        old.close()
        let refused = failure { try database.open().close() }
        #expect(try refused == .newer(path: database.label, found: expanded + 2, supported: Schema.version()))
        try open(next).close()
        try newest.append("g")
        try after.append("h")
        #expect(try after.makeReader().lastEvent() == 9)
    }

    @Test("several processes that start at once make the schema once")
    func atOnce() async throws {
        let key = Sealer(try MasterKey(text: Base64.encode([UInt8](repeating: 1, count: 32))))
        for sealer in [nil, key] {
            let database = try TestDatabase()
            let found = try await withThrowingTaskGroup(of: Recovery.self) { group in
                for _ in 1...4 {
                    group.addTask {
                        try await RawHTTP.onThread {
                            let store = try database.open(sealer: sealer)
                            defer { store.close() }
                            return try store.recover()
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(found.map(\.head) == [0, 0, 0, 0])
            #expect(Set(found.map(\.secret.bytes)).count == 1)
        }
    }

    @Test("what can't serve is refused with a sentence")
    func unsuitable() throws {
        func text(_ url: String) -> String {
            failure { try PostgresStore(url: url).close() }?.description ?? "opened"
        }
        let ascii = try TestDatabase(["-E", "SQL_ASCII", "-T", "template0"])
        #expect(text(ascii.url).contains("its encoding is SQL_ASCII; it has to be created with the encoding UTF8"))
        let readOnly = try TestDatabase()
        try readOnly.sql(
            "ALTER DATABASE \(readOnly.sql("SELECT current_database()")) SET default_transaction_read_only = on")
        #expect(text(readOnly.url).contains("read-only"))
        let foreign = try TestDatabase()
        try foreign.sql("CREATE ROLE guest_\(foreign.sql("SELECT current_database()")) LOGIN")
        let guest = try foreign.url.replacing("herald@", with: "guest_\(foreign.sql("SELECT current_database()"))@")
        #expect(text(guest).contains("permission denied"))
        #expect(text("postgres://herald@/x?host=/nonexistent").hasPrefix("The store can't be reached"))
        #expect(
            text("postgres://user:pass@[").contains("not of the form")
                && !text("postgres://user:pass@[").contains("pass"))
    }
}

@Suite("The clock that processes agree on")
struct DatabaseClockTests {
    @Test("is that of the server, whatever the machine's says, from the start and when that is set")
    func server() throws {
        let database = try TestDatabase()
        // It stands still, long ago.
        let machine = ManualClock()
        let store = try PostgresStore(url: database.url, clock: machine.clock)
        defer { store.close() }
        func distance() -> Int64 { abs(machine.clock.wall() + store.clockOffset - Clock.system.wall()) }
        #expect(distance() < 60_000)
        machine.advance(seconds: 7200)
        #expect(distance() > 3_600_000)
        _ = try store.leases?.heartbeat()
        #expect(distance() < 60_000)
    }

    @Test("bounds when the newest events were accepted")
    func newest() throws {
        let database = try TestDatabase()
        let machine = ManualClock()
        let store = try PostgresStore(url: database.url, clock: machine.clock)
        defer { store.close() }
        // Until the next heartbeat, the clock is ahead of that of this process.
        machine.advance(seconds: 7200)
        let now = machine.clock.wall() + store.clockOffset
        func named(_ time: Int64) -> String { ULIDGenerator.text("evt_", time: time, high: 1, low: 1) }
        try store.append(named(now - 40_000), named(now - 20_000))
        let reader = try store.makeReader()
        #expect(try reader.sequence(since: now - 30_000) == 2)
        #expect(try reader.lastEvent(through: now - 30_000) == 1)
    }

    @Test("is corrected by as little as it must be wrong, and not while the machine's clock is set")
    func correction() {
        let clock = DatabaseClock(.system)
        clock.learn(1_000, after: 100, before: 200)
        #expect(clock.offset == 800)
        clock.learn(2_000, after: 1_150, before: 1_250)
        #expect(clock.offset == 800, "it was read when it was 1,200 here")
        clock.learn(3_000, after: 2_195, before: 2_199)
        #expect(clock.offset == 801)
        clock.learn(4_000, after: 3_300, before: 3_400)
        #expect(clock.offset == 700)
        clock.learn(5_000, after: 3_300, before: 3_200)
        #expect(clock.offset == 700)
    }
}

@Suite("A PostgreSQL database that goes away", .timeLimit(.minutes(20)))
struct PostgresLossTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    @Test("a session that was ended while nothing went on is opened again without an error")
    func idle() throws {
        let store = try database.open()
        let reader = try store.makeReader()
        for (number, kind) in [TransactionKind.publishing, .deciding, .publishing].enumerated() {
            try store.append("a\(number)", kind: kind)
            #expect(try reader.lastEvent() == LogPosition(number) + 1)
            #expect(try reader.event(app: .default, id: "a0") != nil)
            try database.endSessions()
        }
        #expect(try store.recover().head == 3)
    }

    @Test("a session whose end a check has found is opened again without an error")
    func checked() throws {
        let store = try database.open()
        for (number, kind) in [TransactionKind.publishing, .deciding].enumerated() {
            try database.endSessions()
            let closed = StoreError.unavailable(reason: "the connection was closed")
            for _ in 1...2 { #expect(failure { try store.checkFiles() } == closed) }
            try store.append("a\(number)", kind: kind)
            try store.checkFiles()
            try store.health()
        }
        #expect(try store.ids() == ["a0", "a1"])
    }

    @Test("a session that ends in a transaction: nothing is written, or it is not known; then it works again")
    func middle() throws {
        let store = try database.open()
        try store.append("a")
        let deciding = failure {
            try store.transaction(.deciding) { transaction throws(StoreError) in
                _ = try? database.endSessions()
                try transaction.append(Event(id: "b"))
                _ = try transaction.event(app: .default, id: "b")
            }
        }
        #expect(
            deciding?.description.hasPrefix("The store can't be reached") == true, "\(String(describing: deciding))")
        #expect(throws: StoreError.self) { try store.health() }
        let publishing = failure {
            try store.transaction(.publishing) { transaction throws(StoreError) in
                _ = try? database.endSessions()
                try transaction.append(Event(id: "c"))
            }
        }
        #expect(publishing?.description.hasPrefix("It is not known") == true, "\(String(describing: publishing))")
        // As the hub does: again, looking for what may be there already.
        try store.transaction(.deciding) { transaction throws(StoreError) in
            if try transaction.event(app: .default, id: "c") == nil { try transaction.append(Event(id: "c")) }
        }
        try store.health()
        #expect(try store.ids() == ["a", "c"])
    }

    /// The writer ends the process when it cannot follow the others for any other reason.
    @Test("a read that an operator has canceled is unavailable, and can be repeated")
    func canceled() async throws {
        let store = try database.open()
        let other = try Database(url: database.url).open(.log)
        for sql in [
            "SELECT set_config('idle_in_transaction_session_timeout', '0', false)", "BEGIN",
            "LOCK TABLE changes IN ACCESS EXCLUSIVE MODE",
        ] { _ = try other.run(Request(Statement(sql)), seconds: 60) }
        async let thrown = RawHTTP.onThread { failure { _ = try store.makeReader().ends(isFresh: true) } }
        try await eventually("the read waits for the table, and is canceled") {
            try database.sql(
                """
                SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """) == "1"
        }
        let error = try await thrown
        other.close()
        #expect(error?.description.hasPrefix("The store can't be reached") == true, "\(String(describing: error))")
        _ = try store.makeReader().ends(isFresh: true)
    }

    @Test("no response is sent when the wait for a synchronous standby was canceled")
    func standby() async throws {
        let server = try PostgresServer()
        let database = try TestDatabase(on: server)
        let store = try database.open()
        defer { store.close() }
        try store.append("a")
        try database.sql("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
        try database.sql("SELECT pg_reload_conf()")
        try await eventually("the setting is there") {
            try database.sql("SHOW synchronous_standby_names") == "absent"
        }
        for (event, kind) in [(LogPosition(2), TransactionKind.publishing), (3, .deciding), (1, .recording)] {
            var made = Checkpoint()
            made.settled = event
            made.attempts = [attempt(1, event)]
            let checkpoint = made
            async let thrown = RawHTTP.onThread {
                failure {
                    try store.transaction(kind) { transaction throws(StoreError) in
                        try transaction.write(checkpoint)
                        if kind != .recording { try transaction.append(Event(id: "b\(kind)")) }
                    }
                }
            }
            try await eventually("the commit waits for the standby, and is canceled") {
                try database.sql(
                    "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1"
            }
            guard case .unknown? = try await thrown
            else { throw Unexpected("\(kind): \(String(describing: try await thrown))") }
            // Events that could still be lost are not delivered.
            #expect(try store.ids() == ["a"])
            if kind != .recording { continue }
            // It is there, so it is not written once more.
            try database.sql("ALTER SYSTEM RESET synchronous_standby_names")
            try database.sql("SELECT pg_reload_conf()")
            try store.transaction(.recording) { transaction throws(StoreError) in try transaction.write(checkpoint) }
            #expect(
                try database.sql("SELECT count(*) FROM herald.attempts WHERE event = \(event)") == "1")
        }
    }
}
