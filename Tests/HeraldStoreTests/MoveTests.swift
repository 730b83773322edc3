import HeraldModel
import HeraldPostgres
import HeraldReceiver
import HeraldSQLite
import HeraldStore
import HeraldTestSupport
import Testing

@Suite("A move from a store to another one", .timeLimit(.minutes(20)))
struct MoveTests {
    /// A store that can be closed, moved, and opened again.
    private final class Place {
        let folder = TemporaryFolder()
        private let url: String?

        init(_ kind: StoreKind) throws {
            url = kind == .postgres ? try PostgresServer.shared().makeDatabase() : nil
        }

        deinit { if let url { try? PostgresServer.shared().drop(url) } }

        func open() throws -> any EventStore {
            if let url { return try PostgresStore(url: url) }
            return try SQLiteStore(folder: folder.path + "/data")
        }

        func use<Result>(_ body: (any EventStore) throws -> Result) throws -> Result {
            let store = try open()
            defer { store.close() }
            return try body(store)
        }

        func source() throws -> any MoveEnd {
            if let url { return try PostgresMoveEnd(source: url) }
            return try SQLiteMoveEnd(source: folder.path + "/data")
        }

        func target() throws -> any MoveEnd {
            if let url { return try PostgresMoveEnd(target: url) }
            return try SQLiteMoveEnd(target: folder.path + "/data")
        }

