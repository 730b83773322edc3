import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore

@Suite("Responses that are remembered for idempotency keys", .timeLimit(.minutes(20)))
struct RememberedResponseTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()
    private let limited = AppKey(rawValue: 2)

    private func bench() throws -> HubBench { try HubBench(store: RefusingStore(memory), clock: clock.clock) }

    /// A response of 1,000 bytes.
    private func idempotency<Outcome>(_ key: String) -> Idempotency<Outcome> {
        Idempotency(key: IdempotencyKey(key: key, fingerprint: [1])) { _ in
            StoredAnswer(
                fingerprint: [1], status: 200, headers: [],
                body: [UInt8](repeating: 32, count: 1_000 - StoredAnswer.rowBytes))
        }
    }

    private func publish(
        _ bench: HubBench, id: String = "same", key: String?, app: AppKey? = nil
    ) async -> ProblemName? {
        let app = app ?? limited
        let draft = EventDraft(event: Event("a.b", id: id, app: app), mayExist: true)
        let result = await bench.publish([draft], app: app, idempotency: key.map { idempotency($0) })
        if case .refused(let refusal) = result { return refusal.error.problem }
        return nil
    }

    private func register(_ bench: HubBench, key: String?) async -> ProblemName? {
        let once: Idempotency<RegistryWrite.Outcome>? = key.map { idempotency($0) }
        let result = await withCheckedContinuation { continuation in
            bench.hub.submit(
                RegistryWrite(
                    app: limited, action: .register(.init(settings: .made(), secret: .test)), idempotency: once
                ) { continuation.resume(returning: $0) })
        }
        if case .refused(let refusal) = result { return refusal.error.problem }
        return nil
    }

    @Test("count for the storage limit of their app until they expire, also after a restart")
    func limit() async throws {
        try memory.transaction { (transaction) throws(StoreError) in
            let settings = App.Settings(name: "two", maxStoredBytes: 3_000)
            try transaction.setApp(
                App(key: limited, id: "app_2", settings: settings, createdAt: 1, updatedAt: 1, version: 1))
        }
        let first = try bench()
        for key in ["a", "b", "c"] { #expect(await publish(first, key: key) == nil, "\(key)") }
        #expect(first.hub.committed.usage.bytes(of: limited, at: clock.wall).responses == 3_000)
        #expect(await publish(first, key: "d") == .quotaExceeded)
        #expect(await register(first, key: "e") == .quotaExceeded)
        #expect(await publish(first, id: "new", key: nil) == .quotaExceeded, "events and responses count together")
        #expect(await publish(first, key: "a") == nil, "a repetition")
        #expect(await publish(first, key: nil) == nil, "a repeated event")
        #expect(await register(first, key: nil) == nil)
        for key in ["a", "b", "c", "d"] { #expect(await publish(first, key: key, app: .default) == nil, "another app") }
        await first.stop()

        let second = try bench()
        #expect(await publish(second, key: "d") == .quotaExceeded)
        clock.advance(seconds: 25 * 3_600)
        #expect(await publish(second, key: "d") == nil)
        #expect(await publish(second, id: "new", key: nil) == nil)
        await second.stop()
    }

    @Test("an app with a full log can still be managed with idempotency keys")
    func fullLog() async throws {
        try memory.transaction { (transaction) throws(StoreError) in
            let settings = App.Settings(name: "two", maxStoredBytes: 10)
            try transaction.setApp(
                App(key: limited, id: "app_2", settings: settings, createdAt: 1, updatedAt: 1, version: 1))
        }
        let bench = try bench()
        #expect(await publish(bench, key: nil) == nil)
        #expect(await publish(bench, id: "new", key: nil) == .quotaExceeded)
        #expect(await register(bench, key: "a") == nil)
        await bench.stop()
    }
}
