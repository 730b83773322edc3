import HeraldModel
import HeraldRuntime
import HeraldStore
import HeraldTestSupport
import Testing

@testable import HeraldPostgres

extension PostgresStore {
    /// Adds to the list of changes, and to the log.
    fileprivate func record(_ changes: [Change] = [], _ ids: String...) throws {
        try transaction(.deciding) { transaction throws(StoreError) in
            try transaction.append(ids.map { Event(id: $0) })
            try transaction.record(changes, name: 0)
        }
    }

    /// Counts its notifications.
    fileprivate func count(_ counter: Counter) {
        observe {
            counter.next()
            return true
        }
    }
}

@Suite("Several processes on one PostgreSQL database", .timeLimit(.minutes(20)))
struct PostgresSharingTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    private func events(of delegate: DelegateKey, _ store: PostgresStore) throws -> [LogPosition] {
        let found = try store.makeReader().attempts(AttemptQuery(delegate: delegate))
        #expect(found.map(\.id) == found.map(\.id).sorted(by: >))
        return found.map(\.record.event)
    }

    @Test("attempts are listed by every process, whichever has recorded them, and linked when their shard moves")
    func attempts() throws {
        let stores = try (0..<3).map { _ in try database.open() }
        for key in 1...3 as ClosedRange<DelegateKey> {
            try stores[0].transaction { transaction throws(StoreError) in
                try transaction.setDelegate(WebhookDelegate(key))
            }
        }
        // The one that began last comes first.
        try stores[1].write([attempt(1, 1), attempt(2, 1), attempt(1, 2)])
        try stores[0].write([attempt(3, 1)])
        for store in stores { #expect(try events(of: 1, store) == [2, 1] && events(of: 3, store) == [1]) }
        // One that has begun before takes their shards.
        _ = try stores[0].recover(Shards(of: 1).union(Shards(of: 2)))
        try stores[0].write([attempt(1, 3), attempt(2, 2)])
        for store in stores { #expect(try events(of: 1, store) == [3, 2, 1] && events(of: 2, store) == [2, 1]) }
        // And back.
        _ = try stores[1].recover(Shards(of: 1))
        try stores[1].write([attempt(1, 4)])
        for store in stores { #expect(try events(of: 1, store) == [4, 3, 2, 1]) }
        // A session ends its own between two transactions.
        for store in stores { try store.write([]) }
        #expect(try database.sql("SELECT count(*) FROM herald.rounds") == "2")
        // Their sessions end, and who begins a round ends theirs.
        try database.endSessions()
        _ = try stores[2].recover(.all)
        try stores[2].write([attempt(2, 3)])
        try stores[2].write([])
        #expect(try database.sql("SELECT count(*) FROM herald.rounds") == "1")
        #expect(try database.sql("SELECT count(*) FROM herald.heads WHERE delegate IN (1, 2, 3)") == "3")
        for store in stores {
            #expect(try events(of: 1, store) == [4, 3, 2, 1] && events(of: 2, store) == [3, 2, 1])
        }
    }

    @Test("a transaction that runs twice and begins a round takes no ids of another process")
    func roundOfSecondRun() throws {
        let (one, two) = (try database.open(), try database.open())
        let status = AuthStatus(app: .default, userID: "u", isLoggedIn: true, user: [49], since: 1, eventID: "e")
        try one.transaction { transaction throws(StoreError) in try transaction.setAuthStatus(status) }
        // All ids of its round.
        try one.write((1...65_535).map { attempt(1, $0) })
        try two.write([attempt(2, 1)])
        var checkpoint = Checkpoint()
        checkpoint.attempts = [attempt(1, 65_536)]
        var runs = 0
        try one.transaction(.publishing) { transaction throws(StoreError) in
            runs += 1
            try transaction.write(checkpoint)
            // It is found, so the transaction runs again.
            _ = try transaction.authStatus(app: .default, userID: "u")
        }
        #expect(runs == 2)
        try one.write([attempt(1, 65_537)])
        #expect(try database.sql("SELECT count(*) FROM herald.attempts WHERE id >> 16 = 1") == "1")
        #expect(try database.sql("SELECT count(*) FROM herald.attempts WHERE id >> 16 = 2") == "2")
    }

    @Test("an attempt that ends when another process has its shard hides none of that process")
    func lateAttempts() throws {
        let (one, two) = (try database.open(), try database.open())
        for (store, event) in [(one, 1), (two, 10)] as [(PostgresStore, LogPosition)] {
            let leases = try #require(store.leases)
            try blockUntil("the shards are free") {
                _ = try leases.take(Shards.all.subtracting(leases.held))
                return leases.held == .all
            }
            _ = try store.recover(.all)
            try store.write([attempt(1, event)])
            if store === one { try database.endSessions() }
        }
        // The first one has a new session, with a new round.
        try one.write([attempt(1, 2), attempt(2, 2)])
        try two.write([attempt(1, 11), attempt(2, 11)])
        for store in [one, two] {
            #expect(try events(of: 1, store) == [2, 11, 10, 1] && events(of: 2, store) == [2, 11])
            #expect(try store.makeReader().attempts(event: 2).count == 2)
        }
        _ = try two.recover(.all)
        try two.write([attempt(1, 12)])
        try two.write([])
        #expect(try events(of: 1, one) == [12, 2, 11, 10, 1])
    }

    @Test("memory keeps no last attempt of a delegate that another process has deleted")
    func deletedDelegates() throws {
        let (one, two) = (try database.open(), try database.open())
        try one.transaction { transaction throws(StoreError) in
            for key in [1, 2] as [DelegateKey] { try transaction.setDelegate(WebhookDelegate(key)) }
        }
        try two.write([attempt(1, 1), attempt(2, 1)])
        let reader = try #require(try two.makeReader() as? Reader)
        #expect(reader.heads.last(of: 1) > 0 && reader.heads.last(of: 2) > 0)
        try one.transaction { transaction throws(StoreError) in try transaction.removeDelegate(1, at: 5) }
        #expect(try reader.rows(of: [.delegate(1), .delegate(2)]).delegates.map(\.key) == [2])
        #expect(reader.heads.last(of: 1) == 0 && reader.heads.last(of: 2) > 0)
    }

    @Test("memory keeps no last attempt of a delegate that was deleted during its attempt")
    func deletedDuringAttempt() throws {
        let store = try database.open()
        try store.transaction { transaction throws(StoreError) in
            for key in [1, 2] as [DelegateKey] { try transaction.setDelegate(WebhookDelegate(key)) }
        }
        try store.transaction { transaction throws(StoreError) in try transaction.removeDelegate(2, at: 5) }
        // A loop reports an attempt that it had made before.
        try store.write([attempt(1, 1), attempt(2, 1)])
        let reader = try #require(try store.makeReader() as? Reader)
        #expect(reader.heads.last(of: 1) > 0 && reader.heads.last(of: 2) > 0)
        // Another round begins, and this one ends.
        _ = try store.recover(.all)
        try store.write([attempt(1, 2)])
        try store.write([])
        #expect(reader.heads.last(of: 1) > 0 && reader.heads.last(of: 2) == 0)
        // Another session reads the last attempts.
        try store.write([attempt(2, 2)])
        let other = try database.open()
        try other.write([attempt(1, 3)])
        let read = try #require(try other.makeReader() as? Reader).heads
        #expect(read.last(of: 1) > 0 && read.last(of: 2) == 0)
    }

    @Test("attempts take what their rows take, however far apart their ids are")
    func sizes() throws {
        let store = try database.open(partitionSize: 1 << 24)
        try store.transaction { transaction throws(StoreError) in try transaction.setDelegate(WebhookDelegate(1)) }
        func size() throws -> Int64 { try store.makeReader().sizes().attempts }
        try store.write((1...20).map { attempt(1, $0) })
        let few = try size()
        #expect(few > 20 * 100 && few < 20 * 400)
        // As after many changes of the owner of a shard: each began a round, and used little of it.
        _ = try database.sql(
            """
            INSERT INTO herald.attempts SELECT copy.* FROM herald.attempts a, generate_series(1, 128) AS n,
                jsonb_populate_record(a, jsonb_build_object('id', id + n * 65536)) AS copy
            """)
        let many = try size()
        #expect(abs(many - 129 * few) < 13 * few)
        // What was removed from the end of a round does not count.
        _ = try database.sql("DELETE FROM herald.attempts WHERE id % 65536 > 5 AND id < 100 * 65536")
        #expect(try size() < many)
    }

    @Test("a round that is full ends, also within a transaction, and after one that has failed")
    func fullRounds() throws {
        let store = try database.open()
        try store.transaction { transaction throws(StoreError) in try transaction.setDelegate(WebhookDelegate(1)) }
        func many(_ count: Int, from first: LogPosition) -> [AttemptRecord] {
            (0..<LogPosition(count)).map { attempt(1, first + $0) }
        }
        for part in 0..<2 as Range<LogPosition> {
            try store.write(many(63_000, from: part * 66_000))
            let rest = many(3_000, from: part * 66_000 + 63_000)
            let thrown = failure {
                try store.transaction(.deciding) { transaction throws(StoreError) in
                    var checkpoint = Checkpoint()
                    checkpoint.attempts = rest
                    try transaction.write(checkpoint)
                    _ = try transaction.event(app: .default, id: "x")
                    throw .full
                }
            }
            #expect(thrown == .full)
            // Those that it has used are not used again.
            try store.write(rest)
            #expect(try events(of: 1, store).first == (part + 1) * 66_000 - 1)
        }
        try store.write([attempt(1, 132_000)])
        try store.write([])
        #expect(try database.sql("SELECT count(*) FROM herald.rounds") == "1")
        let chain = """
            WITH RECURSIVE c AS (SELECT id, previous FROM herald.attempts WHERE id = (SELECT max(id) FROM herald.attempts)
            UNION ALL SELECT a.id, a.previous FROM c JOIN herald.attempts a ON a.id = c.previous) SELECT count(*) FROM c
            """
        #expect(try database.sql(chain) == "132001")
        #expect(try store.makeReader().attempts(after: .max, limit: 1) == [])
    }

    @Test("what follows all attempts gets each of this process once, and the older ones, whenever others commit theirs")
    func followed() throws {
        let old = try database.open()
        try old.write([attempt(1, 1), attempt(1, 2)])
        old.close()
        let (one, two) = (try database.open(), try database.open())
        let reader = try one.makeReader()
        let end = try reader.lastAttempt()
        #expect(try reader.attempts(after: 0, limit: 9).last?.id == end)
        var place: Int64 = 0
        var seen: [LogPosition] = []
        func follow() throws {
            while let last = try reader.attempts(after: place, limit: 2).last {
                seen += try reader.attempts(after: place, limit: 2).map(\.record.event)
                place = last.id
            }
        }
        for round in 1...3 as ClosedRange<LogPosition> {
            try two.write([attempt(2, 100 + round)])
            try follow()
            try one.write([attempt(1, 10 * round), attempt(1, 10 * round + 1), attempt(1, 10 * round + 2)])
            try follow()
            // Both begin rounds by turns.
            for store in [two, one] { _ = try store.recover(.all) }
        }
        // The first of the other one came before its own.
        #expect(seen == [1, 2, 101, 10, 11, 12, 20, 21, 22, 30, 31, 32])
        #expect(try reader.lastAttempt() == place)
    }

    @Test("the same ids at three stores at once: each event once, the log without a gap, in the order of the commits")
    func ids() async throws {
        let rounds = 60
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<3 {
                group.addTask {
                    try await RawHTTP.onThread {
                        let store = try database.open()
                        defer { store.close() }
                        for round in 0..<rounds {
                            // Half of them are others' too.
                            let ids = (0..<4).map { "\(round) \($0)" } + (0..<4).map { "\(writer) \(round) \($0)" }
                            try Self.publish(ids, store)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let store = try database.open()
        let ids = try store.ids()
        #expect(ids.count == rounds * (4 + 3 * 4) && Set(ids).count == ids.count)
        #expect(try store.recover().head == LogPosition(ids.count))
    }

    private static func publish(_ ids: [String], _ store: PostgresStore) throws {
        for attempt in 1... {
            do throws(StoreError) {
                try store.transaction(attempt > 2 ? .deciding : .publishing) { transaction throws(StoreError) in
                    for id in ids where try transaction.event(app: .default, id: id) == nil {
                        try transaction.append(Event(id: id))
                    }
                }
                return
            } catch {
                if error != .outdated { throw error }
            }
        }
    }

    @Test("a status, a state and a response that another process changes before the commit: nothing is written")
    func values() throws {
        let (one, two) = (try database.open(), try database.open())
        func status(_ id: String) -> AuthStatus {
            AuthStatus(app: .default, userID: "u", isLoggedIn: true, user: [49], since: 1, eventID: id)
        }
        func state(_ id: String) -> AppState { AppState(app: .default, state: [49], since: 1, eventID: id) }
        let answer = StoredAnswer(fingerprint: [1], status: 200, headers: [], body: [])
        func change(_ number: Int, _ transaction: any StoreTransaction) throws(StoreError) {
            switch number {
            case 0: try transaction.setAuthStatus(status("other"))
            case 1: try transaction.setAppState(state("other"))
            default: try transaction.setAnswer(answer, app: .default, key: "k", expiresAt: 100)
            }
        }
        for values in [status("e"), status("f")] {
            try one.transaction { transaction throws(StoreError) in
                try transaction.setAuthStatus(values)
                try transaction.setAppState(state(values.eventID))
            }
        }
        let mine = status("mine")
        for number in 0..<3 {
            var runs = 0
            let thrown = failure {
                try one.transaction(.publishing) { transaction throws(StoreError) in
                    runs += 1
                    let status = try transaction.authStatus(app: .default, userID: "u")
                    let state = try transaction.appState(.default)
                    _ = try transaction.answer(app: .default, key: "k", now: 1)
                    // In the last run everything is known, and the other process comes before the commit.
                    if status != nil, state != nil {
                        try two.transaction(.publishing) { other throws(StoreError) in try change(number, other) }
                    }
                    try transaction.setAuthStatus(mine)
                }
            }
            #expect(thrown == .outdated && runs == 2)
        }
    }

    @Test("checkpoints change deliveries in the order of the log, so that no two processes wait for each other")
    func orderOfRows() {
        func requests(_ events: [LogPosition]) -> [[UInt8]] {
            var checkpoint = Checkpoint()
            checkpoint.waiting = events.map {
                WaitingDelivery(delegate: 1, event: $0, attempts: 1, dueAt: 5, state: .retrying, isReplay: false)
            }
            checkpoint.ended = events.map { DeliveryKey(delegate: 2, event: $0) }
            return CheckpointWrites.requests(checkpoint, attempts: [], statistics: []).map(\.parameters.bytes)
        }
        #expect(requests([3, 1, 2]) == requests([1, 2, 3]))
        #expect(requests([1, 2]) != requests([1, 3]))
    }

    @Test("a status that keeps the data of its user keeps what another process sets before the commit")
    func userData() throws {
        let (one, two) = (try database.open(), try database.open())
        func status(_ user: [UInt8]) -> AuthStatus {
            AuthStatus(app: .default, userID: "u", isLoggedIn: true, user: user, since: 1, eventID: "e")
        }
        let (old, new) = (status(Array("old".utf8)), status(Array("new".utf8)))
        try one.transaction { transaction throws(StoreError) in try transaction.setAuthStatus(old) }
        try one.transaction(.publishing) { transaction throws(StoreError) in
            // In the last run it is known, and the other process comes before the commit.
            if try transaction.authStatus(app: .default, userID: "u") != nil {
                try two.transaction(.publishing) { other throws(StoreError) in try other.setAuthStatus(new) }
            }
            try transaction.setAuthStatus(old)
        }
        #expect(try database.sql("SELECT encode(\"user\", 'escape') FROM herald.auth_status") == "new")
    }

    @Test("old changes are removed, but not the newest one: numbers go on")
    func oldChanges() throws {
        let store = try database.open()
        for _ in 1...63 { try store.record() }
        let reader = try store.makeReader()
        #expect(try reader.changes(after: 0, limit: 100).count == 63)
        try database.sql("UPDATE herald.changes SET time = 0 WHERE number < 60")
        try store.record()
        #expect(try reader.changes(after: 0, limit: 100).map(\.number) == [60, 61, 62, 63, 64])
        try database.sql("UPDATE herald.changes SET time = 0")
        for _ in 1...64 { try store.record() }
        #expect(try reader.changes(after: 0, limit: 100).first?.number == 65)
        #expect(try store.recover().lastChange == 128)
    }

    @Test("commits of another process are flushed before this one delivers them")
    func flushed() async throws {
        let server = try PostgresServer()
        let database = try TestDatabase(on: server)
        // The first one commits nothing of its own accord, which would wait, too.
        let (one, two) = (try database.open(), try database.open())
        defer { for store in [one, two] { store.close() } }
        try one.record([.firstEvent], "a")
        let reader = try two.makeReader()
        #expect(try reader.lastEvent() == 1 && reader.changes(after: 0, limit: 9).map(\.number) == [1])
        // A flush waits until it is canceled.
        try database.sql("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
        try database.sql("SELECT pg_reload_conf()")
        try await eventually("the setting is there") {
            try database.sql("SHOW synchronous_standby_names") == "absent"
        }
        @Sendable func cancel(_ count: Int) async throws {
            try await eventually("flushes wait for the standby, and are canceled") {
                try database.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "\(count)"
            }
            try database.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        }
        // What is known to be flushed needs no flush.
        #expect(try reader.lastEvent() == 1 && reader.changes(after: 0, limit: 9).map(\.number) == [1])
        async let committed = RawHTTP.onThread { failure { try one.record([.firstEvent], "b") } }
        try await cancel(1)
        guard case .unknown? = try await committed
        else { throw Unexpected("\(String(describing: try await committed))") }
        let readers = [try two.makeReader(), try two.makeReader(), try two.makeReader()].map { Held($0) }
        let reads: [@Sendable (any StoreReader) throws -> Void] = [
            { _ = try $0.lastEvent() }, { _ = try $0.changes(after: 0, limit: 9) },
            { _ = try $0.rows(of: [.firstEvent]) },
        ]
        for (reader, read) in zip(readers, reads) {
            async let thrown = RawHTTP.onThread { failure { try read(reader.value) } }
            try await cancel(1)
            guard case .unavailable? = try await thrown
            else { throw Unexpected("\(String(describing: try await thrown))") }
        }
        try database.sql("ALTER SYSTEM RESET synchronous_standby_names")
        try database.sql("SELECT pg_reload_conf()")
        try await eventually("the others wait no longer") {
            let reader = try two.makeReader()
            return try reader.lastEvent() == 2 && reader.changes(after: 0, limit: 9).map(\.number) == [1, 2]
        }
    }

    /// Passes a reader on to another thread, which alone uses it from then on: hence unchecked.
    private struct Held: @unchecked Sendable {
        let value: any StoreReader
        init(_ value: any StoreReader) { self.value = value }
    }

    @Test("processes are notified of what others have committed, not of what is their own, nor of what is not there")
    func notified() async throws {
        let (one, two) = (try database.open(), try database.open())
        let (first, second) = (Counter(), Counter())
        one.count(first)
        two.count(second)
        try await eventually("they listen") { first.value == 1 && second.value == 1 }
        try one.append("a")
        try await eventually("an event") { second.value == 2 }
        let reader = try two.makeReader()
        #expect(try reader.ends(isFresh: false) == StoreEnds(event: 1, change: 0))
        // Neither is news.
        try one.record()
        try one.transaction(.recording) { transaction throws(StoreError) in
            try transaction.write(Checkpoint())
        }
        try two.record([.firstEvent])
        // Notifications come in their order: its own ones came before.
        try await eventually("a change") { first.value == 2 }
        #expect(second.value == 2)
        try database.sql("SELECT pg_notify('herald', '99 99'), pg_notify('herald', 'x'), pg_notify('herald', '')")
        try await eventually("others' notifications") { first.value == 3 && second.value == 3 }
        for store in [one, two] {
            #expect(try store.makeReader().ends(isFresh: false) == StoreEnds(event: 1, change: 2))
        }
        try database.endSessions()
        try await eventually("they listen again") { first.value == 4 && second.value == 4 }
        try two.append("b")
        try await eventually("another event") { first.value == 5 }
    }

    @Test(
        "a notification of many events is believed up to the last one, and they are read once, in order",
        arguments: [1, 256, 257, 600])
    func believed(_ count: Int) async throws {
        let (one, two) = (try database.open(), try database.open())
        let heard = Counter()
        one.observe { true }
        two.count(heard)
        try await eventually("it listens") { heard.value == 1 }
        let ids = (1...count).map { "event \($0)" }
        try one.transaction(.publishing) { transaction throws(StoreError) in
            try transaction.append(ids.map { Event(id: $0) })
        }
        try await eventually("a notification") { heard.value == 2 }
        let reader = try two.makeReader()
        #expect(try reader.ends(isFresh: false) == StoreEnds(event: LogPosition(count), change: 0))
        var found: [String] = []
        while found.count < count {
            let page = try reader.events(after: LogPosition(found.count), limit: 300, maxBytes: 1 << 20)
            #expect(page.first == LogPosition(found.count) + 1)
            found += page.events.map(\.id)
        }
        #expect(found == ids)
        // What was erased since then is not kept for a later call.
        try one.append("last")
        try await eventually("another notification") { heard.value == 3 }
        #expect(try reader.ends(isFresh: false).event == LogPosition(count) + 1)
        #expect(try reader.ends(isFresh: false).event == LogPosition(count) + 1)
        try one.transaction(.deciding) { transaction throws(StoreError) in
            _ = try transaction.erase([LogPosition(count) + 1])
        }
        #expect(
            try reader.events(after: LogPosition(count), limit: 300, maxBytes: 1 << 20).events.map(\.isErased) == [true]
        )
    }

    @Test("of processes that notify each other at the same time, none leaves a notification behind")
    func mutual() async throws {
        let stores = [try database.open(), try database.open()]
        let heard = [Counter(), Counter()]
        for (store, heard) in zip(stores, heard) {
            store.count(heard)
        }
        try await eventually("they listen") { heard.allSatisfy { $0.value > 0 } }
        let readers = [Held(try stores[0].makeReader()), Held(try stores[1].makeReader())]
        var random = SeededRandom(seed: 1)
        var count: LogPosition = 0
        for round in 0..<100 {
            for (number, store) in stores.enumerated() where random.chance(0.8) || number == round % 2 {
                try store.append("\(round) of \(number)")
                count += 1
                // About as long as a process rests after a notification.
                Clock.sleep(nanoseconds: Int64(random.number(1...6_000)) * 1_000)
            }
            try await eventually("all have event \(count)") { [count] in
                try readers.allSatisfy { try $0.value.ends(isFresh: false).event == count }
            }
        }
    }

    @Test("processes go on after their sessions were lost, unless the server lacks what was flushed")
    func resumed() throws {
        let (one, two) = (try database.open(), try database.open())
        try one.record([.firstEvent], "a")
        try two.append("b")
        for id in ["c", "d"] {
            try database.endSessions()
            try one.append(id)
            try two.append("\(id)2")
        }
        #expect(try one.recover().head == 6 && two.recover().lastChange == 1)
        for (missing, reason) in [
            ("events WHERE sequence = 6", "it ends at event 5, and had been flushed up to 6"),
            ("changes", "it ends at change 0, and had been flushed up to 1"),
        ] {
            let store = try database.open()
            defer { store.close() }
            try database.sql("DELETE FROM herald.\(missing)")
            try database.endSessions()
            #expect(failure { try store.append("e") } == .replaced(path: store.label, reason: reason))
        }
    }
}
