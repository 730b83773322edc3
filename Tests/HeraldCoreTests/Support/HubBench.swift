import HeraldCore
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import Testing

/// A hub with a store in memory and a receiver in the process.
struct HubBench: Sendable {
    let hub: Hub
    let store: RefusingStore
    let sender: MemorySender
    /// The callbacks that were started, in their order.
    let callbacks: Recorder<Callback>

    init(
        store: RefusingStore = RefusingStore(), configuration: Hub.Configuration = .init(), clock: Clock = .system,
        answer: @escaping @Sendable (Callback) -> MemorySender.Answer = { _ in .now(.success) }
    ) throws {
        let callbacks = Recorder<Callback>()
        self.callbacks = callbacks
        self.store = store
        let sender = try MemorySender { callback in
            callbacks.record(callback)
            return answer(callback)
        }
        self.sender = sender
        hub = try Hub(
            store: store, configuration: configuration, clock: clock, onDurabilityLost: { _ in },
            makeSender: { sender })
    }

    func post(_ type: String, id: String? = nil, data: String = "{}") async throws -> PublishedEvent {
        let event = Event(type, id: id ?? hub.ids.next("evt_", time: hub.clock.wall()), data: data)
        return try await hub.publish([EventDraft(event: event, mayExist: id != nil)])[0]
    }

    func publish(
        _ drafts: [EventDraft], app: AppKey = .default, idempotency: Idempotency<[PublishedEvent]>? = nil
    ) async -> WriteResult<[PublishedEvent]> {
        await withCheckedContinuation { continuation in
            hub.publish(
                Publication(app: app, drafts: drafts, idempotency: idempotency) { continuation.resume(returning: $0) })
        }
    }

    /// A publication for an app that does not exist is refused.
    func addApp() async throws -> AppKey {
        await hub.result(of: AppWrite.self) { AppWrite(action: .add(id: "app_2", .init(name: "two")), completion: $0) }
        return try #require(hub.committed.apps.find("two")).key
    }

    func change(
        _ action: RegistryWrite.Action, idempotency: Idempotency<RegistryWrite.Outcome>? = nil
    ) async -> WriteResult<RegistryWrite.Outcome> {
        await hub.result(of: RegistryWrite.self) {
            RegistryWrite(action: action, idempotency: idempotency, completion: $0)
        }
    }

    @discardableResult
    func register(_ url: String = "https://receiver.example/", _ change: (inout WebhookSettings) -> Void = { _ in })
        async -> WebhookDelegate?
    {
        let action = RegistryWrite.Action.register(.init(settings: .made(url, change), secret: .test))
        guard case .done(.registered(let delegate)) = await self.change(action) else { return nil }
        return delegate
    }

    func stop(grace: Int64 = 60_000_000_000) async { await offPool { hub.stop(grace: grace) } }
}
