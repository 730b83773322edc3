import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldSQLite

@Suite("Rows that cannot be read, while a hub runs", .timeLimit(.minutes(20)))
struct UnreadableRowTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/data" }

    @Test("a scheduled event that needs such a row is tried again later, and holds up no other")
    func scheduled() async throws {
        let dueAt: Int64 = 1_760_000_000_000
        let first = try SQLiteStore(folder: path)
        try first.transaction { (transaction) throws(StoreError) in
            try transaction.setAuthStatus(
                AuthStatus(
                    app: .default, userID: "u", isLoggedIn: true, user: Array("null".utf8), since: 1, eventID: "e"))
            let login = Event("auth.logged_in", id: "login", data: #"{"user":{"id":"u"}}"#)
            try transaction.addPending(login, dueAt: dueAt)
            try transaction.addPending(Event("a.b", id: "other"), dueAt: dueAt + 1)
            try transaction.setPendingCount(PendingCount(app: .default, events: 2, bytes: 100))
        }
        try #require(first.writer?.connection).execute("UPDATE auth_status SET since = 1 << 60")
        first.close()

        let store = try SQLiteStore(folder: path)
        let hub = try Hub(store: store, onDurabilityLost: { _ in }, makeSender: { try MemorySender() })
        try await eventually("the other one is published") { hub.committed.pending.total == 1 }
        let reader = try store.makeReader()
        #expect(try reader.event(app: .default, id: "other") != nil)
        #expect(try reader.event(app: .default, id: "login") == nil)
        let waiting = try #require(try reader.pending(app: .default, id: "login"))
        #expect(waiting.dueAt > dueAt)
        await offPool { hub.stop(grace: 0) }
    }

    @Test("such a lease keeps the events of its delegate, and retention moves the lanes of the others")
    func trimmed() async throws {
        let first = try SQLiteStore(folder: path)
        try first.transaction { (transaction) throws(StoreError) in
            for key: DelegateKey in 1...2 { try transaction.setDelegate(WebhookDelegate(key) { $0.kind = .pull }) }
            try transaction.append((1...3).map { Event(id: "e\($0)") })
            var checkpoint = Checkpoint()
            checkpoint.lanes = [1, 2].map { LanePosition(delegate: $0, cursor: 0, position: 0) }
            try transaction.write(checkpoint)
        }
        try #require(first.writer?.connection).execute("INSERT INTO leases VALUES (1, 'ls_1', 1, 2, x'', 1)")
        first.close()

        let store = try SQLiteStore(folder: path)
        let hub = try Hub(store: store, onDurabilityLost: { _ in }, makeSender: { try MemorySender() })
        let unreadable = Recorder<StoreError>()
        hub.submit(
            PullTrim(
                parts: [1, 2].map { PullTrim.Part(delegate: $0, wanted: [1, 2]) }, through: 2, cause: .size,
                announcements: MissedPulls(), unreadable: { unreadable.record($0) }))
        await withCheckedContinuation { done in hub.afterDraining { done.resume() } }
        let reader = try store.makeReader()
        #expect(try reader.lane(of: 1)?.position == 0)
        #expect(try reader.lane(of: 2)?.position == 2)
        #expect(unreadable.items.count == 1)
        await offPool { hub.stop(grace: 0) }
    }
}
