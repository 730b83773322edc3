import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Removals in steps", .timeLimit(.minutes(20)))
struct RemovalTests {
    private let bench: HubBench
    private let provenance = Provenance(actor: "key_1", address: "192.0.2.1", action: "DELETE /v1/delegates")
    private var memory: MemoryStore { bench.store.memory }

    init() throws { bench = try HubBench() }

    /// Records numbers of the store at the beginning of each transaction.
    private func record(_ numbers: @escaping @Sendable (MemoryContents) -> [Int]) -> Recorder<[Int]> {
        let seen = Recorder<[Int]>()
        bench.store.duringTransaction.withLock { observer in
            observer = { [memory] in seen.record(memory.read { numbers($0) }) }
        }
        return seen
    }

    /// The most that one transaction has removed.
    private func largestStep(_ seen: [Int]) -> Int { zip(seen, seen.dropFirst() + [0]).map { $0 - $1 }.max() ?? 0 }

    private func add(_ count: Int, deliveriesOf key: DelegateKey) throws {
        try memory.transaction { (transaction) throws(StoreError) in
            var checkpoint = Checkpoint()
            checkpoint.waiting = (1...count).map { number in
                WaitingDelivery(
                    delegate: key, event: LogPosition(number), attempts: 1, dueAt: 9, state: .exhausted)
            }
            try transaction.write(checkpoint)
        }
    }

    private func remove(_ action: RegistryWrite.Action) async -> WriteResult<RegistryWrite.Outcome> {
        await bench.hub.result(of: RegistryWrite.self) {
            RegistryWrite(action: action, provenance: provenance, completion: $0)
        }
    }

    @Test("many delegates, of which one has many deliveries, are removed in steps with one entry in the audit log")
    func delegates() async throws {
        var first: DelegateKey?
        for number in 1...40 {
            let delegate = try #require(await bench.register("https://receiver.example/\(number)"))
            first = first ?? delegate.key
        }
        try add(1_200, deliveriesOf: try #require(first))
        let seen = record { [$0.delegates.count, $0.waiting.count] }
        guard case .done(.removed(let removed)) = await remove(.removeAll)
        else { throw Unexpected("they were not removed") }
        #expect(removed.count == 40 && Set(removed.map(\.id)).count == 40)
        #expect(memory.read { $0.delegates.isEmpty && $0.waiting.isEmpty && $0.audit.count == 1 })
        #expect(largestStep(seen.items.map { $0[0] }) <= 32 && largestStep(seen.items.map { $0[1] }) <= 500)
        #expect(bench.hub.committed.registry.count == 0)
        await bench.stop()
    }

    @Test("a delegate that is registered between two steps of the removal of all others stays")
    func registeredMeanwhile() async throws {
        for number in 1...70 { _ = try #require(await bench.register("https://receiver.example/\(number)")) }
        let isRegistered = Flag()
        bench.store.duringTransaction.withLock { observer in
            observer = { [memory, hub = bench.hub] in
                // The first of three steps is over.
                guard !isRegistered.isSet, memory.read({ $0.delegates.count }) < 70 else { return }
                isRegistered.set()
                let settings = WebhookSettings.made("https://receiver.example/new")
                hub.submit(RegistryWrite(action: .register(.init(settings: settings, secret: .test))) { _ in })
            }
        }
        guard case .done(.removed(let removed)) = await remove(.removeAll)
        else { throw Unexpected("they were not removed") }
        #expect(removed.count == 70 && isRegistered.isSet)
        #expect(bench.hub.committed.registry.all.map(\.settings.url) == ["https://receiver.example/new"])
        await bench.stop()
    }

    @Test("a delegate with many deliveries is removed as a whole, in the version that the request names")
    func delegate() async throws {
        let delegate = try #require(await bench.register())
        try add(501, deliveriesOf: delegate.key)
        let seen = record { [$0.waiting.count] }
        let wrong = await remove(.remove(id: delegate.id, ifVersion: [delegate.version + 1]))
        guard case .done(.versionMismatch) = wrong else { throw Unexpected("\(wrong)") }
        #expect(memory.read { $0.waiting.count } == 501)
        guard case .done(.removed(let removed)) = await remove(.remove(id: delegate.id, ifVersion: [delegate.version]))
        else { throw Unexpected("it was not removed") }
        #expect(removed.map(\.id) == [delegate.id] && largestStep(seen.items.map { $0[0] }) <= 500)
        #expect(memory.read { $0.delegates.isEmpty && $0.waiting.isEmpty && $0.audit.count == 1 })
        await bench.stop()
    }

    @Test("a publication that waited while its app was deleted leaves no event, no status and nothing scheduled")
    func publicationOfDeletedApp() async throws {
        let app = AppKey(rawValue: 7)
        let login = Event("auth.logged_in", id: "e1", data: #"{"user": {"id": 1}}"#, app: app)
        let later = Event("a.b", id: "e2", app: app)
        let drafts = [
            EventDraft(event: login, mayExist: true),
            EventDraft(event: later, mayExist: true, deliverAt: bench.hub.clock.wall() + 60_000),
        ]
        let result = await bench.publish(drafts, app: app)
        guard case .refused(.notFound) = result else { throw Unexpected("\(result)") }
        #expect(memory.read { $0.events.isEmpty && $0.authStatus.isEmpty && $0.pending.isEmpty })
        await bench.stop()
    }

    @Test("an app with many users and responses is removed in steps, the first of which is in the audit log")
    func app() async throws {
        func change(_ action: AppWrite.Action, _ provenance: Provenance? = nil) async -> WriteResult<AppWrite.Outcome> {
            await bench.hub.result(of: AppWrite.self) {
                AppWrite(action: action, provenance: provenance, completion: $0)
            }
        }
        guard case .done(.added(let app)) = await change(.add(id: "app_2", App.Settings(name: "two")))
        else { throw Unexpected("there is no app") }
        try memory.transaction { (transaction) throws(StoreError) in
            let response = StoredAnswer(fingerprint: [1], status: 202, headers: [], body: [])
            for number in 1...250 {
                try transaction.setAuthStatus(
                    AuthStatus(
                        app: app.key, userID: "\(number)", isLoggedIn: true, user: Array("{}".utf8), since: 5,
                        eventID: "e"))
                try transaction.setAnswer(response, app: app.key, key: "k\(number)", expiresAt: .max)
            }
        }
        let seen = record { [$0.authStatus.count, $0.answers.count, $0.audit.count] }
        guard case .done(.removed) = await change(.remove(id: app.id, ifVersion: [app.version]), provenance)
        else { throw Unexpected("it was not removed") }
        #expect(largestStep(seen.items.map { $0[0] }) <= 100 && largestStep(seen.items.map { $0[1] }) <= 100)
        #expect(seen.items.allSatisfy { $0[2] == ($0[0] < 250 ? 1 : 0) }, "\(seen.items)")
        #expect(memory.read { $0.apps.isEmpty && $0.authStatus.isEmpty && $0.answers.isEmpty })
        await bench.stop()
    }
}
