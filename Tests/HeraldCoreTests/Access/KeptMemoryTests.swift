import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Memory that is kept of what clients store", .timeLimit(.minutes(20)))
struct KeptMemoryTests {
    private static let other = AppKey(rawValue: 2)

    private func refusal(_ kept: KeptMemory, _ app: AppKey, _ bytes: Int) -> Int? {
        kept.limit(refusing: .init(app: app, bytes: bytes))
    }

    @Test("an app may take three quarters of what the other apps leave")
    func shares() {
        let kept = KeptMemory(limit: 1_000)
        kept.change(.delegates, of: .default, by: 700)
        #expect(refusal(kept, .default, 50) == nil)
        #expect(refusal(kept, .default, 51) == 750)
        kept.change(.keys, of: .default, by: 50)
        #expect(refusal(kept, Self.other, 187) == 186 && refusal(kept, Self.other, 186) == nil)
        kept.change(.delegates, of: Self.other, by: 186)
        kept.change(.delegates, of: .default, by: -700)
        #expect(kept.total == 236 && kept.bytes(of: .default) == 50 && kept.bytes(of: .delegates) == 186)
        #expect(refusal(kept, .default, 500) == nil)
    }

    @Test("a request that needs no more memory than before is not refused, however much is kept")
    func beyond() {
        let kept = KeptMemory(limit: 100)
        // An earlier run had more memory.
        kept.change(.delegates, of: .default, by: 1_000)
        #expect(refusal(kept, .default, 0) == nil && refusal(kept, .default, -1) == nil)
        #expect(refusal(kept, .default, 1) == 75)
    }

    @Test("large delegates are refused by their bytes, also as a change, and the memory of removed ones is free again")
    func delegates() async throws {
        var configuration = Hub.Configuration()
        configuration.memory.maxKeptBytes = 2 << 20
        let bench = try HubBench(configuration: configuration)
        let before = bench.hub.committed.kept.total
        func subjects(_ count: Int) -> [String] {
            (0..<count).map { String(repeating: "s", count: 250) + String(100 + $0) }
        }
        var urls: [String] = []
        var refused: HubError?
        while refused == nil, urls.count < 100 {
            let url = "https://receiver.example/\(urls.count)"
            let settings = WebhookSettings.made(url) { $0.subjects = subjects(500) }
            switch await bench.change(.register(.init(settings: settings, secret: .test))) {
            case .done(.registered): urls.append(url)
            case .refused(let refusal): refused = refusal
            default: Issue.record("neither registered nor refused")
            }
        }
        let limit = (2 << 20) / 4 * 3
        guard case .tooMany(let why) = refused else { throw Unexpected("\(urls.count) were registered") }
        #expect(why.contains("may take \(limit >> 10) KiB"))
        #expect(bench.hub.committed.kept.bytes(of: .delegates) <= limit && (4...12).contains(urls.count))
        // Small ones fit as long as there is room; a large change of one does not.
        let small = try #require(await bench.register("https://receiver.example/small"))
        let large = subjects(800)
        let changed = await bench.change(
            .update(id: small.id, ifVersion: nil) { state, _ throws(FieldErrors) in
                state.settings.subjects = large
            })
        guard case .refused(.tooMany) = changed else { throw Unexpected("\(changed)") }
        #expect(bench.hub.committed.registry.delegate(.default, id: small.id)?.settings.subjects == [])
        _ = await bench.change(.removeAll)
        #expect(bench.hub.committed.kept.total == before)
        await bench.stop()
    }

    @Test("keys, event types and apps are weighed, and weigh nothing once they are removed")
    func others() async throws {
        let bench = try HubBench()
        let hub = bench.hub
        let before = hub.committed.kept.total
        func submit(_ type: EventTypeWrite.Action) async -> WriteResult<EventTypeWrite.Outcome> {
            await hub.result(of: EventTypeWrite.self) { EventTypeWrite(type: "a.b", action: type, completion: $0) }
        }
        func submit(_ action: AccessWrite.Action) async -> WriteResult<AccessWrite.Outcome> {
            await hub.result(of: AccessWrite.self) {
                AccessWrite(hasOperatorKey: true, action: action, completion: $0)
            }
        }
        var description = EventTypeWrite.Description()
        description.schema = Array(("{\"title\": \"" + String(repeating: "x", count: 50_000) + "\"}").utf8)
        _ = await submit(.set(description))
        let ofType = hub.committed.kept.bytes(of: .eventTypes)
        #expect((1..<1_000).contains(ofType), "the schema is in the store")
        #expect(hub.committed.catalogue.summary(.default, "a.b")?.bytes == description.schema?.count)
        _ = await submit(.set(description))
        #expect(hub.committed.kept.bytes(of: .eventTypes) == ofType)
        let name = String(repeating: "n", count: 256)
        let key = APIKey(
            id: "key_1", name: name, scopes: [.read], digest: [UInt8](repeating: 1, count: 32), createdAt: 1)
        _ = await submit(.addKey(key))
        #expect(hub.committed.kept.bytes(of: .keys) > 512 + 256)
        _ = await submit(.open(Session(digest: [1], kind: .session, app: .default, key: "key_1", expiresAt: .max)))
        #expect(hub.committed.kept.bytes(of: .sessions) == Session.keptBytes)
        // With its session.
        _ = await submit(.revokeKey(id: "key_1"))
        _ = await submit(.remove)
        #expect(hub.committed.kept.total == before)
        await bench.stop()
    }

