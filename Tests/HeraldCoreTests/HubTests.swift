import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Hub", .timeLimit(.minutes(20)))
struct HubTests {
    @Test("a published event is delivered to matching delegates")
    func delivers() async throws {
        let bench = try HubBench()
        let all = await bench.register("https://receiver.example/all")
        await bench.register("https://receiver.example/some") { $0.events = [.prefix("b.")] }
        _ = try await bench.post("a.x", id: "e1")
        _ = try await bench.post("b.x", id: "e2")
        let told = try await bench.callbacks.first(3).map { "\($0.delegate.settings.url.suffix(4)) \($0.event.id)" }
        #expect(told.sorted() == ["/all e1", "/all e2", "some e2"])
        await bench.stop()
        #expect(bench.store.memory.read { $0.settled } == 2)
        #expect(bench.store.memory.read { $0.attempts.count } == 3)
        #expect(bench.store.memory.read { $0.lanes.isEmpty })
        #expect(all?.start == 0)
    }

    @Test("a duplicate id gets the first event, without a second delivery")
    func duplicates() async throws {
        let bench = try HubBench()
        await bench.register()
        let first = EventDraft(event: Event("a.x", id: "e1", data: "1"), mayExist: true)
        let second = EventDraft(event: Event("a.x", id: "e1", data: "2"), mayExist: true)
        let posted = try await bench.hub.publish([first, second])
        #expect(posted.map(\.disposition) == [.accepted, .existed])
        #expect(posted.map { Array($0.event.data) } == [Array("1".utf8), Array("1".utf8)])
        #expect(try await bench.hub.publish([second])[0].disposition == .existed)
        _ = try await bench.post("a.x", id: "e2")
        #expect(try await bench.callbacks.first(2).map(\.event.id) == ["e1", "e2"])
        await bench.stop()
        #expect(bench.callbacks.items.count == 2)
    }

    @Test("an idempotency key replays the response to the same request, and refuses another")
    func idempotentPosts() async throws {
        let bench = try HubBench()
        func post(_ id: String, fingerprint: UInt8) async -> WriteResult<[PublishedEvent]> {
            await bench.publish(
                [EventDraft(event: Event("a.x", id: id), mayExist: false)],
                idempotency: Idempotency(key: "k", fingerprint: [fingerprint]) { posted in
                    StoredAnswer(
                        fingerprint: [fingerprint], status: 202, headers: [], body: Array(posted[0].event.id.utf8))
                })
        }
        guard case .done = await post("e1", fingerprint: 1) else { throw Unexpected("not done") }
        guard case .replayed(let answer) = await post("e2", fingerprint: 1) else { throw Unexpected("not replayed") }
        #expect(answer.body == Array("e1".utf8))
        guard case .refused(.keyReused) = await post("e3", fingerprint: 2) else { throw Unexpected("not refused") }
        #expect(bench.hub.head == 1)
        await bench.stop()
    }

    @Test("an idempotency key works for registrations, too")
    func idempotentRegistrations() async throws {
        let bench = try HubBench()
        func register(_ fingerprint: UInt8) async -> WriteResult<RegistryWrite.Outcome> {
            await bench.change(
                .register(.init(settings: .made(), secret: .test)),
                idempotency: Idempotency(key: "k", fingerprint: [fingerprint]) { _ in
                    StoredAnswer(fingerprint: [fingerprint], status: 201, headers: [], body: [fingerprint])
                })
        }
        guard case .done(.registered) = await register(1) else { throw Unexpected("not registered") }
        guard case .replayed(let answer) = await register(1) else { throw Unexpected("not replayed") }
        #expect(answer.status == 201)
        guard case .refused(.keyReused) = await register(2) else { throw Unexpected("not refused") }
        await bench.stop()
    }

    @Test("registering twice is the same as once; with other settings it is a conflict")
    func registerTwice() async throws {
        let bench = try HubBench()
        let first = try #require(await bench.register())
        guard case .done(.existed(let same)) = await bench.change(.register(.init(settings: .made(), secret: .test)))
        else { throw Unexpected("not found") }
        #expect(same.id == first.id)
        let other = WebhookSettings.made { $0.maxInFlight = 1 }
        guard case .done(.conflict(let holder)) = await bench.change(.register(.init(settings: other, secret: .test)))
        else { throw Unexpected("no conflict") }
        #expect(holder.id == first.id)
        #expect(bench.hub.committed.registry.count == 1)
        await bench.stop()
    }

    @Test("a change applies to the version that it was made for, and increments it")
    func update() async throws {
        let bench = try HubBench()
        let first = try #require(await bench.register())
        func update(_ version: Int64?, _ description: String) async -> WriteResult<RegistryWrite.Outcome> {
            await bench.change(
                .update(id: first.id, ifVersion: version.map { [$0] }) { state, _ in
                    state.settings.description = description
                })
        }
        guard case .done(.updated(let second)) = await update(1, "x") else { throw Unexpected("not updated") }
        #expect(second.version == 2 && second.settings.description == "x" && second.key == first.key)
        guard case .done(.versionMismatch) = await update(1, "y") else { throw Unexpected("not refused") }
        guard case .done(.updated(let same)) = await update(2, "x") else { throw Unexpected("not updated") }
        #expect(same.version == 2)
        await bench.register("https://other.example/")
        let taken = await bench.change(
            .update(id: first.id, ifVersion: nil) { state, _ in state.settings.url = "https://other.example/" })
        guard case .done(.conflict) = taken else { throw Unexpected("no conflict") }
        guard case .done(.notFound) = await bench.change(.remove(id: "dlg_x", ifVersion: nil))
        else { throw Unexpected("found") }
        await bench.stop()
    }

