import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Hubs that share a store", .timeLimit(.minutes(20)))
struct SharedHubTests {
    private let memory = MemoryStore()

    private func pair() throws -> (HubBench, HubBench) {
        (try HubBench(store: RefusingStore(memory)), try HubBench(store: RefusingStore(memory)))
    }

    private func administer(_ bench: HubBench, _ action: AccessWrite.Action) async -> AccessWrite.Outcome? {
        let result = await bench.hub.result(of: AccessWrite.self) {
            AccessWrite(hasOperatorKey: true, action: action, completion: $0)
        }
        if case .done(let outcome) = result { return outcome }
        return nil
    }

    private func addApp(_ bench: HubBench, _ id: String, _ settings: App.Settings) async throws -> App {
        let result = await bench.hub.result(of: AppWrite.self) {
            AppWrite(action: .add(id: id, settings), completion: $0)
        }
        guard case .done(.added(let app)) = result else { throw Unexpected("\(result)") }
        return app
    }

    private func catchUp(_ bench: HubBench) async {
        await withCheckedContinuation { continuation in
            if !bench.hub.catchUp({ _ in continuation.resume() }) { continuation.resume() }
        }
    }

    private func pause(_ bench: HubBench, _ id: String) async {
        _ = await bench.change(
            .update(id: id, ifVersion: nil) { state, now in state.apply(.paused, now: now) })
    }

    @Test("a delegate that one hub registers, pauses or removes is so at the other, by a read or a notification")
    func delegates() async throws {
        let (a, b) = try pair()
        let made = try #require(await a.register("https://receiver.example/a"))
        await catchUp(b)
        #expect(b.hub.committed.registry.delegate(.default, id: made.id)?.settings.url == "https://receiver.example/a")
        await pause(b, made.id)
        // Without being asked.
        try await eventually("the pause") { a.hub.committed.registry.delegate(key: made.key)?.status == .paused }
        _ = await a.change(.remove(id: made.id, ifVersion: nil))
        await catchUp(b)
        #expect(b.hub.committed.registry.count == 0)
        for bench in [a, b] { await bench.stop() }
    }