        func sql(_ text: String) throws { try PostgresServer.shared().sql(text, try #require(url)) }

        func check() throws -> Bool { try url != nil || DatabaseCheck.run(folder.path + "/data").isGood }
    }

    private static let directions: [(StoreKind, StoreKind)] = [(.sqlite, .postgres), (.postgres, .sqlite)]

    @discardableResult
    private func move(_ from: Place, _ to: Place) throws -> Move.Summary {
        try Move(from: from.source(), to: to.target()).run()
    }

    // MARK: Content

    private let other = AppKey(rawValue: 2)

    private func append(_ store: any EventStore, _ numbers: ClosedRange<Int>) throws {
        try store.transaction { (transaction) throws(StoreError) in
            try transaction.append(
                numbers.map { number in
                    Event(
                        // What PostgreSQL has to escape.
                        number < 1000 && number % 5 == 0 ? "a\0b" : "order.paid", id: "e\(number)",
                        subject: number % 3 == 0 ? "user:\(number)" : nil, time: Int64(number) * 1000,
                        attributes: number < 1000 && number % 4 == 0 ? [KeyValue("source", "/\u{10FFFF}")] : [],
                        audience: number == 7 ? 2 : nil,
                        data: "{\"n\":\(number),\"text\":\"\(String(repeating: "x", count: number % 700))\"}",
                        app: number % 6 == 0 ? other : .default)
                })
        }
    }

    private func record(_ store: any EventStore, _ attempts: [AttemptRecord]) throws {
        var checkpoint = Checkpoint()
        checkpoint.attempts = attempts
        try store.transaction(.recording) { (transaction) throws(StoreError) in try transaction.write(checkpoint) }
    }

    /// Something in every table.
    /// - Parameter count: of events, at least 400.
    private func fill(_ store: any EventStore, _ count: Int64 = 400) throws {
        try append(store, 1...Int(count))
        try store.transaction { (transaction) throws(StoreError) in
            for key: DelegateKey in 1...6 {
                try transaction.setDelegate(
                    WebhookDelegate(key, status: key == 3 ? .paused : .active) { settings in
                        if key == 2 { settings.headers = [KeyValue("x", "y")] }
                    })
            }
            for key: Int64 in 2...4 {
                try transaction.setApp(
                    App(
                        key: AppKey(rawValue: key), id: "app_\(key)",
                        settings: App.Settings(
                            name: "n\(key)", maxDelegates: 7,
                            portal: Portal(title: "t", frameOrigins: ["https://a.example"])), createdAt: 5,
                        updatedAt: 6, version: 1
                    ))
            }
            try transaction.setKey(APIKey(id: "key_1", name: "k", scopes: [.publish], digest: [1, 0], createdAt: 5))
            try transaction.setSession(Session(digest: [2], kind: .link, app: other, key: "key_1", expiresAt: 9))
            try transaction.setEventType(
                EventTypeRecord(
                    app: .default, type: "a.b", description: "d\0", example: [49], schema: nil, check: .off,
                    createdAt: 1,
                    updatedAt: 1, version: 1))
            try transaction.setAuthStatus(
                AuthStatus(app: other, userID: "42", isLoggedIn: true, user: [123, 125], since: 5, eventID: "e6"))
            try transaction.setAppState(AppState(app: .default, state: [49], since: 1, eventID: "e1"))
            try transaction.setAnswer(
                StoredAnswer(fingerprint: [1], status: 202, headers: [KeyValue("a", "b")], body: []), app: .default,
                key: "idem", expiresAt: 99)
            for number: Int64 in 1...3 {
                try transaction.addMark(LogMark(sequence: number * 900, time: number * 900_000))
                try transaction.addAudit(
                    AuditEntry(
                        Provenance(actor: "key_1", address: "::1", action: "POST /x"), app: .default,
                        target: number == 2 ? nil : "t", time: number))
            }
            try transaction.count(Removal(.events, .age, count: 12))
            for block in 0..<count >> 10 { _ = try transaction.countBlock(block) }
            _ = try transaction.addReplay(delegate: 2, after: 5, until: 90, at: 7)
            try transaction.addPending(Event(id: "later", subject: "s", data: "[1]"), dueAt: 77)
            try transaction.addPending(Event(id: "later", attributes: [KeyValue("a", "b")], app: other), dueAt: 78)
            for app in [.default, other] {
                let bytes = try transaction.pending(app: app, id: "later")?.event.storedBytes ?? 0
                try transaction.setPendingCount(PendingCount(app: app, events: 1, bytes: Int64(bytes)))
            }
            let ended = try transaction.addReplay(delegate: 2, after: 5, until: 91, at: 7)
            _ = try transaction.removeReplay(ended.id, of: 2)
        }
        // Who records has the shards.
        _ = try store.recover(.all)
        for start in [1, count / 3, count * 2 / 3] {
            try record(
                store,
                (start..<start + count / 4).flatMap { event in
                    (1...4).map { attempt($0, event, status: event % 50 == $0 ? 500 : 200, excerpt: "ok") }
                })
        }
        var checkpoint = Checkpoint()
        checkpoint.settled = count - 100
        checkpoint.shards = .all
        // Nothing was attempted behind it.
        checkpoint.lanes = [LanePosition(delegate: 4, cursor: 200, position: count * 11 / 12)]
        checkpoint.waiting = [
            WaitingDelivery(delegate: 1, event: 50, attempts: 3, dueAt: 900, state: .retrying),
            WaitingDelivery(delegate: 2, event: count - 50, attempts: 3, dueAt: 901, state: .exhausted),
        ]
        checkpoint.statistics = [DeliveryStatistics(delegate: 1, start: 300, delivered: 5, failed: 1)]
        checkpoint.unannounced = [3: 4]
        try store.transaction(.recording) { [checkpoint] (transaction) throws(StoreError) in
            try transaction.write(checkpoint)
        }
        try store.transaction { (transaction) throws(StoreError) in
            try transaction.removeDelegate(6, at: 30)
            try transaction.removeApp(AppKey(rawValue: 4), at: 31)
            _ = try transaction.erase([9, 12])
            _ = try transaction.removeEvents(1...5, limit: 500)
            _ = try transaction.removeEvents(100...119, limit: 500)
            _ = try transaction.removeAttempts(through: 3, limit: 2)
        }
    }

    /// All that the ports tell, as text.
    private func content(_ store: any EventStore) throws -> [String] {
        let reader = try store.makeReader()
        let found = try store.found()
        var lines: [String] = []
        var after: LogPosition = 0
        while true {
            let batch = try reader.events(after: after, limit: 500, maxBytes: .max)
            if batch.events.isEmpty { break }
            for (index, event) in batch.events.enumerated() {
                lines.append(
                    "\(batch.first + Int64(index)) \(event.app) \(event.id) \(event.type) \(event.subject ?? "-") "
                        + "\(event.time) \(event.audience ?? 0) \(event.attribute("source") ?? "-") "
                        + String(decoding: event.data, as: UTF8.self))
            }
            after = batch.first + Int64(batch.events.count) - 1
        }
        for delegate: DelegateKey in 1...7 {
            for succeeded in [nil, true, false] where found.delegates.contains(where: { $0.key == delegate }) {
                var query = AttemptQuery(delegate: delegate)
                (query.limit, query.succeeded) = (5000, succeeded)
                lines += try reader.attempts(query).map { "\(delegate) \($0)" }
            }
            lines += try reader.replays(delegate).map { "\($0)" }
            lines += try reader.statistics(delegate, since: 0).map { "\($0)" }
            lines.append(try reader.deletedDelegateID(delegate) ?? "-")
        }
        for event: LogPosition in [9, 50, 200, 350, 2950] {
            lines += try reader.attempts(event: event).map { "\($0)" }
            lines += try reader.waiting(event: event).map { "\($0)" }
        }
        lines += try reader.audit(before: .max, limit: 99).map { "\($0)" }
        lines += try reader.removals().map { "\($0)" }.sorted()
        lines.append("\(try reader.firstEvent()) \(try reader.lastEvent()) \(try reader.sequence(since: 1_000_000))")
        lines.append("\(String(describing: try reader.authStatus(app: other, userID: "42")))")
        try store.transaction { (transaction) throws(StoreError) in
            let answer = try transaction.answer(app: .default, key: "idem", now: 1)
            lines.append("\(String(describing: answer))")
        }
        for app in [.default, other] {
            let pending = try reader.pending(app: app, id: "later")
            lines.append(
                "\(pending?.key ?? 0) \(pending?.dueAt ?? 0) \(pending.map { "\($0.event.attributes) \($0.event.body)" } ?? "")"
            )
        }
        lines.append("\(found.pending)")
        for type in found.eventTypes { lines.append("\(try reader.eventTypes([type.type], app: type.app))") }
        for state in found.appStates { lines.append("\(String(describing: try reader.appState(state.app)))") }
        lines += [
            "\(found.head) \(found.first) \(found.nextDelegateKey) \(found.nextAppKey)", "\(found.appStates)",
            // A store may encode a text longer than another one does, so their bytes differ.
            "\(found.eventTypes.map { "\($0.app) \($0.type) \($0.check) \($0.hasSchema) \($0.version)" })",
            "\(found.keys)", "\(found.sessions)", "\(found.apps)", "\(found.secret.bytes)",
            "\(String(describing: found.lastMark))", "\(found.settled) \(found.lanes)", "\(found.waiting)",
            "\(found.replays)", "\(found.unannounced)",
        ]
        lines += found.blocks.filter { $0.block < AppBlock.number(of: found.head + 1) }.map { "\($0)" }.sorted()
        lines += found.decided.map { "\($0)" }.sorted()
        lines += found.delegates.map { "\($0.key) \($0.id) \($0.app) \($0.start) \($0.version) \($0.state)" }
        return lines
    }

    private func expectEqual(_ found: [String], _ expected: [String]) {
        guard found != expected else { return }
        for line in found.difference(from: expected).prefix(10) { Issue.record("\(line)") }
    }

    @Test("everything is the same there, and when it is back", arguments: directions)
    func thereAndBack(_ kinds: (StoreKind, StoreKind)) throws {
        let (here, there, back) = (try Place(kinds.0), try Place(kinds.1), try Place(kinds.0))
        let before = try here.use { store in
            try fill(store, 3000)
            return try content(store)
        }
        let summary = try move(here, there)
        #expect(summary.events == 2975 && summary.attempts > 8000)
        expectEqual(try there.use(content), before)
        #expect(try there.check())
        try move(there, back)
        expectEqual(try back.use(content), before)
        #expect(try back.check())
        // Numbers go on behind all that were given.
        for place in [there, back] where try place.source().state == nil {
            try place.use { store in
                let last = try store.makeReader().lastAttempt()
                _ = try store.recover(.all)
                try record(store, [attempt(1, 2999), attempt(2, 2999)])
                let attempts = try store.makeReader().attempts(event: 2999)
                #expect(attempts.count == 2 && attempts.allSatisfy { $0.id > last })
                var replay: Int64 = 0
                try store.transaction { (transaction) throws(StoreError) in
                    replay = try transaction.addReplay(delegate: 1, after: 1, until: 2, at: 3).id
                }
                #expect(replay == 3)
                var query = AttemptQuery(delegate: 1)
                query.limit = 5000
                #expect(try store.makeReader().attempts(query).count > 2000)
            }
        }
    }

    @Test(
        "no server starts on a store while it is copied, and nothing is copied while a server uses it",
        arguments: directions)
    func servers(_ kinds: (StoreKind, StoreKind)) throws {
        let (here, there) = (try Place(kinds.0), try Place(kinds.1))
        try here.use { store in
            try append(store, 1...3)
            #expect(throws: MaintenanceError.self) { try here.source() }
        }
        _ = try there.use { _ in #expect(throws: MaintenanceError.self) { try there.target() } }
        let empty = try Place(kinds.1)
        let ends = (try here.source(), try empty.target())
        for place in [here, empty] { #expect(throws: StoreError.self) { try place.open() } }
        #expect(throws: MaintenanceError.self) { try here.source() }
        #expect(throws: MaintenanceError.self) { try empty.target() }
        #expect(try Move(from: ends.0, to: ends.1).run().events == 3)
    }

    @Test("a store that was moved away gets everything back as it is then, and nothing twice", arguments: directions)
    func again(_ kinds: (StoreKind, StoreKind)) throws {
        let (here, there) = (try Place(kinds.0), try Place(kinds.1))
        try here.use { try fill($0) }
        try move(here, there)
        let expected = try there.use { store in
            try append(store, 401...405)
            _ = try store.recover(.all)
            try record(store, [attempt(1, 401), attempt(2, 401)])
            try store.transaction { (transaction) throws(StoreError) in _ = try transaction.erase([300]) }
            return try content(store)
        }
        try move(there, here)
        expectEqual(try here.use(content), expected)
        #expect(try here.check())
        #expect(throws: StoreError.self) { try there.open() }
        let others = try Place(kinds.1)
        try others.use { try append($0, 1...3) }
        #expect(throws: MaintenanceError.self) { try self.move(here, others) }
    }

    @Test("it can be interrupted at any point, and continues", arguments: directions, [1, 2, 3] as [UInt64])
    func interruptions(_ kinds: (StoreKind, StoreKind), _ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let (here, there) = (try Place(kinds.0), try Place(kinds.1))
        let before = try here.use { store in
            try fill(store)
            return try content(store)
        }
        var rounds = 0
        rounds: while true {
            rounds += 1
            let (source, target) = (try here.source(), try there.target())
            // Each round gets somewhat farther.
            let left = Fuse(random.number(1...4 + 8 * rounds))
            do {
                _ = try Move(from: Fragile(source, left), to: Fragile(target, left)).run()
                break
            } catch is Fuse.Blown {
                // Whatever happened: not both of them can be used.
                let states = [try source.state, try target.state]
                #expect(states.contains { $0 != nil } || rounds == 1)
                // It was interrupted after its last change.
                if case .away? = states[0], states[1] == nil { break rounds }
            }
        }
        expectEqual(try there.use(content), before)
        #expect(try there.check() && rounds > 1)
        #expect(throws: StoreError.self) { try here.open() }
    }

    @Test("where shards have different positions, each delegate keeps its own")
    func positions() throws {
        let (here, there) = (try Place(.postgres), try Place(.sqlite))
        let before = try here.use { store in
            try fill(store)
            var checkpoint = Checkpoint()
            // It does not move the position of its lane.
            checkpoint.waiting = [
                WaitingDelivery(delegate: 4, event: 390, attempts: 1, dueAt: 900, state: .dropped, isReplay: true)
            ]
            try store.transaction(.recording) { [checkpoint] (transaction) throws(StoreError) in
                try transaction.write(checkpoint)
            }
            return try store.found()
        }
        #expect(before.lanes.map(\.delegate) == [4])
        #expect(before.givenUp == [DeliveryKey(delegate: 4, event: 390)])
        try here.sql("UPDATE herald.shards SET settled = 350 WHERE shard <> 3")
        try move(here, there)
        let after = try there.use { try $0.found() }
        #expect(after.settled == 300 && after.givenUp == before.givenUp)
        // Up to the last attempt that is beyond.
        #expect(
            after.lanes == [
                LanePosition(delegate: 1, cursor: 350, position: 365),
                LanePosition(delegate: 2, cursor: 350, position: 365),
                LanePosition(delegate: 4, cursor: 200, position: 366),
                LanePosition(delegate: 5, cursor: 350, position: 350),
            ])
    }

    @Test("an attempt that no other one links is in the list of its delegate there, and hides no other")
    func unlinked() throws {
        let (here, there) = (try Place(.postgres), try Place(.sqlite))
        try here.use { try fill($0) }
        try here.sql(
            "UPDATE herald.attempts SET previous = -1 WHERE id = (SELECT max(id) FROM herald.attempts WHERE delegate = 2)"
        )
        func listed(_ store: any EventStore) throws -> [StoredAttempt] {
            _ = try store.recover(.all)
            return try store.makeReader().attempts(AttemptQuery(delegate: 2))
        }
        let before = try here.use(listed)
        #expect(before.count == 50)
        try move(here, there)
        #expect(try there.use(listed) == before)
    }

    @Test("a store that is not complete, or was moved, and one that has other events, are refused")
    func refusals() throws {
        let (here, there) = (try Place(.sqlite), try Place(.postgres))
        try here.use { try fill($0) }
        _ = try Move(from: try here.source(), to: try there.target())
        #expect(throws: StoreError.self) { try there.open() }
        #expect(throws: MaintenanceError.self) { try Move(from: try there.source(), to: try Place(.sqlite).target()) }
        try move(here, there)
        #expect(throws: StoreError.self) { try here.open() }
        #expect(throws: MaintenanceError.self) { try self.move(here, there) }
        let store = try there.open()
        #expect(throws: MaintenanceError.self) { try there.target() }
        store.close()
    }

    @Test("an event that a program publishes during a move, or after it, is refused with an error, and never lost")
    func submissions() throws {
        let (here, there) = (try Place(.postgres), try Place(.sqlite))
        try here.use { try append($0, 1...3) }
        let insertion =
            "INSERT INTO herald.submissions (app, id, type, time, data) VALUES (1, 'late', 'a.b', 0, 'null')"
        let error = #expect(throws: MaintenanceError.self) {
            let move = try Move(from: here.source(), to: there.target())
            try here.sql(insertion)
            _ = try move.run()
        }
        #expect(error?.kind == .damage && error?.description.contains("published with SQL") == true)
        // A server of it can still publish the event.
        try here.use { _ in }
        try here.sql("DELETE FROM herald.submissions")
        try move(here, there)
        #expect(throws: (any Error).self) { try here.sql(insertion) }
        try move(there, here)
        try here.sql(insertion)
        #expect(throws: MaintenanceError.self) { try here.source() }
    }

    @Test("a table or a column that a move does not copy is noticed")
    func unknown() throws {
        let (here, there) = (try Place(.sqlite), try Place(.postgres))
        try here.use { try append($0, 1...3) }
        #expect(try here.source().unknownTables().isEmpty)
        #expect(try there.target().unknownTables().isEmpty)
        try there.sql("CREATE TABLE herald.surprise (a bigint)")
        #expect(try there.target().unknownTables() == ["surprise"])
        #expect(throws: MaintenanceError.self) { try self.move(here, there) }
        try there.sql("DROP TABLE herald.surprise; ALTER TABLE herald.keys ADD COLUMN surprise bigint")
        #expect(throws: MaintenanceError.self) { try self.move(here, there) }
        try there.sql("ALTER TABLE herald.keys DROP COLUMN surprise")
        try move(here, there)
    }
}

/// Burns with each call that changes something.
private final class Fuse {
    struct Blown: Error {}
    private var left: Int