    @Test("a removed delegate receives nothing more; its URL can be registered again")
    func remove() async throws {
        let bench = try HubBench()
        let first = try #require(await bench.register())
        guard case .done(.removed(let removed)) = await bench.change(.remove(id: first.id, ifVersion: [1]))
        else { throw Unexpected("not removed") }
        #expect(removed.map(\.id) == [first.id])
        _ = try await bench.post("a.x", id: "e1")
        let second = try #require(await bench.register())
        #expect(second.key != first.key && second.start == 1)
        _ = try await bench.post("a.x", id: "e2")
        #expect(try await bench.callbacks.first(1).map(\.event.id) == ["e2"])
        guard case .done(.removed(let all)) = await bench.change(.removeAll) else { throw Unexpected("not removed") }
        #expect(all.map(\.id) == [second.id])
        await bench.stop()
        #expect(bench.callbacks.items.count == 1)
        #expect(bench.store.memory.read { $0.lanes.isEmpty && $0.waiting.isEmpty })
    }

    // MARK: Delegates in the process

    private final class Listener: EventDelegate {
        let heard = Recorder<String>()
        func published(_ batch: EventBatch) { for event in batch.events { heard.record(event.id) } }
    }

    @Test("objects are called in the order of the log, once, and held weakly")
    func inMemory() async throws {
        let bench = try HubBench()
        let own = bench.hub.inMemoryDelegates.count
        let listener = Listener()
        weak var released: Listener?
        do {
            let other = Listener()
            released = other
            bench.hub.addDelegate(other, description: "other")
            bench.hub.addDelegate(listener, description: "listener")
            bench.hub.addDelegate(listener, description: "again")
            #expect(bench.hub.inMemoryDelegates.map(\.description).suffix(2) == ["other", "listener"])
        }
        for number in 1...20 { _ = try await bench.post("a.x", id: "e\(number)") }
        // A publisher is answered after the delegates were told.
        #expect(listener.heard.items == (1...20).map { "e\($0)" })
        #expect(released == nil)
        #expect(bench.hub.inMemoryDelegates.count == own + 1)
        bench.hub.removeDelegate(listener)
        _ = try await bench.post("a.x", id: "e21")
        #expect(listener.heard.items.count == 20)
        #expect(bench.hub.inMemoryDelegates.count == own)
        await bench.stop()
    }

    // MARK: Refusals

    @Test("when too many requests wait for the disk, publishers get an error and may retry")
    func busy() async throws {
        var configuration = Hub.Configuration()
        configuration.maxWaitingEvents = 3
        let bench = try HubBench(configuration: configuration)
        let gate = Gate()
        bench.hub.addDelegate(gate, description: "holds the writer")
        let answers = Recorder<String>()
        @Sendable func post(_ id: String) {
            bench.hub.publish(
                Publication(drafts: [EventDraft(event: Event("a.x", id: id), mayExist: false)]) { result in
                    switch result {
                    case .done: answers.record("\(id) done")
                    case .refused(.busy): answers.record("\(id) busy")
                    default: answers.record("\(id) \(result)")
                    }
                })
        }
        post("e0")
        try await gate.reached.first(1)
        for number in 1...4 { post("e\(number)") }
        #expect(answers.items == ["e4 busy"])
        gate.open()
        #expect(try await answers.first(5) == ["e4 busy", "e0 done", "e1 done", "e2 done", "e3 done"])
        await bench.stop()
    }

    /// Holds the writer at the first batch until it is opened.
    private final class Gate: EventDelegate {
        let reached = Recorder<LogPosition>()
        private let semaphore = Semaphore()
        private let isOpen = Atomic<Bool>(false)
        func published(_ batch: EventBatch) {
            if isOpen.load(ordering: .sequentiallyConsistent) { return }
            reached.record(batch.first)
            semaphore.wait()
        }
        func open() {
            isOpen.store(true, ordering: .sequentiallyConsistent)
            semaphore.signal()
        }
    }

    @Test("a failing store is reported to the publisher; when it recovers everything continues")
    func storeErrors() async throws {
        let bench = try HubBench()
        await bench.register()
        _ = try await bench.post("a.x", id: "e1")
        try await bench.callbacks.first(1)
        bench.store.refuse(true)
        await #expect(throws: HubError.self) { try await bench.post("a.x", id: "e2") }
        #expect(bench.hub.head == 1)
        #expect(await bench.register("https://other.example/") == nil)
        #expect(bench.hub.committed.registry.count == 1)
        bench.store.refuse(false)
        _ = try await bench.post("a.x", id: "e2")
        #expect(try await bench.callbacks.first(2).map(\.event.id) == ["e1", "e2"])
        await bench.stop()
        #expect(bench.store.memory.read { $0.attempts.count } == 2)
    }

