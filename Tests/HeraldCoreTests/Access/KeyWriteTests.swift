import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldModel

@Suite("Changes of keys")
struct KeyWriteTests {
    private let clock = ManualClock()
    private let memory = MemoryStore()
    private let digest = [UInt8](repeating: 1, count: 32)

    private func key(_ name: String, _ scopes: [Scope] = [.read], expiresAt: Int64? = nil) -> APIKey {
        APIKey(
            id: "key_\(name)", name: name, scopes: scopes, digest: digest, createdAt: clock.wall, expiresAt: expiresAt)
    }

    private func bench(_ keys: [APIKey]) throws -> HubBench {
        try memory.transaction { (transaction) throws(StoreError) in
            for key in keys { try transaction.setKey(key) }
        }
        return try HubBench(store: RefusingStore(memory), clock: clock.clock)
    }

    private func change(_ bench: HubBench, _ action: AccessWrite.Action) async throws -> AccessWrite.Outcome {
        let result = await bench.hub.result(of: AccessWrite.self) { AccessWrite(action: action, completion: $0) }
        guard case .done(let outcome) = result else { throw HubError.busy }
        return outcome
    }

    private func stored(_ id: String) -> APIKey? { memory.read { $0.keys[id] } }

    @Test("a list examines only the keys of its app, newest first, and nothing is kept of an app without keys")
    func list() {
        func own(_ id: String, _ app: Int64) -> APIKey {
            APIKey(
                app: AppKey(rawValue: app), id: id, name: "", scopes: [.read], digest: digest, createdAt: 0,
                expiresAt: nil)
        }
        let keys = KeyRing([own("key_a", 1), own("key_b", 2), own("key_c", 1)])
        keys.set(own("key_d", 1))
        keys.set(own("key_a", 1))
        func list(_ app: Int64) -> [String] { keys.list(AppKey(rawValue: app)).map(\.key.id) }
        #expect(list(1) == ["key_d", "key_c", "key_a"] && list(2) == ["key_b"] && list(3).isEmpty)
        #expect(keys.keptApps == 2 && keys.all.count == 4)
        keys.remove("key_b")
        #expect(list(2).isEmpty && keys.keptApps == 1 && keys.entry(id: "key_b") == nil)
    }

    @Test("a key that replaces another one has its rights and its lifetime, and makes it last no longer")
    func rotation() async throws {
        let (start, hour): (Int64, Int64) = (clock.wall, 3_600_000)
        let old = APIKey(
            id: "key_a", name: "worker", scopes: [.consume], digest: digest, createdAt: start, expiresAt: start + hour,
            requestsPerSecond: 7, delegate: "dlg_1")
        let bench = try bench([old])
        clock.advance(seconds: 600)
        let second = AccessWrite.NewKey(id: "key_b", digest: [UInt8](repeating: 2, count: 32))
        _ = try await change(bench, .rotateKey(id: old.id, replacement: second, overlap: 24 * hour))
        let replacement = APIKey(
            id: second.id, name: "worker", scopes: [.consume], digest: second.digest, createdAt: clock.wall,
            expiresAt: clock.wall + hour, requestsPerSecond: 7, delegate: "dlg_1")
        #expect(stored(second.id) == replacement)
        #expect(bench.hub.committed.keys.entry(id: second.id)?.key == replacement)
        #expect(stored(old.id)?.expiresAt == start + hour)
        let third = AccessWrite.NewKey(id: "key_c", digest: [UInt8](repeating: 3, count: 32))
        _ = try await change(bench, .rotateKey(id: second.id, replacement: third, overlap: 60_000))
        #expect(stored(second.id)?.expiresAt == clock.wall + 60_000)
        await bench.stop()
    }

    @Test("the last valid key with the scope admin stays, whatever other keys there are")
    func lastAdmin() async throws {
        let bench = try bench([
            key("a", [.admin]), key("b", [.admin], expiresAt: clock.wall), key("c", [.publish, .manage]),
        ])
        let refused = try await change(bench, .revokeKey(id: "key_a"))
        guard case .lastAdminKey = refused else { throw Unexpected("\(refused)") }
        #expect(stored("key_a") != nil)
        _ = try await change(bench, .revokeKey(id: "key_b"))
        _ = try await change(bench, .addKey(key("d", [.admin])))
        _ = try await change(bench, .revokeKey(id: "key_a"))
        #expect(["a", "b", "c", "d"].map { stored("key_\($0)") == nil } == [true, true, false, false])
        await bench.stop()
    }

    @Test("an app has 1,000 keys at most, and those that ended more than 30 days ago make room")
    func room() async throws {
        let ended = ["x", "y"].map { key($0, expiresAt: clock.wall) }
        let bench = try bench((1...998).map { key("\($0)") } + ended)
        clock.advance(seconds: 30 * 86_400)
        let refused = try await change(bench, .addKey(key("new")))
        guard case .tooManyKeys = refused else { throw Unexpected("\(refused)") }
        #expect(stored("key_x") != nil)
        clock.advance(seconds: 1)
        _ = try await change(bench, .addKey(key("new")))
        #expect(stored("key_x") == nil && stored("key_y") == nil && stored("key_new") != nil)
        #expect(memory.read { $0.keys.count } == 999)
        await bench.stop()
    }

    @Test("a key that is written again keeps what it has used of its rate")
    func rate() throws {
        let keys = KeyRing([key("a")])
        let first = try #require(keys.entry(id: "key_a")).meter.refusal(limit: 1, now: 0)
        #expect(first == nil)
        var used = key("a")
        used.lastUsedAt = 5
        keys.set(used)
        let entry = try #require(keys.entry(id: "key_a"))
        #expect(entry.lastUsedAt == 5 && entry.meter.refusal(limit: 1, now: 0) == 1)
    }
}