    @Test("an app that was deleted while a request waited gets no event type")
    func typeOfDeletedApp() async throws {
        let bench = try HubBench()
        let hub = bench.hub
        let result = await hub.result(of: EventTypeWrite.self) {
            EventTypeWrite(app: Self.other, type: "a.b", action: .set(.init()), completion: $0)
        }
        guard case .done(.notFound) = result else { throw Unexpected("\(result)") }
        #expect(hub.committed.catalogue.isEmpty && hub.committed.kept.bytes(of: .eventTypes) == 0)
        await bench.stop()
    }

    @Test("opening many sessions ends those of the app that has most, not those of others")
    func sessions() async throws {
        var configuration = Hub.Configuration()
        configuration.memory.maxKeptBytes = 1 << 16
        let bench = try HubBench(configuration: configuration)
        let hub = bench.hub
        let limit = hub.committed.sessions.limit
        #expect(limit == 100)
        let app = try await bench.addApp()
        func open(_ number: Int, _ app: AppKey, expiresAt: Int64) async {
            let session = Session(
                digest: [UInt8(number >> 8), UInt8(number & 255)], kind: .portalSession, app: app, key: "anyone",
                expiresAt: expiresAt)
            await hub.result(of: AccessWrite.self) { AccessWrite(action: .open(session), completion: $0) }
        }
        let future = hub.clock.wall() + 1_000_000
        // It ends first.
        await open(0, .default, expiresAt: future)
        for number in 1...limit + 20 { await open(number, app, expiresAt: future + Int64(number)) }
        #expect(hub.committed.sessions.find([0, 0], at: 0) != nil)
        #expect(hub.committed.sessions.sessions(ofKey: "anyone").count == limit)
        await bench.stop()
    }
}

@Suite("Values that memory keeps as long as they fit")
struct ValueCacheTests {
    @Test("the bytes are bounded, and a value that is too large is not kept")
    func bounded() {
        let overhead = ValueCache<Int, [UInt8]>.overhead
        var cache = ValueCache<Int, [UInt8]>(maxBytes: 10 * (overhead + 100)) { $0.count }
        for key in 0..<100 {
            cache[key] = Array(repeating: 1, count: 100)
            #expect(cache[key] != nil && cache.bytes <= 10 * (overhead + 100))
        }
        #expect(cache[0] == nil, "it was pushed out")
        cache[99] = Array(repeating: 1, count: 10 * (overhead + 100))
        #expect(cache[99] == nil, "its former value is outdated")
        cache[98] = nil
        cache.remove { _ in true }
        #expect(cache.bytes == 0)
    }

    @Test("users with large data stay within the bytes, and the store has those that memory has not")
    func users() async throws {
        var configuration = Hub.Configuration()
        configuration.memory.maxValueBytes = 2 << 20
        let bench = try HubBench(configuration: configuration)
        let name = String(repeating: "x", count: 100_000)
        for user in 0..<40 {
            let data = #"{"user": {"id": \#(user), "name": "\#(name)"}}"#
            let event = Event("auth.logged_in", id: "e\(user)", data: data)
            _ = try await bench.hub.publish([EventDraft(event: event, mayExist: false)])
        }
        #expect(bench.hub.committed.auth.bytes <= 1 << 20 && bench.hub.committed.auth.bytes > 200_000)
        #expect(bench.hub.committed.auth.status(.default, userID: "39") != nil)
        #expect(bench.hub.committed.auth.status(.default, userID: "0") == nil)
        let stored = await offPool {
            try? bench.hub.readAndWait(app: .default) { reader throws(StoreError) in
                try reader.authStatus(app: .default, userID: "0")
            }
        }
        #expect(stored?.isLoggedIn == true)
        await bench.stop()
    }
}