    // MARK: Stopping

    @Test("a stop completes open work and responds to every request; a restart repeats nothing")
    func stop() async throws {
        let store = RefusingStore()
        let bench = try HubBench(store: store) { _ in .after(nanoseconds: 1_000_000, .success) }
        await bench.register()
        let answers = Recorder<Bool>()
        for number in 1...200 {
            bench.hub.publish(
                Publication(drafts: [EventDraft(event: Event("b.x", id: "e\(number)"), mayExist: false)]) { result in
                    if case .done = result { answers.record(true) } else { answers.record(false) }
                })
        }
        bench.hub.refusePublications()
        await #expect(throws: HubError.self) { try await bench.post("a.x") }
        await offPool { try! bench.hub.drain() }
        #expect(answers.items.count == 200)
        await bench.stop()
        let delivered = store.memory.read { $0.attempts.count }
        let again = try HubBench(store: store)
        #expect(try await again.callbacks.first(200 - delivered).count == 200 - delivered)
        await again.stop()
        let events = Set(store.memory.read { $0.attempts.map(\.record.event) })
        #expect(events == Set(1...200))
        #expect(store.memory.read { $0.attempts.count } == 200)
    }

    @Test("a stop with longer attempts ends at the deadline, and the restart makes them again")
    func deadline() async throws {
        let store = RefusingStore()
        let bench = try HubBench(store: store) { _ in .manual }
        await bench.register()
        _ = try await bench.post("a.x", id: "e1")
        try await bench.callbacks.first(1)
        await bench.stop(grace: 0)
        #expect(store.memory.read { $0.attempts.isEmpty })
        let again = try HubBench(store: store)
        #expect(try await again.callbacks.first(1).map(\.event.id) == ["e1"])
        await again.stop()
        await again.stop()
    }

    @Test("a stop writes the numbers of the attempts that end during it, of many types, too")
    func countsOfStop() async throws {
        let mayEnd = Flag()
        let bench = try HubBench { _ in mayEnd.isSet ? .now(.success) : .manual }
        await bench.register { $0.maxInFlight = 1 }
        for number in 1...150 { _ = try await bench.post("type.\(number)") }
        try await eventually("the first attempt is open") { !bench.sender.open.isEmpty }
        async let stopped: Void = bench.stop()
        try await eventually("it stops") { bench.hub.isStopping }
        mayEnd.set()
        for callback in bench.sender.open { bench.sender.finish(callback.token, .success) }
        await stopped
        let (volumes, attempts) = bench.store.memory.read { ($0.volumes.values.map { $0 }, $0.attempts.count) }
        #expect(attempts > 0 && volumes.reduce(0) { $0 + $1.delivered } == attempts)
        #expect(volumes.reduce(0) { $0 + $1.events } == 150)
    }

    @Test("a stop ends even if the store fails, and a drain after it returns")
    func stopWithoutStore() async throws {
        let bench = try HubBench()
        await bench.register()
        _ = try await bench.post("a.x", id: "e1")
        try await bench.callbacks.first(1)
        bench.store.refuse(true)
        await bench.stop()
        await offPool { try! bench.hub.drain() }
        await #expect(throws: HubError.self) { try await bench.post("a.x") }
    }

    @Test("a test call that comes after the end of the loops gets no outcome, and does not wait for one")
    func testCallAfterTheEnd() async throws {
        let bench = try HubBench()
        let registered = await bench.register()
        let delegate = try #require(registered)
        await bench.stop()
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<CallbackOutcome?, Never>) in
            bench.hub.test(delegate) { continuation.resume(returning: $0) }
        }
        #expect(outcome == nil)
    }

    @Test("many publishers, several loops: each event reaches each delegate once", arguments: [1, 3])
    func load(loops: Int) async throws {
        var configuration = Hub.Configuration()
        configuration.deliveryLoops = loops
        let callbacks = Recorder<String>()
        let hub = try Hub(
            store: MemoryStore(), configuration: configuration, onDurabilityLost: { _ in },
            makeSender: {
                try MemorySender(capacity: 50) { callback in
                    callbacks.record("\(callback.delegate.key) \(callback.event.id)")
                    return .now(.success)
                }
            })
        for number in 1...5 {
            let settings = WebhookSettings.made("https://receiver.example/\(number)") { $0.maxInFlight = number * 3 }
            await hub.result(of: RegistryWrite.self) {
                RegistryWrite(action: .register(.init(settings: settings, secret: .test)), completion: $0)
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for publisher in 0..<4 {
                group.addTask {
                    for number in 0..<100 {
                        let event = Event("a.x", id: "p\(publisher)-\(number)")
                        _ = try await hub.publish([EventDraft(event: event, mayExist: false)])
                    }
                }
            }
            try await group.waitForAll()
        }
        let told = try await callbacks.first(2_000)
        await offPool { hub.stop(grace: 60_000_000_000) }
        #expect(callbacks.items.count == 2_000)
        #expect(Set(told).count == 2_000)
    }
}
