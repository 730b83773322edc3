import Delegation
import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Whether the storage works")
struct StorageHealthTests {
    private final class Book: StorageObserver {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }

        func storageChanged(_ change: StorageHealth.Change) {
            let line =
                switch change {
                case .failed(let part, _): "\(part)"
                case .recovered(let milliseconds, let refused): "works after \(milliseconds), \(refused) refused"
                case .lost: "lost"
                case .unreadable: "unreadable"
                case .unread: "unread"
                case .unfollowed: "unfollowed"
                case .kept: "kept"
                case .crowded(let app, let bytes, let total): "\(app.settings.name) \(bytes) of \(total)"
                }
            lines.withLock { $0.append(line) }
        }
    }

    private let health = StorageHealth()
    private let book = Book()
    init() { health.observers.addDelegate(book) }

    private var works: Bool { (try? health.check()) != nil }
    private func commit(_ second: Int64, _ checkpoint: DatabaseCheckpoint = .notDue, hasRoom: Bool = true) {
        let now = second * 1_000_000_000
        health.committed(at: now, wall: second * 1000) { hasRoom }
        health.copied(checkpoint, at: now, wall: second * 1000) { hasRoom }
    }
    private func fail(_ second: Int64, _ error: StoreError = .full, refused: Int = 1) {
        health.failed(error, refused: refused, at: second * 1_000_000_000)
    }

    @Test("a storage that does not return to the writer for half a minute does not work, although nothing has failed")
    func hangs() throws {
        try health.check(at: .max)
        health.roundBegins(at: 1)
        try health.check(at: 1 + StorageHealth.longestRound)
        #expect(throws: StoreError.self) { try health.check(at: 2 + StorageHealth.longestRound) }
        health.roundBegins(at: 2 + StorageHealth.longestRound)
        try health.check(at: 3 + StorageHealth.longestRound)
    }

    @Test("the writer of a hub begins rounds, and each counts for readiness")
    func rounds() async throws {
        let hub = try Hub.inMemory()
        defer { hub.stop(grace: 0) }
        try hub.storage.check()
        let later = Clock.system.monotonic() + 2 * StorageHealth.longestRound
        try await eventually("the first round has begun") { (try? hub.storage.check(at: later)) == nil }
    }

    @Test("a failure of commits is reported once, and its end once, with the number of refused requests")
    func commits() {
        commit(1)
        #expect(works && book.all.isEmpty)
        for second in 2...4 { fail(Int64(second), refused: 2) }
        #expect(!works)
        #expect(throws: StoreError.full) { try health.check() }
        commit(6)
        commit(7)
        #expect(works)
        #expect(book.all == ["commits", "works after 4000, 6 refused"])
        fail(8)
        #expect(book.all.last == "commits")
    }

    @Test("on a full disk, small commits that succeed in between are no end, before there is room")
    func room() {
        fail(1)
        for second in 2...4 {
            commit(Int64(second), hasRoom: false)
            fail(Int64(second))
        }
        #expect(book.all == ["commits"])
        commit(5)
        #expect(book.all == ["commits", "works after 4000, 4 refused"])
    }

    @Test("failed checkpoints are reported, until one succeeds")
    func checkpoints() {
        commit(1, .failed(.inputOutput(reason: "EIO")))
        commit(2, .failed(.inputOutput(reason: "EIO")))
        commit(3)
        commit(4, .heldBack)
        #expect(!works)
        fail(5)
        commit(6)
        #expect(!works)
        commit(7, .done)
        #expect(works)
        #expect(book.all == ["checkpoints", "commits", "works after 6000, 1 refused"])
    }

    @Test("a part that cannot be dropped is reported when each try of an hour has failed, and the storage works")
    func kept() {
        for tries in 1...120 { commit(Int64(60 * tries), .kept(.failed(reason: "a view needs it"), tries: tries)) }
        #expect(works && health.failedDrops == 120)
        #expect(book.all == ["kept", "kept"])
    }

    @Test("a row that cannot be read is reported once a minute, and the storage works")
    func unreadable() {
        let row = StoreError.unreadable(reason: "a list in it is malformed")
        commit(1)
        for second: Int64 in [2, 3, 61, 62] { health.requestFailed(row, at: second * 1_000_000_000) }
        health.requestFailed(.full, at: 200_000_000_000)
        #expect(works)
        #expect(book.all == ["unreadable", "unreadable"])
    }

    @Test("a failed read of the server itself is reported once a minute, and the storage works")
    func unread() {
        commit(1)
        health.readFailed(.unavailable(reason: "on purpose"), at: 2_000_000_000)
        #expect(book.all.isEmpty)
        for second: Int64 in [2, 3, 61, 62] {
            health.readFailed(.inputOutput(reason: "EIO"), at: second * 1_000_000_000)
        }
        #expect(works && health.failedReads == 4)
        #expect(book.all == ["unread", "unread"])
    }

    @Test("a page of the database that a request cannot read is reported once a minute, although commits succeed")
    func unreadablePages() {
        commit(1)
        health.requestFailed(.corrupt(path: "d", reason: "malformed"), at: 2_000_000_000)
        health.requestFailed(.inputOutput(reason: "a bad sector"), at: 3_000_000_000)
        // A row that cannot be read does not hide a page that cannot.
        health.requestFailed(.unreadable(reason: "it holds an unknown scope"), at: 61_000_000_000)
        health.requestFailed(.inputOutput(reason: "a bad sector"), at: 62_000_000_000)
        for other in [StoreError.full, .failed(reason: "on purpose")] {
            health.requestFailed(other, at: 300_000_000_000)
        }
        #expect(works && health.failedReads == 4)
        #expect(book.all == ["unread", "unreadable", "unread"])
    }

    @Test("a stream or a loop whose read fails reports it")
    func unreadableReads() throws {
        let store = MemoryStore()
        let readers = try ReaderPool(store: store, threads: 1, health: health)
        defer { readers.stop() }
        let reader: any StoreReader = store.makeReader()
        let value = readers.found(.success(reader)) { (_: any StoreReader) throws(StoreError) -> Int in
            throw .unreadable(reason: "a list in it is malformed")
        }
        #expect(value == nil && book.all == ["unreadable"])
        let read = readers.found(.success(reader)) { (_: any StoreReader) throws(StoreError) -> Int in 7 }
        let refused = readers.found(.failure(.full)) { (_: any StoreReader) throws(StoreError) -> Int in 7 }
        #expect(read == 7 && refused == nil && book.all == ["unreadable", "unread"])
    }

    @Test("the app that stores most is reported once a day, and the storage works")
    func crowded() {
        commit(1)
        for hour: Int64 in [0, 1, 23, 24, 47] {
            health.crowded(at: hour * 3_600_000_000_000) { (.default, bytes: hour, total: 99) }
        }
        #expect(works)
        #expect(book.all == ["default 0 of 99", "default 24 of 99"])
    }

    /// Returns the reports of the first check of a log that exceeds its size.
    /// - Parameters:
    ///   - apps: those of the events, each of which stores 1,007 bytes.
    ///   - age: the age of the events that are removed, in milliseconds.
    private func reports(of apps: [Int64], age: Int64?) async throws -> [String] {
        let (health, book, store) = (StorageHealth(), Book(), MemoryStore())
        health.observers.addDelegate(book)
        let data = Array("\"\(String(repeating: "x", count: 1_000))\"".utf8)
        try store.transaction { (transaction) throws(StoreError) in
            for (number, app) in apps.enumerated() {
                let key = AppKey(rawValue: app)
                try transaction.append(
                    Event(app: key, id: "e\(number)", type: "a.b", subject: nil, time: 0, data: data))
            }
            var checkpoint = Checkpoint()
            checkpoint.settled = LogPosition(apps.count)
            try transaction.write(checkpoint)
        }
        var retention = Retention()
        (retention.events, retention.bytes) = (age, 2_000)
        let readers = try ReaderPool(store: store, threads: 1, health: health)
        let task = RetentionTask(
            retention, readers: readers, intake: Intake(maxEvents: 9, maxBytes: 999),
            committed: CommittedState(try store.recover()), attemptRoom: AttemptRoom(), health: health, clock: .system,
            send: { _ in })
        task.runWhenDue()
        await offPool { readers.stop() }
        return book.all
    }

    @Test("when the size removes events of several apps before their age, the app that stores most is reported")
    func largest() async throws {
        #expect(try await reports(of: [2, 1, 1, 2, 1], age: 86_400_000) == ["default 3021 of 5035"])
        #expect(try await reports(of: [2, 1, 1, 2, 1], age: nil).isEmpty, "events have no age")
        #expect(try await reports(of: [1, 1, 1, 1, 1], age: 86_400_000).isEmpty, "no other app")
    }

    /// Returns the reports while every read fails at a row that can't be read.
    private func reports(_ read: (ReaderPool, CommittedState) throws -> Void) async throws -> [String] {
        let (health, book, store) = (StorageHealth(), Book(), RefusingStore())
        health.observers.addDelegate(book)
        store.readError.withLock { $0 = .unreadable(reason: "a list in it is malformed") }
        let readers = try ReaderPool(store: store, threads: 1, health: health)
        try read(readers, CommittedState(try store.recover()))
        await offPool { readers.stop() }
        return book.all
    }

    @Test("the retention, other nodes' lanes and events published with SQL report a row that cannot be read")
    func unreadableTasks() async throws {
        let intake = Intake(maxEvents: 9, maxBytes: 999)
        let ofRetention = try await reports { readers, committed in
            RetentionTask(
                Retention(), readers: readers, intake: intake, committed: committed, attemptRoom: AttemptRoom(),
                clock: .system, send: { _ in }
            ).runWhenDue()
        }
        #expect(ofRetention == ["unreadable"])
        let ofLanes = try await reports { readers, committed in
            OtherLanes(shards: ShardCounts([]), committed: committed, readers: readers).refresh()
        }
        #expect(ofLanes == ["unreadable"])
        let ofSubmissions = try await reports { readers, _ in
            SubmissionTask(
                readers: readers, intake: intake, clock: .system, isResponsible: { true }, after: { _, _ in }
            ).run()
        }
        #expect(ofSubmissions == ["unreadable"])
    }

    @Test("delegates that cannot be taken from other nodes are reported, and the node stays ready")
    func unshared() {
        health.sharingFailed(.unavailable(reason: "on purpose"), at: 0)
        health.sharingFailed(.outdated, at: 0)
        #expect(book.all.isEmpty)
        for second in [Int64(1), 2] {
            health.sharingFailed(.corrupt(path: "db", reason: "invalid page"), at: second * 1_000_000_000)
            health.sharingFailed(.unreadable(reason: "a position"), at: second * 1_000_000_000)
        }
        #expect(book.all == ["unfollowed", "unreadable"] && works)
    }

    @Test("a store that does not respond to what nodes share is reported after some seconds, once a minute")
    func silent() {
        let error = StoreError.unavailable(reason: "canceling statement due to lock timeout")
        health.sharingFailed(error, at: 0)
        health.followFailed(error, at: 4_000_000_000)
        // A failure long after the last one begins a silence.
        health.sharingFailed(error, at: 60_000_000_000)
        #expect(book.all.isEmpty)
        for second in [Int64(69), 78, 87] { health.sharingFailed(error, at: second * 1_000_000_000) }
        #expect(book.all == ["unfollowed"])
        for second in [Int64(100), 130] { health.followFailed(error, at: second * 1_000_000_000) }
        #expect(book.all == ["unfollowed", "unfollowed"] && works)
    }

    @Test("a refusal to read what others have committed is reported once a minute, until it is read")
    func unfollowed() {
        let error = StoreError.failed(reason: "cache lookup failed (SQLSTATE XX000)")
        health.followFailed(.unavailable(reason: "on purpose"), at: 0)
        #expect(works && book.all.isEmpty)
        for second in [Int64(1), 2, 60] { health.followFailed(error, at: second * 1_000_000_000) }
        #expect(throws: error) { try health.check() }
        #expect(book.all == ["unfollowed"])
        health.followFailed(error, at: 61_000_000_000)
        #expect(book.all == ["unfollowed", "unfollowed"])
        commit(62)
        #expect(!works && health.canWrite, "a commit reads nothing of others")
        health.followed()
        #expect(works)
    }

    @Test("it is tried once a second while it fails and nothing is written, and not otherwise")
    func probes() {
        commit(1)
        #expect(!health.needsProbe(at: 9_000_000_000))
        fail(10)
        #expect(!health.needsProbe(at: 10_999_999_999))
        #expect(health.needsProbe(at: 11_000_000_000))
        health.lost(.full)
        #expect(!health.needsProbe(at: 20_000_000_000))
        commit(21)
        #expect(!works, "what is lost stays lost")
    }
}
