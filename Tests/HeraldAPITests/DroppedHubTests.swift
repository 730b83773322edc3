import Glibc
import HeraldCore
import HeraldModel
import HeraldSQLite
import HeraldTestSupport
import Testing

@Suite("A hub that is not stopped", .timeLimit(.minutes(20)))
struct DroppedHubTests {
    private func makeHub(_ folder: TemporaryFolder) throws -> Hub {
        try Hub(
            store: SQLiteStore(folder: folder.path + "/data"), onDurabilityLost: { _ in },
            makeSender: { try MemorySender() })
    }

    @Test("releases its folder when it is deallocated, with everything that was published")
    func dropped() async throws {
        let folder = TemporaryFolder()
        for number in 1...3 {
            let hub = try makeHub(folder)
            let event = Event("a.b", id: "e\(number)")
            _ = try await hub.publish([EventDraft(event: event, mayExist: false)])
            #expect(hub.head == Int64(number))
        }
        let store = try SQLiteStore(folder: folder.path + "/data")
        #expect(try store.recover().head == 3)
        store.close()
    }

    @Test("ends its threads when it is deallocated")
    func threads() async throws {
        // In a process of its own: other tests have hubs, too.
        await #expect(processExitsWith: .success) {
            try await Self.drop()
            try await eventually("they have ended") { try Self.threads().isEmpty }
        }
    }

    private static func drop() async throws {
        let folder = TemporaryFolder()
        let hub = try Self().makeHub(folder)
        _ = try await hub.publish([EventDraft(event: Event("a.b", id: "e"), mayExist: false)])
        // A thread names itself when it begins.
        try await eventually("they have begun") { try threads().count >= 3 }
        withExtendedLifetime(hub) {}
    }

    /// The names of those that hubs start.
    private static func threads() throws -> [String] {
        try Files.names(in: "/proc/self/task").compactMap { try? Files.read("/proc/self/task/\($0)/comm") }
            .map { String(decoding: $0, as: UTF8.self) }
            .filter { $0.hasPrefix("store-") || $0.hasPrefix("deliver-") }
    }

    @Test("keeps its folder while it lives, and a second hub gets an error that names this process")
    func kept() throws {
        let folder = TemporaryFolder()
        let hub = try makeHub(folder)
        #expect(throws: StoreError.inUse(path: folder.path + "/data", holder: StoreError.thisProcess)) {
            _ = try makeHub(folder)
        }
        hub.stop(grace: 0)
        try SQLiteStore(folder: folder.path + "/data").close()
    }

    @Test("a hub whose folder was moved reports it and refuses, and the process continues")
    func moved() async throws {
        let folder = TemporaryFolder()
        let hub = try makeHub(folder)
        let event = Event(id: "e1", type: "a.b", subject: nil, time: 0, data: Array("1".utf8))
        _ = try await hub.publish([EventDraft(event: event, mayExist: false)])
        #expect(rename(folder.path + "/data", folder.path + "/moved") == 0)
        let lost = StoreError.lost(path: folder.path + "/data", file: "herald.db")
        let problem: HubError = try await eventually("the hub says so") {
            do throws(HubError) {
                try hub.health()
                return nil
            } catch {
                return error
            }
        }
        guard case .store(lost) = problem else { throw problem }
        let other = Event(id: "e2", type: "a.b", subject: nil, time: 0, data: Array("1".utf8))
        await #expect(throws: HubError.self) {
            _ = try await hub.publish([EventDraft(event: other, mayExist: false)])
        }
        hub.stop(grace: 0)
        let store = try SQLiteStore(folder: folder.path + "/moved")
        #expect(try store.recover().head == 1)
        store.close()
    }
}
