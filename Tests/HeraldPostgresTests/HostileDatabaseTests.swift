import HeraldModel
import HeraldRuntime
import HeraldStore
import HeraldTestSupport
import Testing

@testable import HeraldPostgres

@Suite("A PostgreSQL database that others have changed, or can reach", .timeLimit(.minutes(20)))
struct HostileDatabaseTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    private func isRefused(_ error: StoreError?) -> Bool {
        switch error {
        case .corrupt, .unreadable, .newer, .older: true
        default: false
        }
    }

    @Test(
        "a wrong version is refused with a sentence",
        arguments: [
            "UPDATE herald.meta SET version = -1", "UPDATE herald.meta SET oldest_version = -9223372036854775808",
            "UPDATE herald.meta SET version = 0", "DELETE FROM herald.meta",
            "INSERT INTO herald.meta VALUES (1, 1)", "DROP TABLE herald.meta", "DROP TABLE herald.waiting",
            "ALTER TABLE herald.delegates DROP COLUMN url",
        ])
    func version(sql: String) throws {
        try database.open().close()
        try database.sql(sql)
        let error = failure {
            let store = try database.open()
            defer { store.close() }
            _ = try store.recover()
            _ = try store.recover(.all)
        }
        #expect(isRefused(error), "\(sql): \(String(describing: error))")
    }

    private static let numbers = ["-9223372036854775808", "-1", "9007199254740992", "9223372036854775807"]
    private static let texts = ["''", "'x'", "'-1:'", "'9223372036854775807:a'", "'255:1'", "'1:9223372036854775807'"]

    @Test(
        "no value in a row ends the process: it is refused with a sentence, or brought into its range",
        arguments: SeededRandom.seeds(variable: "HERALD_HOSTILE_SEED", count: 2))
    func values(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let template = try TestDatabase()
        try fill(try template.open())
        try template.endSessions()
        let name = try template.sql("SELECT current_database()").trimmed
        let columns = try template.sql(
            """
            SELECT table_name, column_name, data_type FROM information_schema.columns
            WHERE table_schema = 'herald' AND table_name !~ '_[0-9]+$' AND data_type IN ('bigint', 'text') ORDER BY 1, 2
            """
        ).split(separator: "\n").map { $0.split(separator: "|").map(String.init) }
        #expect(columns.count > 80)
        for _ in 0..<20 {
            let column = columns[random.number(0...columns.count - 1)]
            let values = column[2] == "text" ? Self.texts : Self.numbers
            let value = values[random.number(0...values.count - 1)]
            let place = "\(column[0]).\(column[1]) = \(value)"
            let database = try TestDatabase(["--template", name])
            // A rule of the table may forbid it.
            guard (try? database.sql("UPDATE herald.\(column[0]) SET \"\(column[1])\" = \(value)")) != nil else {
                continue
            }
            let error = failure {
                let store = try database.open()
                defer { store.close() }
                use(store)
                _ = try store.recover()
                _ = try store.recover(.all)
            }
            #expect(error == nil || isRefused(error), "\(place): \(String(describing: error))")
        }
    }

    private func fill(_ store: PostgresStore) throws {
        defer { store.close() }
        try store.transaction(.deciding) { (transaction) throws(StoreError) in
            for key: DelegateKey in 1...2 { try transaction.setDelegate(WebhookDelegate(key)) }
            try transaction.append((1...40).map { Event(id: "e\($0)", subject: "s") })
            try transaction.addMark(LogMark(sequence: 5, time: 100))
            _ = try transaction.addReplay(delegate: 2, after: 1, until: 9, at: 5)
            var checkpoint = Checkpoint()
            checkpoint.attempts = [attempt(1, 5, status: 500), attempt(2, 6)]
            checkpoint.waiting = [WaitingDelivery(delegate: 1, event: 5, attempts: 1, dueAt: 99, state: .retrying)]
            checkpoint.lanes = [LanePosition(delegate: 2, cursor: 2, position: 4)]
            var slot = DeliveryStatistics(delegate: 1, start: 300_000)
            slot.count(succeeded: true, duration: 5)
            checkpoint.statistics = [slot]
            checkpoint.unannounced = [1: 3]
            try transaction.write(checkpoint)
            try transaction.count(Removal(.events, .age, count: 11))
            try transaction.record([.delegate(1)], name: 7)
        }
    }

    @Test(
        "a row of one tenant that cannot be read does not stop the start",
        arguments: [
            "delegates SET expires_at = -1", "delegates SET created_at = -9223372036854775808",
            "delegates SET app = -1",
            "lanes SET cursor = -1", "lanes SET position = 9007199254740991",
            "waiting SET due_at = 9223372036854775807",
            "waiting SET event = -1", "replays SET cursor = -1",
        ])
    func started(_ change: String) throws {
        try fill(try database.open())
        try database.sql("UPDATE herald.\(change)")
        let store = try database.open()
        let delegates = try store.recover().delegates
        #expect(delegates.map(\.key) == [1, 2])
        #expect(delegates.allSatisfy { $0.state.isUnreadable == change.hasPrefix("delegates") })
        let lanes = try store.recover(.all).lanes
        #expect(lanes.map(\.cursor) == [change.hasPrefix("lanes SET cursor") ? 0 : 2])
        let table = String(change.prefix { $0 != " " })
        // Retention and reports read the others, too.
        let progress = try store.makeReader().progress()
        #expect(progress.lanes.map(\.delegate) == [2])
        // Retention keeps the events of a replay that cannot be read.
        #expect(progress.replays.map(\.cursor) == [1] && progress.replays.map(\.until) == [9])
        #expect(store.damagedRows.findings.map(\.table) == [table])
        let check = try PostgresCheck(url: database.url)
        #expect(check.damagedRows == store.damagedRows.findings)
        #expect(check.disabled.count == (table == "delegates" ? 2 : 0))
    }

    @Test("an event with an impossible app is counted for no app: it holds up neither a start nor retention")
    func owner() throws {
        try fill(try database.open())
        try database.sql("UPDATE herald.events SET app = -sequence WHERE sequence IN (10, 11)")
        let store = try database.open()
        let noApp = AppKey(rawValue: 0)
        #expect(try store.recover().blocks.filter { $0.app == noApp }.map(\.events) == [2])
        try store.transaction { (transaction) throws(StoreError) in
            _ = try transaction.removeEvents(6...10, limit: 99)
            let counted = try transaction.countBlock(0)
            #expect(counted.first { $0.app == noApp }?.events == 1)
        }
        let rows = try store.makeReader().rows(of: [.block(0)])
        #expect(rows.blocks.first { $0.app == noApp }?.events == 1)
    }

    @Test("statistics that cannot be read hold up neither a checkpoint nor retention")
    func statistics() throws {
        try fill(try database.open())
        try database.sql("UPDATE herald.statistics SET latencies = '3:nan'")
        let store = try database.open()
        var slot = DeliveryStatistics(delegate: 1, start: 300_000)
        slot.count(succeeded: true, duration: 7)
        var checkpoint = Checkpoint()
        checkpoint.statistics = [slot]
        let written = checkpoint
        try store.transaction(.recording) { (transaction) throws(StoreError) in try transaction.write(written) }
        #expect(try store.makeReader().statistics(1, since: 0) == [slot])
        try database.sql("UPDATE herald.statistics SET latencies = '3:nan'")
        try store.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.removeStatistics(before: 2 * Volume.hour, limit: 99) == 1)
        }
        #expect(try store.makeReader().statistics(1, since: 0).isEmpty)
    }

    @Test("a changed row that cannot be read does not hold up the other changes, and admits no more than before")
    func changed() throws {
        let store = try database.open()
        try store.transaction { (transaction) throws(StoreError) in
            for number: Int64 in 2...3 {
                try transaction.setApp(
                    App(
                        key: AppKey(rawValue: number), id: "app_\(number)", settings: App.Settings(name: "\(number)"),
                        createdAt: 1, updatedAt: 2, version: 1))
                try transaction.setKey(
                    APIKey(
                        id: "key_\(number)", name: "a", scopes: [.admin],
                        digest: Array(repeating: UInt8(number), count: 32), createdAt: 1))
                try transaction.setSession(
                    Session(
                        digest: Array(repeating: UInt8(number), count: 32), kind: .session, app: .default, key: "key_2",
                        expiresAt: 4_000_000_000_000))
                try transaction.setEventType(
                    EventTypeRecord(
                        app: .default, type: "a.b\(number)", description: "d", example: nil, schema: Array("{}".utf8),
                        check: .off, createdAt: 1, updatedAt: 2, version: 1))
            }
        }
        try database.sql("UPDATE herald.apps SET version = -1 WHERE key = 2")
        try database.sql("UPDATE herald.keys SET scopes = 'x' WHERE id = 'key_2'")
        try database.sql("UPDATE herald.passes SET expires_at = 9223372036854775807 WHERE digest = '\\x\(digest(2))'")
        try database.sql("UPDATE herald.event_types SET check_mode = 'x' WHERE type = 'a.b2'")
        var changes: Set<Change> = []
        for number: Int64 in 2...3 {
            changes.formUnion([
                .app(AppKey(rawValue: number)), .key("key_\(number)"), .eventType("a.b\(number)", .default),
                .session(Array(repeating: UInt8(number), count: 32)),
            ])
        }
        let rows = try store.makeReader().rows(of: changes)
        #expect(rows.apps.map(\.id) == ["app_3"] && rows.unreadable == [.app(AppKey(rawValue: 2))])
        let keys = rows.keys.sorted { $0.id < $1.id }
        #expect(keys.map(\.id) == ["key_2", "key_3"] && keys.map(\.scopes) == [[], [.admin]])
        #expect(keys.map { $0.isValid(at: 5) } == [false, true] && keys.first?.digest == [])
        #expect(rows.sessions.map(\.digest) == [Array(repeating: 3, count: 32)])
        let types = rows.eventTypes.sorted { $0.type < $1.type }
        #expect(types.map(\.check) == [.enforce, .off] && types.allSatisfy { $0.schema != nil })
        let found = store.damagedRows.findings
        #expect(found.map(\.table) == ["keys", "passes", "apps", "event_types"])
        #expect(found.map(\.row) == ["key_2", "0202020202020202", "2", "1, a.b2"] && store.damagedRows.count == 4)
    }

    private func digest(_ byte: Int) -> String { String(repeating: "0\(byte)", count: 32) }

    @Test(
        "a check refuses what a start refuses, also in delegates and lanes",
        arguments: ["delegates SET key = -1 WHERE key = 1", "shards SET settled = -1", "apps SET version = -1"])
    func check(_ change: String) throws {
        let store = try database.open()
        try store.transaction { (transaction) throws(StoreError) in
            try transaction.setApp(
                App(
                    key: AppKey(rawValue: 2), id: "app_2", settings: App.Settings(name: "two"), createdAt: 1,
                    updatedAt: 2,
                    version: 1))
        }
        try fill(store)
        #expect(try PostgresCheck(url: database.url).keys?.isEmpty == true)
        try database.sql("UPDATE herald.\(change)")
        #expect(isRefused(failure { _ = try PostgresCheck(url: database.url) }))
    }

    @Test("a check finds no tables that a server makes at the same time")
    func snapshot() throws {
        let writer = Writer(try Database(url: database.url))
        try writer.connect()
        let found = try writer.inSnapshot { () throws(StoreError) -> Int? in
            _ = try writer.run(Request(Statement("SELECT 1")))
            try PostgresStore(url: database.url, partitionSize: Partitions.size).close()
            return try Migration.version(writer, Schema.migrations)
        }
        #expect(found == nil)
        #expect(try Migration.version(writer, Schema.migrations) == Schema.version())
    }

    /// Each may be refused.
    private func use(_ store: PostgresStore) {
        guard let reader = try? store.makeReader() else { return }
        _ = try? reader.events(after: 0, limit: 99, maxBytes: 1 << 20)
        _ = try? reader.events(EventQuery())
        _ = try? reader.sequence(since: 7)
        _ = try? reader.sizes()
        _ = try? reader.removals()
        _ = try? reader.progress()
        _ = try? reader.attempts(after: 0, limit: 9)
        _ = try? reader.attempts(AttemptQuery(delegate: 1))
        _ = try? reader.deliveries(DeliveryQuery(Set(WaitingDelivery.State.allCases)))
        _ = try? reader.statistics(1, since: .min)
        _ = try? reader.changes(after: 0, limit: 9)
        _ = try? reader.nodes()
        _ = try? reader.moves(since: 0)
        _ = try? store.transaction(.publishing) { transaction throws(StoreError) in
            try transaction.append([Event(id: "n")])
        }
        try? store.write([attempt(1, 7)])
        _ = try? store.checkpointIfDue()
    }

    @Test("other roles that may connect are named at the start, with the command that keeps them out")
    func roles() throws {
        let found = try database.sql("SELECT current_database()").trimmed
        let name = "stranger_of_\(found)"
        try database.sql("CREATE ROLE \(name) LOGIN")
        let store = try database.open()
        let risk = try #require(store.risks.first { $0.text.contains("holding its locks") })
        store.close()
        #expect(risk.advice.contains("REVOKE CONNECT ON DATABASE"))
        try database.sql("REVOKE CONNECT ON DATABASE \(found) FROM PUBLIC")
        let closed = try database.open()
        #expect(!closed.risks.contains { $0.text.contains(name) })
        try database.sql("DROP ROLE \(name)")
    }

    @Test(
        "the holder of a lock of the log is reported",
        arguments: [(Schema.orderLock, TransactionKind.deciding), (Schema.progressLock, TransactionKind.recording)])
    func holder(lock: Int64, kind: TransactionKind) throws {
        let store = try database.open()
        let (isHeld, isOver) = (Flag(), Flag())
        RawHTTP.start {
            let other = try? Database(url: database.url).open(.log)
            _ = try? other?.run(
                Request(Statement("SELECT pg_advisory_lock(\(lock))")), seconds: 60)
            isHeld.set()
            try? blockUntil("the test is over") { isOver.isSet }
            other?.close()
        }
        defer { isOver.set() }
        try blockUntil("the lock is held") { isHeld.isSet }
        var checkpoint = Checkpoint()
        checkpoint.caughtUp = [1]
        let thrown = failure {
            try store.transaction(kind) { transaction throws(StoreError) in try transaction.write(checkpoint) }
        }
        let text = thrown?.description ?? "it was written without the lock"
        #expect(text.hasPrefix("The store can't be reached") && text.contains("the role herald, process"), "\(text)")
    }

    @Test(
        "of a lock of a table the session that holds it is reported, and none that waits for it, too",
        arguments: [true, false])
    func holderOfTable(another: Bool) throws {
        let store = try database.open()
        let url = database.url
        /// A session that runs these until the test is over.
        @Sendable func session(_ statements: [String]) throws -> PostgresSession {
            let session = try Database(url: url).open(.log)
            let settings = ["lock_timeout", "idle_in_transaction_session_timeout"].map {
                "SELECT set_config('\($0)', '0', false)"
            }
            for sql in settings + statements { _ = try session.run(Request(Statement(sql)), seconds: 60) }
            return session
        }
        let holder = try session(["BEGIN", "LOCK TABLE attempts"])
        defer { holder.close() }
        let (process, isOver) = (Recorder<Int64>(), Flag())
        if another {
            RawHTTP.start {
                let waiting = try? session(["BEGIN", "SELECT pg_advisory_xact_lock(\(Schema.orderLock))"])
                process.record(waiting?.serverProcess ?? 0)
                _ = try? waiting?.run(Request(Statement("LOCK TABLE attempts IN ROW EXCLUSIVE MODE")), seconds: 60)
                isOver.set()
            }
            try blockUntil("another session waits") {
                try database.sql("SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND NOT granted") == "1"
            }
        }
        let thrown = failure { try store.write([attempt(1, 7)]) }
        let text = thrown?.description ?? "it was written without the lock"
        #expect(text.contains("the role herald, process \(holder.serverProcess)"), "\(text), \(process.items)")
        holder.close()
        if another { try blockUntil("the other session is over") { isOver.isSet } }
    }

    @Test("an error of a transaction stays, whatever lock other work has waited for before")
    func holderOfOther() throws {
        let store = try database.open(partitionSize: 1000)
        try store.fill(partitions: 3)
        try store.transaction { transaction throws(StoreError) in
            _ = try transaction.removeEvents(1...1_500, limit: 5_000)
        }
        let other = try Database(url: database.url).open(.log)
        defer { other.close() }
        for sql in [
            "SELECT set_config('idle_in_transaction_session_timeout', '0', false)",
            "SELECT pg_advisory_lock(\(Schema.orderLock))", "BEGIN", "LOCK TABLE events IN ACCESS SHARE MODE",
        ] { _ = try other.run(Request(Statement(sql)), seconds: 60) }
        // The drop of the first partition waits in vain.
        _ = try store.checkpointIfDue()
        #expect(failure { try store.transaction(.recording) { _ throws(StoreError) in throw .full } } == .full)
    }

    @Test(
        "a connection to another machine that may be without encryption is a risk",
        arguments: [
            ("postgres://h@db1/x", true), ("postgres://h@db1/x?sslmode=disable", true),
            ("postgres://h@db1,localhost/x?sslmode=prefer", true), ("postgres://h@db1/x?sslmode=require", false),
            ("postgres://h@db1/x?sslmode=verify-full", false), ("postgres://h@localhost/x", false),
            ("postgres://h@127.0.0.1/x", false), ("postgres://h@/x?host=/run/postgresql", false),
        ])
    func encryption(url: String, isRisk: Bool) throws {
        #expect((try Database(url: url).risk != nil) == isRisk)
    }
}

extension String {
    fileprivate var trimmed: String { String(drop { $0.isWhitespace }.prefix { !$0.isWhitespace }) }
}