    init(_ left: Int) { self.left = left }

    func burn() throws {
        left -= 1
        if left < 0 { throw Blown() }
    }
}

/// An end that breaks before or after something is changed.
private final class Fragile: MoveEnd {
    private let end: any MoveEnd
    private let fuse: Fuse

    init(_ end: any MoveEnd, _ fuse: Fuse) { (self.end, self.fuse) = (end, fuse) }

    private func change(_ body: () throws -> Void) throws {
        try fuse.burn()
        try body()
        try fuse.burn()
    }

    var label: String { end.label }
    var state: MoveState? { get throws { try end.state } }
    var isServed: Bool { get throws { try end.isServed } }
    func set(_ state: MoveState?) throws { try change { try end.set(state) } }
    func unknownTables() throws -> [String] { try end.unknownTables() }
    func columns(of table: String) throws -> [MovedColumn] { try end.columns(of: table) }
    func count(_ table: String) throws -> Int { try end.count(table) }
    func visit(_ table: String, _ columns: [MovedColumn], _ body: ([MovedRow]) throws -> Void) throws {
        try end.visit(table, columns, body)
    }
    func replace(
        _ table: String, _ columns: [MovedColumn], _ produce: (@escaping ([MovedRow]) throws -> Void) throws -> Void
    ) throws {
        try change {
            try end.replace(table, columns) { write in
                try produce { [fuse] rows in
                    try fuse.burn()
                    try write(rows)
                }
            }
        }
    }
    func finish() throws { try change { try end.finish() } }
}