    @Test("a hub decides on what the others have changed, although it has not heard of it yet")
    func decisions() async throws {
        let (a, b) = try pair()
        // Neither looks by itself while the other one registers.
        var keys: Set<DelegateKey> = []
        for round in 1...20 {
            let first = try #require(await a.register("https://receiver.example/\(round)"))
            guard
                case .done(.existed(let found)) = await b.change(
                    .register(.init(settings: .made("https://receiver.example/\(round)"), secret: .test)))
            else {
                Issue.record("registered twice")
                continue
            }
            #expect(found.id == first.id)
            keys.insert(try #require(await b.register("https://receiver.example/\(round)/b")).key)
            keys.insert(first.key)
        }
        #expect(keys.count == 40 && memory.read { $0.delegates.count } == 40)
        // A URL that a delegate has left belongs to the next one, whichever of the changes is heard first.
        let first = try #require(a.hub.committed.registry.delegates(.default, url: "https://receiver.example/1").first)
        _ = await a.change(.update(id: first.id, ifVersion: nil) { state, _ in state.settings.url += "/moved" })
        let second = try #require(await a.register("https://receiver.example/1"))
        _ = await a.change(.update(id: first.id, ifVersion: nil) { state, _ in state.settings.description = "x" })
        await catchUp(b)
        let known = b.hub.committed.registry
        #expect(known.delegates(.default, url: "https://receiver.example/1").map(\.id) == [second.id])
        #expect(known.delegates(.default, url: "https://receiver.example/1/moved").map(\.id) == [first.id])
        for bench in [a, b] { await bench.stop() }
    }

    @Test("a hub reports the lag of a delegate without an owner, from its start on")
    func backlogs() async throws {
        let silent = MemoryLeases(memory, NodeKey(rawValue: 1))
        _ = silent.take(.all)
        let a = try HubBench(store: RefusingStore(memory, node: NodeKey(rawValue: 2)))
        let delegate = try #require(await a.register())
        let head = try #require(await a.register("https://receiver.example/other")).start + 3
        // Their last owner has recorded that they are up to date. That leaves no row of them.
        memory.read { contents in
            contents.lanes = [:]
            contents.settledPositions = SettledPositions(head - 3)
        }
        for _ in 1...3 { _ = try await a.post("a.b") }
        let b = try HubBench(store: RefusingStore(memory, node: NodeKey(rawValue: 3)))
        #expect(b.hub.lane(of: delegate)?.next == head - 2)
        #expect(try BacklogCounter(b.hub, memory.makeReader()).count(delegate).events == 3)
        try await eventually("the hub that was there before notices") {
            a.hub.lane(of: delegate)?.next == head - 2
        }
        silent.endSession()
        try await eventually("one of them delivers") { a.callbacks.items.count + b.callbacks.items.count == 6 }
        try await eventually("both know") {
            a.hub.lane(of: delegate) == nil && b.hub.lane(of: delegate) == nil
        }
        for bench in [a, b] { await bench.stop() }
    }

    @Test("a publisher that waits for callbacks does not wait for a pull delegate, whichever node has its shard")
    func waiting() async throws {
        let silent = MemoryLeases(memory, NodeKey(rawValue: 1))
        _ = silent.take(.all)
        let bench = try HubBench(store: RefusingStore(memory, node: NodeKey(rawValue: 2)))
        let delegate = await bench.register("") { $0.kind = .pull }
        #expect(delegate != nil)
        let ended = Recorder<Int?>()
        let watch = bench.hub.watch(.default, events: 1, bytes: 0, seconds: 3_600) { ended.record($0?.count) }
        let draft = EventDraft(event: Event("a.b", id: "e1"), mayExist: true)
        bench.hub.publish(Publication(drafts: [draft], watch: watch) { _ in })
        try await eventually("the wait ends") { ended.items == [0] }
        await bench.stop()
    }

    @Test("a pull that waits at one hub gets the events before which the other one moves the position")
    func seeking() async throws {
        let (a, b) = try pair()
        let delegate = try #require(await a.register("") { $0.kind = .pull })
        func seek(_ position: LogPosition) async {
            await a.hub.result(of: PullWrite.self) {
                PullWrite(delegateID: delegate.id, action: .seek(to: position), completion: $0)
            }
        }
        _ = try await a.post("a.b", id: "e1")
        await seek(1)
        await catchUp(b)
        let pulls = Pulls(hub: b.hub)
        b.hub.addDelegate(pulls, description: "pulls")
        let found = Recorder<[String]>()
        pulls.pull(
            .init(delegateID: delegate.id, limit: 10, seconds: 3_600) {
                found.record((try? $0.get())?.events.map(\.event.event.id) ?? [])
            })
        try await eventually("it waits") { pulls.kept.waiting == 1 }
        await seek(0)
        try await eventually("the event") { found.items == [["e1"]] }
        for bench in [a, b] { await bench.stop() }
    }

    @Test("a replay and a move of a position go to the end of the log, although the hub has not heard of it yet")
    func ends() async throws {
        let (a, b) = try pair()
        let delegate = try #require(await a.register())
        let (isHeld, gate) = (Flag(), Flag())
        defer { gate.set() }
        b.hub.afterDraining {
            isHeld.set()
            try? blockUntil("the other hub may follow") { gate.isSet }
        }
        try await eventually("its writer is held") { isHeld.isSet }
        let last = b.hub.head
        for number in 1...2 { _ = try await a.post("a.b", id: "e\(number)") }
        #expect(b.hub.head == last)
        let reader = memory.makeReader()
        let plan = ReplayPlan(from: .event(id: "e1"), until: .now, only: .all)
        let found = try plan.action(for: delegate, b.hub, reader)
        if case .replay(_, let after, let until) = found.action {
            #expect(until == a.hub.head && after == a.hub.head - 2)
        } else {
            Issue.record("no replay")
        }
        let next = try PositionInput.now.first(in: reader, app: .default, head: b.hub.head, pointer: "/to")
        #expect(next == a.hub.head + 1)
        gate.set()
        for bench in [a, b] { await bench.stop() }
    }

    @Test("keys, sessions, apps and event types made at one hub are at the other, until they are removed")
    func access() async throws {
        let (a, b) = try pair()
        let key = APIKey(
            id: "key_1", name: "", scopes: [.admin], digest: Array(repeating: 1, count: 32), createdAt: 1)
        let session = Session(digest: [2], kind: .session, app: .default, key: "key_1", expiresAt: .max)
        _ = await administer(a, .addKey(key))
        _ = await administer(a, .open(session))
        let app = try await addApp(a, "app_1", .init(name: "one"))
        let types = await a.hub.result(of: EventTypeWrite.self) {
            EventTypeWrite(type: "a.b", action: .set(.init()), completion: $0)
        }
        guard case .done(.added) = types else { throw Unexpected("no type") }
        await catchUp(b)
        #expect(b.hub.committed.keys.entry(id: "key_1") != nil && b.hub.committed.sessions.find([2], at: 0) != nil)
        #expect(b.hub.committed.apps.find("one") == app && b.hub.committed.catalogue.summary(.default, "a.b") != nil)
        _ = await administer(b, .revokeKey(id: "key_1"))
        await b.hub.result(of: AppWrite.self) {
            AppWrite(action: .remove(id: "app_1", ifVersion: nil), completion: $0)
        }
        await b.hub.result(of: EventTypeWrite.self) {
            EventTypeWrite(type: "a.b", action: .remove, completion: $0)
        }
        await catchUp(a)
        #expect(a.hub.committed.keys.isEmpty && a.hub.committed.sessions.find([2], at: 0) == nil)
        #expect(a.hub.committed.apps.find("one") == nil && a.hub.committed.catalogue.summary(.default, "a.b") == nil)
        // Its key is used, wherever the next one is made.
        let second = try await addApp(a, "app_2", .init(name: "one"))
        #expect(second.key.rawValue == app.key.rawValue + 1)
        for bench in [a, b] { await bench.stop() }
    }

    @Test("what one hub accepts for an app with a limit uses up the allowance that the other one has")
    func rates() async throws {
        let (a, b) = try pair()
        let app = try await addApp(a, "app_1", App.Settings(name: "one", eventsPerSecond: 5))
        // As many as it may post in 100 seconds, at once.
        let drafts = (0..<500).map { EventDraft(event: Event("a.b", id: "e\($0)", app: app.key), mayExist: true) }
        guard case .done = await a.publish(drafts, app: app.key) else { throw Unexpected("not accepted") }
        await catchUp(b)
        let draft = EventDraft(event: Event("a.b", id: "f", app: app.key), mayExist: true)
        guard case .refused(.rateLimited(limit: 5, retryAfter: let seconds)) = await b.publish([draft], app: app.key)
        else { throw Unexpected("accepted") }
        #expect(seconds > 30)
        // An app without a limit has no bucket.
        _ = try await b.post("a.b")
        for bench in [a, b] { await bench.stop() }
    }

    @Test("an event that one hub erases is erased in the memory of the other, and what that recorded of it later")
    func erasure() throws {
        let (a, b) = (try World(memory: memory), try World(memory: memory))
        a.register()
        b.catchUp()
        a.answer = { _ in nil }
        b.publish(data: #"{"secret":1}"#)
        a.catchUp()
        _ = a.manage(.erase([1]))
        // The other one has not heard of it when it records an attempt.
        b.advance(seconds: 0.15)
        #expect(memory.read { $0.attempts.count } == 1)
        b.catchUp()
        // It counts the block, and ends what it has recorded of the event.
        for _ in 1...2 { b.writeNext() }
        #expect(memory.read { $0.attempts.isEmpty })
        #expect(b.process.recentEvents.slice(after: 0, limit: 1).first?.isErased == true)
    }

    @Test("what one hub erases in the last block of the log counts no more at the other, and what follows counts once")
    func erasedBytes() throws {
        let (a, b) = (try World(memory: memory), try World(memory: memory))
        a.publish(2, data: "\"" + String(repeating: "x", count: 500) + "\"")
        b.catchUp()
        let before = b.process.usage.total(of: .default)
        _ = a.manage(.erase([1]))
        a.publish()
        b.catchUp()
        // It counts the block, and ends what it has recorded of the event.
        for _ in 1...2 { b.writeNext() }
        let (found, expected) = (b.process.usage.total(of: .default), a.process.usage.total(of: .default))
        #expect(found.events == 3 && expected.events == 3)
        #expect(found.bytes == expected.bytes && found.bytes < before.bytes)
    }

    @Test("a step of an erasure names no event of the next one, which another hub would erase")
    func stepOfErasure() throws {
        let world = try World(memory: memory)
        world.publish(20)
        _ = world.manage(.erase(Array(1...20)))
        let changes = memory.read { $0.changes.flatMap(\.changes) }
        let named = changes.filter { if case .event = $0 { true } else { false } }
        #expect(named == (1...16).map { Change.event($0) })
    }

    @Test("an erasure of several steps counts every row that it finds, although another hub ends what it has recorded")
    func countsOfErasure() throws {
        let (a, b) = (try World(memory: memory), try World(memory: memory))
        a.publish(data: #"{"secret":1}"#)
        b.catchUp()
        func record(_ delegates: ClosedRange<DelegateKey>) {
            let rows = delegates.map {
                WaitingDelivery(delegate: $0, event: 1, attempts: 1, dueAt: 0, state: .retrying)
            }
            memory.read { contents in for row in rows { contents.waiting[row.key] = row } }
        }
        record(1...40)
        var (rest, deliveries, steps) = ([LogPosition(1)], 0, 0)
        while !rest.isEmpty, steps < 10 {
            guard case .erased(let erasure)? = a.manage(.erase(rest)) else { break }
            (rest, deliveries, steps) = (erasure.rest, deliveries + erasure.deliveries, steps + 1)
            if rest.isEmpty { record(1...1) }
            b.catchUp()
            for _ in 1...3 { b.writeNext() }
        }
        #expect(deliveries == 40 && steps == 3)
        #expect(memory.read { $0.waiting.isEmpty }, "the other one has recorded a row before it knew of the last step")
        #expect(b.process.recentEvents.slice(after: 0, limit: 1).first?.isErased == true)
    }

    @Test("a hub that begins to keep house announces what the last one has counted for pull delegates of other shards")
    func missedPulls() async throws {
        let last = MemoryLeases(memory, NodeKey(rawValue: 1))
        _ = last.take(Shards(of: 0))
        let node = NodeKey(rawValue: 2)
        let bench = try HubBench(store: RefusingStore(memory, node: node))
        for number in 1...16 {
            await bench.register("") { ($0.kind, $0.description) = (.pull, "\(number)") }
        }
        let keys = bench.hub.committed.registry.all.map(\.key)
        let held: @Sendable () -> Shards = { [memory] in memory.read { $0.leases[node] ?? [] } }
        try await eventually("it has shards") { keys.contains { held().contains($0) } }
        let key = try #require(keys.first { held().contains($0) })
        memory.read { $0.unannounced[key] = 2 }
        #expect(!held().contains(.housekeeper))
        last.endSession()
        try await eventually("they are announced") { [memory] in memory.read { $0.unannounced.isEmpty } }
        await bench.stop()
    }

    @Test("rows that one hub records for a delegate while the other one removes it do not stay")
    func removal() throws {
        let (a, b) = (try World(memory: memory), try World(memory: memory))
        let key = a.register()
        b.catchUp()
        a.remove(key)
        let row = WaitingDelivery(delegate: key, event: 1, attempts: 1, dueAt: 0, state: .retrying)
        memory.read { $0.waiting[row.key] = row }
        b.catchUp()
        b.writeNext()
        #expect(memory.read { $0.waiting.isEmpty })
    }

    @Test("a hub whose store does not respond notices that its state is old")
    func age() throws {
        let world = try World()
        world.publish()
        #expect(world.process.freshness.isCurrent)
        world.clock.advance(seconds: 6)
        #expect(!world.process.freshness.isCurrent)
        world.publish()
        #expect(world.process.freshness.isCurrent)
    }

    @Test("a hub whose store does not respond is not healthy, although nothing has failed")
    func health() async throws {
        let (clock, store) = (ManualClock(), RefusingStore(memory))
        let (isWriting, responds, published) = (Flag(), Flag(), Flag())
        let bench = try HubBench(store: store, clock: clock.clock)
        defer { responds.set() }
        try bench.hub.health()
        store.duringTransaction.withLock { observer in
            observer = {
                isWriting.set()
                _ = try? blockUntil("the store responds") { responds.isSet }
            }
        }
        let draft = EventDraft(event: Event("a.b", id: "e", data: "{}"), mayExist: false)
        bench.hub.publish(Publication(app: .default, drafts: [draft], idempotency: nil) { _ in published.set() })
        try await eventually("the writer waits for the store") { isWriting.isSet }
        clock.advance(seconds: 6)
        let error = #expect(throws: HubError.self) { try bench.hub.health() }
        let isUnavailable = if case .store(.unavailable)? = error { true } else { false }
        #expect(isUnavailable, "\(String(describing: error))")
        responds.set()
        try await eventually("the event is published") { published.isSet }
        await bench.stop()
    }

    @Test("a hub goes by the clock that all of them agree on, also when its machine has another time")
    func sharedClock() async throws {
        let hour: Int64 = 3_600_000
        let late = try HubBench(store: RefusingStore(memory, clockOffset: hour))
        let made = try #require(await late.register())
        #expect(made.createdAt > Clock.system.wall() + hour / 2)
        _ = try await late.post("a.b")
        try await eventually("the attempt is recorded") { memory.read { !$0.attempts.isEmpty } }
        #expect(memory.read { $0.attempts[0].record.startedAt } >= made.createdAt)
        await late.stop()
    }

    // MARK: Commits without an answer

    private let lost = StoreError.unknown(reason: "on purpose")

    @Test("a request whose commit got no response is carried out once, with the usual response")
    func requests() throws {
        let world = try World()
        world.publish(3)
        world.store.fail(lost)
        let key = world.register()
        #expect(world.delegate(key) != nil && world.contents.delegates.count == 1)
        world.settle()
        world.store.fail(lost)
        let id = try #require(world.delegate(key)?.id)
        guard case .replay(let replay) = world.manage(.replay(delegateID: id, after: 0, until: nil))
        else { throw Unexpected("no replay") }
        #expect(world.contents.lastReplayID == replay.id)
        world.settle()
        #expect(world.arrivals(key) == ["e1", "e2", "e3"])
        world.store.fail(lost)
        world.manageAndSettle(.redeliverEvent(id: "e2", delegateID: id))
        #expect(world.arrivals(key) == ["e1", "e2", "e3", "e2"])
        #expect(world.process.writer.counters.failures.load(ordering: .relaxed) == 0)
    }

    @Test("a notice whose commit got no response is announced once")
    func notices() throws {
        let (world, key) = try World.registered { $0.retrySchedule = [] }
        world.answer = { _ in .failure }
        // The first attempt exhausts the schedule; then the receiver counts as failing.
        world.publish()
        world.store.fail(lost)
        world.settle()
        world.store.fail()
        world.settle()
        #expect(world.announced.count { $0 == "herald.delivery.exhausted" } == 1)
        #expect(Set(world.announcements.map(\.id)).count == world.announcements.count)
        #expect(world.rows(key).map(\.state) == [.exhausted])
    }

    @Test("what was not committed after all is carried out when it is run again")
    func notCommitted() throws {
        let world = try World()
        world.store.fail(.unavailable(reason: "on purpose"))
        #expect(world.register() == 0)
        world.store.fail(lost, .unavailable(reason: "on purpose"))
        // Committed, but the answer and the second run are lost: the hub hears of it like of the changes of others.
        #expect(world.register() == 0)
        world.publish()
        world.process.change(.register(.init(settings: .made(), secret: .test)))
        world.run()
        #expect(world.contents.delegates.count == 1 && world.process.registry.count == 1)
    }
}

extension RecentEvents.Slice {
    fileprivate var first: Event? { if case .events(let batch) = self { batch.events.first } else { nil } }
}
