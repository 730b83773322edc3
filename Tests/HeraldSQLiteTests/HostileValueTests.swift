import Glibc
import HeraldCore
import HeraldModel
import HeraldRuntime
import HeraldStore
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

@Suite("Values in a database that Herald cannot have written", .timeLimit(.minutes(20)))
struct HostileValueTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/data" }
    private var database: String { path + "/herald.db" }

    /// With rows in every table.
    private func makeDatabase() throws {
        let store = try SQLiteStore(folder: path)
        try store.transaction { (transaction) throws(StoreError) in
            for key: DelegateKey in 1...3 {
                try transaction.setDelegate(
                    WebhookDelegate(key, expiresAt: key == 2 ? 4_000_000_000_000 : nil) { $0.rateLimit = 9 })
            }
            try transaction.setApp(
                App(
                    key: AppKey(rawValue: 2), id: "app_2",
                    settings: App.Settings(name: "two", maxDelegates: 5, eventsPerSecond: 9, maxStoredBytes: 1 << 20),
                    createdAt: 1, updatedAt: 2, version: 1))
            try transaction.setKey(
                APIKey(
                    app: .default, id: "key_1", name: "a", scopes: [.admin], digest: Array(repeating: 7, count: 32),
                    createdAt: 1, expiresAt: 4_000_000_000_000, lastUsedAt: 5, requestsPerSecond: 9))
            try transaction.setSession(
                Session(
                    digest: Array(repeating: 9, count: 32), kind: .session, app: .default, key: "key_1",
                    expiresAt: 4_000_000_000_000))
            try transaction.setEventType(
                EventTypeRecord(
                    app: .default, type: "a.b", description: "d", example: Array("{}".utf8), schema: Array("{}".utf8),
                    check: .off, createdAt: 1, updatedAt: 2, version: 1))
            try transaction.append(
                (1...2_100).map { Event(id: "e\($0)", subject: "s", attributes: [KeyValue("a", "b")], audience: nil) })
            try transaction.setAuthStatus(
                AuthStatus(
                    app: .default, userID: "u", isLoggedIn: true, user: Array("null".utf8), since: 1, eventID: "e1"))
            try transaction.setAppState(AppState(app: .default, state: Array("{}".utf8), since: 1, eventID: "e1"))
            try transaction.setAnswer(
                StoredAnswer(fingerprint: [1], status: 202, headers: [], body: []), app: .default, key: "k",
                expiresAt: 4_000_000_000_000)
            try transaction.addMark(LogMark(sequence: 5, time: 100))
            try transaction.addAudit(
                AuditEntry(Provenance(actor: "a", address: "b", action: "c"), app: .default, target: "t", time: 1))
            _ = try transaction.addReplay(delegate: 2, after: 1, until: 9, at: 5)
            try transaction.write(checkpoint())
            _ = try transaction.countBlock(0)
            _ = try transaction.countBlock(1)
            _ = try transaction.removeEvents(20...30, limit: 99)
            try transaction.count(Removal(.events, .age, count: 11))
        }
        store.close()
    }

    private func checkpoint() -> Checkpoint {
        var checkpoint = Checkpoint()
        checkpoint.attempts = [attempt(1, 5, status: 500, detail: "d"), attempt(2, 6, status: nil, failure: .timeout)]
        checkpoint.waiting = [
            WaitingDelivery(delegate: 1, event: 5, attempts: 1, dueAt: 99, state: .retrying),
            WaitingDelivery(delegate: 1, event: 7, attempts: 9, dueAt: 99, state: .exhausted),
        ]
        checkpoint.lanes = [LanePosition(delegate: 3, cursor: 2, position: 4)]
        checkpoint.settled = 7
        var slot = DeliveryStatistics(delegate: 1, start: 300_000)
        slot.count(succeeded: true, duration: 5)
        checkpoint.statistics = [slot]
        checkpoint.unannounced = [1: 3]
        return checkpoint
    }

    private struct Column {
        let table, name, type: String

        /// As SQL literals.
        var values: [String] {
            switch type {
            case "INTEGER":
                [
                    "-9223372036854775807 - 1", "-9007199254740992", "-1", "0", "77", "1 << 40", "9007199254740992",
                    "4611686018427387904", "9223372036854775807",
                ]
            case "TEXT":
                [
                    "''", "'x'", "'1:'", "'-1:'", "'9223372036854775807:a'", "'3:inf'", "'3:nan'", "'5:-1e99'",
                    "'255:1'", "'1:9223372036854775807'", "char(0)", "'9:app_state8:whatever'",
                ]
            case "REAL": ["-1.0", "1e308", "9e999", "0.0"]
            default: ["x''", "x'00'", "zeroblob(300)", "CAST('9223372036854775807:a' AS BLOB)"]
            }
        }
    }

    private func columns() throws -> [Column] {
        let connection = try Connection(path: database, .readOnly)
        return try Statement(
            connection,
            """
            SELECT t.name, c.name, c.type FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
            WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid
            """
        ).rows { Column(table: $0.text(0), name: $0.text(1), type: $0.text(2)) }
    }

    /// - Returns: whether a row could be changed.
    private func write(_ value: String, into column: Column) throws -> Bool {
        let connection = try Connection(path: database, .readWrite)
        do throws(StoreError) {
            try connection.execute("UPDATE OR IGNORE \(column.table) SET \(column.name) = \(value)")
        } catch {
            // A rule of the table forbids it.
            return false
        }
        guard connection.changes > 0 else { return false }
        // A program that changes an event can store a checksum that fits.
        if column.table == "events", column.name != "checksum" {
            let rows = try Statement(connection, "SELECT \(LoggedEvent.columns) FROM events ORDER BY sequence")
                .rows { ($0.integer(0), EventChecksum.of($0, at: $0.integer(0))) }
            let update = try Statement(connection, "UPDATE events SET checksum = ?2 WHERE sequence = ?1")
            for (sequence, checksum) in rows {
                update.bind(1, sequence)
                update.bind(2, checksum)
                try update.run()
            }
        }
        _ = try connection.checkpoint(.truncate)
        return true
    }

    /// Reads everything, and writes what a server writes.
    private func use(_ store: SQLiteStore) throws(StoreError) {
        _ = try store.recover()
        _ = try store.recover(.all)
        _ = try store.recover(.all, maxRows: 0)
        let reader = try store.makeReader()
        // Each may refuse what it finds.
        let reads: [() throws -> Void] = [
            { _ = try reader.events(after: 0, limit: 9_999, maxBytes: 1 << 30) },
            { _ = try reader.events(EventQuery()) },
            { _ = try reader.event(app: .default, id: "e5") },
            { _ = try reader.sequence(since: 7) },
            { _ = try reader.lastEvent(before: 900) },
            { _ = try reader.sizes() },
            { _ = try reader.eventSizes(after: 0, through: .max, limit: 99) },
            { _ = try reader.removals() },
            { _ = try reader.progress() },
            { _ = try reader.attempts(event: 5) },
            { _ = try reader.attempts(after: 0, limit: 99) },
            { _ = try reader.attempts(AttemptQuery(delegate: 1)) },
            { _ = try reader.lastAttempt() },
            { _ = try reader.waiting(event: 5) },
            { _ = try reader.deliveries(DeliveryQuery(Set(WaitingDelivery.State.allCases))) },
            { _ = try reader.replays(2) },
            {
                let sum = DeliveryStatistics(delegate: 1, start: 0)
                _ = try reader.statistics(1, since: .min).reduce(into: sum) { $0.add($1) }
            },
            { _ = try reader.audit(before: .max, limit: 9) },
            { _ = try reader.authStatus(app: .default, userID: "u") },
            { _ = try reader.sequences(about: "s", app: .default, after: 0, limit: 9) },
        ]
        for read in reads { try? read() }
        let checkpoint = checkpoint()
        func write(_ body: (any StoreTransaction) throws(StoreError) -> Void) {
            _ = try? store.transaction(.deciding, body)
        }
        let states = Set(WaitingDelivery.State.allCases)
        write { transaction throws(StoreError) in try transaction.write(checkpoint) }
        write { transaction throws(StoreError) in try transaction.append([Event(id: "new")]) }
        write { transaction throws(StoreError) in _ = try transaction.removeEvents(1...40, limit: 50) }
        write { transaction throws(StoreError) in _ = try transaction.answer(app: .default, key: "k", now: 0) }
        write { transaction throws(StoreError) in _ = try transaction.countBlock(0) }
        write { transaction throws(StoreError) in _ = try transaction.removeAttempts(through: .max, limit: 9) }
        write { transaction throws(StoreError) in _ = try transaction.redeliver(DeliveryQuery(states), at: 7) }
        write { transaction throws(StoreError) in _ = try transaction.appState(.default) }
        write { transaction throws(StoreError) in _ = try transaction.erase([5, 6]) }
        write { transaction throws(StoreError) in _ = try transaction.trimAudit(from: 0) }
    }

    /// The whole of a server but HTTP.
    private func serve() throws {
        let store = try SQLiteStore(folder: path)
        let hub = try Hub(store: store, onDurabilityLost: { _ in }, makeSender: { try MemorySender() })
        try? hub.drain()
        hub.stop(grace: 0)
    }

    @Test(
        "are refused with a sentence, or brought into their range, wherever they are",
        arguments: SeededRandom.seeds(variable: "HERALD_HOSTILE_SEED", count: 4))
    func anywhere(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try makeDatabase()
        let whole = try #require(bytes(database))
        let columns = try columns()
        #expect(columns.count > 120)
        for _ in 0..<60 {
            let column = columns[random.number(0...columns.count - 1)]
            let value = column.values[random.number(0...column.values.count - 1)]
            HeraldSQLiteTests.write(whole, to: database)
            guard try write(value, into: column) else { continue }
            try look(at: "\(column.table).\(column.name) = \(value)")
            for name in ["herald.db-wal", "herald.db-shm", "herald.extent", "herald.lock"] { unlink("\(path)/\(name)") }
        }
    }

    @Test("an event with a checksum that fits and attributes that cannot be read is lost in a salvage")
    func unreadableEvent() throws {
        try makeDatabase()
        #expect(try write("'-1:'", into: Column(table: "events", name: "attributes", type: "TEXT")))
        try look(at: "events.attributes")
    }

    @Test(
        "the check names the table and the row of each value that the server cannot read, and a salvage leaves them out"
    )
    func named() throws {
        try makeDatabase()
        let report = try DatabaseCheck.run(path)
        #expect(report.isGood, "\(report.lines)")
        let whole = try #require(bytes(database))
        let cases = [
            ("UPDATE delegates SET status = '' WHERE key = 1", "delegates: row 1 can't be read"),
            ("UPDATE delegates SET secret_terms = '' WHERE key = 2", "delegates: row 2 can't be read"),
            ("UPDATE apps SET portal_language = 'xx'", "apps: row 2 can't be read"),
            ("UPDATE keys SET scopes = 'x'", "keys: row key_1 can't be read"),
            ("UPDATE passes SET kind = 77", "passes: row (32 bytes) can't be read"),
            ("UPDATE event_types SET check_mode = 'x'", "event_types: row 1, a.b can't be read"),
            ("UPDATE event_types SET schema = x'7b'", "event_types: row 1, a.b can't be read: schema is not JSON"),
            ("UPDATE auth_status SET user = x''", "auth_status: row 1, u can't be read"),
            ("UPDATE app_states SET state = CAST('{' AS BLOB)", "app_states: row 1 can't be read: state is not JSON"),
            ("UPDATE answers SET headers = 'garbage'", "answers: row 1, k can't be read"),
            ("INSERT INTO leases VALUES (1, 'lse_1', 1, 2, x'', NULL)", "leases: row 1, lse_1 can't be read"),
            (
                "INSERT INTO leases VALUES (1, CAST(x'6cff' AS TEXT), 1, 2, x'02', NULL)",
                "leases: row 1, l"
            ),
            ("UPDATE attempts SET failure = 'z' || char(27)", "attempts: row "),
            ("UPDATE statistics SET latencies = '3:nan'", "statistics: row 1, 300000 can't be read"),
        ]
        for (change, line) in cases {
            HeraldSQLiteTests.write(whole, to: database)
            try self.change(change)
            let lines = try DatabaseCheck.run(path).lines.filter { !$0.isGood }.map(\.text)
            #expect(lines.contains { $0.hasPrefix(line) }, "\(change): \(lines)")
            #expect(!lines.joined().contains("\u{1B}"))
            let salvaged = TemporaryFolder()
            _ = try Salvage.run(from: path, to: salvaged.path + "/new")
            #expect(try DatabaseCheck.run(salvaged.path + "/new").isGood, "\(change), salvaged")
            for name in ["herald.db-wal", "herald.db-shm"] { unlink("\(path)/\(name)") }
        }
    }

    @Test("a lease whose id is not UTF-8, by which no statement finds it, fails the transaction that would end it")
    func leaseID() throws {
        try makeDatabase()
        try change("INSERT INTO leases VALUES (1, CAST(x'6cff' AS TEXT), 1, 2, x'02', NULL)")
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let thrown = failure {
            try store.transaction { (transaction) throws(StoreError) in
                _ = try transaction.leases(of: 1, endedBy: .max, limit: 4)
            }
        }
        let reason = "it holds an impossible id of a lease, which is no text in UTF-8"
        #expect(thrown == .unreadable(reason: "\(reason), in the table leases, row 1, l\u{FFFD}"))
    }

    @Test("a delivery in an impossible state does not hold up a lease of its neighbors")
    func state() throws {
        try makeDatabase()
        try change("UPDATE waiting SET state = 77 WHERE event = 7")
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        try store.transaction { (transaction) throws(StoreError) in
            // In a range, and in a list.
            #expect(try transaction.waiting(1, [5, 6, 8]).map(\.event) == [5])
            #expect(try transaction.waiting(1, [5, 7, 900]).map(\.event) == [5])
        }
    }

    private func change(_ sql: String) throws {
        let connection = try Connection(path: database, .readWrite)
        try connection.execute(sql)
        _ = try connection.checkpoint(.truncate)
    }

    @Test(
        "a delegate with a time, a number or an id that cannot be read is disabled, and its lease does not end",
        arguments: [
            ("expires_at", "-1"), ("expires_at", "253402300800000"), ("created_at", "-1"), ("updated_at", "1 << 60"),
            ("failing_since", "-9223372036854775807 - 1"), ("version", "-1"), ("start", "-1"), ("app", "-1"),
            ("id", "CAST(x'646c675fff' AS TEXT)"),
        ])
    func delegate(_ column: String, _ value: String) throws {
        try makeDatabase()
        try change("UPDATE delegates SET \(column) = \(value) WHERE key = 2")
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let delegates = try store.recover().delegates
        #expect(delegates.map(\.key) == [1, 2, 3])
        #expect(delegates.map(\.state.isUnreadable) == [false, true, false])
        let damaged = try #require(delegates.first { $0.key == 2 })
        #expect(damaged.state.statusReason == Reason.unreadable(column))
        var state = damaged.state
        #expect(state.apply(.leaseEnded, now: 5_000_000_000_000) == .nothing)
        // What stands for the value can be written. An app and an id are never changed.
        state.apply(.resumed, now: 5)
        try store.transaction { (transaction) throws(StoreError) in
            try transaction.setDelegate(
                WebhookDelegate(
                    app: damaged.app, key: 2, id: damaged.id, state: state, start: damaged.start,
                    createdAt: damaged.createdAt, updatedAt: 5, version: damaged.version + 1))
        }
        let next = try store.recover().delegates.first { $0.key == 2 }
        #expect(next?.state.isUnreadable == ["app", "id"].contains(column))
    }

    @Test(
        "a row of one tenant that cannot be read does not stop the start",
        arguments: [
            "UPDATE passes SET kind = 77", "UPDATE passes SET expires_at = 1 << 60", "UPDATE passes SET app = -1",
            "UPDATE event_types SET check_mode = 'x', version = -1", "UPDATE app_states SET since = 1 << 60",
            "UPDATE app_blocks SET bytes = -1", "UPDATE app_blocks SET block = 1 << 60 WHERE block = 0",
            "INSERT INTO pending_counts (app, events, bytes) VALUES (1, 1 << 60, -1)",
            "UPDATE lanes SET cursor = -1", "UPDATE lanes SET position = 1 << 40", "UPDATE lanes SET position = -1",
            "UPDATE waiting SET due_at = 1 << 60", "UPDATE waiting SET event = -5 WHERE state = 1",
            "UPDATE replays SET cursor = -1", "UPDATE replays SET created_at = 1 << 60",
            "UPDATE unannounced SET count = -1",
        ])
    func started(_ sql: String) throws {
        try makeDatabase()
        try change(sql)
        // A start does not read the time of a state, and brings the count into its range.
        if !sql.contains("app_states"), !sql.contains("unannounced") {
            #expect(try FolderCheck(folder: path).damagedRows.count == 1)
        }
        try serve()
    }

    @Test("a start and a check count the rows that are left out or replaced, and name the first of each table")
    func counted() throws {
        try makeDatabase()
        try change("UPDATE delegates SET expires_at = -1 WHERE key > 1")
        try change("UPDATE passes SET kind = 77")
        try change("UPDATE lanes SET cursor = -1")
        let check = try FolderCheck(folder: path)
        #expect(check.disabled.map(\.key) == [2, 3])
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        for _ in 1...2 {
            _ = try store.recover()
            _ = try store.recover(.all)
        }
        #expect(try store.makeReader().progress().lanes == [LanePosition(delegate: 3, cursor: 0, position: 0)])
        let found = store.damagedRows.findings
        #expect(found == check.damagedRows && store.damagedRows.count == 4)
        #expect(found.map(\.table) == ["delegates", "passes", "lanes"] && found.map(\.count) == [2, 1, 1])
        #expect(found.map(\.row) == ["2, dlg_2", "0909090909090909", "3"])
        #expect(found.first?.reason.contains("impossible expires_at, -1") == true, "\(found)")
    }

    @Test(
        "a lane that cannot be read begins again at its cursor, or at the beginning of the log; a replay keeps its events"
    )
    func lane() throws {
        try makeDatabase()
        try change("UPDATE replays SET cursor = -1")
        for (change, cursor) in [("position = 1 << 40", 2), ("cursor = -1", 0)] as [(String, LogPosition)] {
            try self.change("UPDATE lanes SET \(change)")
            let store = try SQLiteStore(folder: path)
            defer { store.close() }
            _ = try store.recover()
            #expect(try store.recover(.all).lanes == [LanePosition(delegate: 3, cursor: cursor, position: cursor)])
            #expect(try store.makeReader().progress().replays.map(\.cursor) == [1])
        }
    }

    @Test("the events of a block are counted again when a count cannot be read")
    func block() throws {
        try makeDatabase()
        func blocks() throws -> [AppBlock] {
            let store = try SQLiteStore(folder: path)
            defer { store.close() }
            return try store.recover().blocks.sorted { $0.block < $1.block }
        }
        try change("DELETE FROM app_blocks")
        let found = try blocks()
        #expect(found.map(\.block) == [0, 1, 2])
        for damage in [
            "bytes = -1 WHERE block = 0", "app = -1 WHERE block = 1", "block = 1 << 40 WHERE block = 1",
            "block = 1 << 40 WHERE block = 0", "block = -7 WHERE block = 0",
        ] {
            try change("UPDATE app_blocks SET \(damage)")
            #expect(try blocks() == found, "\(damage)")
        }
    }

    @Test("an event with an impossible app is counted for no app: it holds up neither a start nor retention")
    func owner() throws {
        try makeDatabase()
        try change("UPDATE events SET app = -sequence WHERE sequence IN (40, 41, 2100)")
        try change("DELETE FROM app_blocks")
        _ = try FolderCheck(folder: path)
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let blocks = try store.recover().blocks.filter { $0.app == AppKey(rawValue: 0) }
        #expect(blocks.map(\.block).sorted() == [0, 2] && blocks.reduce(0) { $0 + $1.events } == 3)
        try store.transaction { (transaction) throws(StoreError) in
            _ = try transaction.removeEvents(31...40, limit: 99)
            let counted = try transaction.countBlock(0)
            #expect(counted.first { $0.app == AppKey(rawValue: 0) }?.events == 1)
        }
    }

    @Test("statistics and volumes that cannot be read hold up neither a checkpoint nor retention")
    func statistics() throws {
        try makeDatabase()
        try change("UPDATE statistics SET latencies = '3:nan'")
        let hour = Volume.hour
        try change("INSERT INTO volumes VALUES (-1, 'a', \(hour + 1), 1, 1, 1), (1, 'a', \(hour + 1), 1, 1, 1)")
        let checkpoint = checkpoint()
        let first = try SQLiteStore(folder: path)
        try first.transaction { (transaction) throws(StoreError) in try transaction.write(checkpoint) }
        #expect(try first.makeReader().statistics(1, since: 0) == checkpoint.statistics)
        first.close()
        try change("UPDATE statistics SET latencies = '3:nan'")
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        try store.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.removeStatistics(before: 2 * hour, limit: 99) == 2)
        }
        let reader = try store.makeReader()
        #expect(try reader.statistics(1, since: 0).isEmpty)
        var query = VolumeQuery(0...2 * hour)
        query.app = .default
        #expect(try reader.volumes(query).map(\.start) == [hour])
    }

    @Test(
        "a key or an app with an id that is not UTF-8 is refused at the start, and the error names the row",
        arguments: [
            ("keys", "id = CAST(x'6b65795fff' AS TEXT)", "id", "key_\u{FFFD}"),
            ("apps", "id = CAST(x'6170705fff' AS TEXT)", "id", "2"),
            ("apps", "name = CAST(x'ff' AS TEXT)", "name", "2"),
        ])
    func words(_ table: String, _ assignment: String, _ column: String, _ row: String) throws {
        try makeDatabase()
        try change("UPDATE \(table) SET \(assignment)")
        let thrown = failure {
            let store = try SQLiteStore(folder: path)
            defer { store.close() }
            _ = try store.recover()
        }
        let reason = "it holds an impossible \(column), which is no text in UTF-8, in the table \(table), row \(row)"
        #expect(thrown == .unreadable(reason: reason))
    }

    private func look(at place: String) throws {
        try expectRefusal(place) {
            let store = try SQLiteStore(folder: path)
            defer { store.close() }
            try use(store)
        }
        try expectRefusal(place) { try serve() }
        let salvaged = TemporaryFolder()
        try expectRefusal(place) {
            _ = try DatabaseCheck.run(path)
            let report = try? Salvage.run(from: path, to: salvaged.path + "/new")
            guard report != nil else { return }
            #expect(try DatabaseCheck.run(salvaged.path + "/new").isGood, "\(place), salvaged")
        }
    }

    private func expectRefusal(_ place: String, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as StoreError {
            switch error {
            case .corrupt, .unreadable, .newer, .older: break
            default: Issue.record("\(place): \(error)")
            }
        }
    }
}
