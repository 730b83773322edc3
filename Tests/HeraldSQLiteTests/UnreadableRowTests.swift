import HeraldCore
import HeraldModel
import HeraldTestSupport
import Testing

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
}
