import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// `Prefer: wait`: a request waits until every matching delegate has been called.
@Suite("Watched deliveries")
struct WatchTests {
    private final class Waiting {
        let outcomes = Recorder<[String]?>()
        private(set) var watch: DeliveryWatch!
        init(events: Int = 1, loops: Int = 1) {
            watch = DeliveryWatch(events: events, routers: loops) { [outcomes] reports in
                outcomes.record(reports?.map { "\($0.event.id) \($0.delegate.key) \($0.outcome.isSuccess)" }.sorted())
            }
        }
        var told: [String]? { outcomes.items.first ?? nil }
        var isOver: Bool { outcomes.items.count == 1 }
    }

    @Test("it ends when one attempt was made for every delegate of every loop, with any outcome")
    func allTold() throws {
        let world = try World(loops: 3)
        for number in 1...4 { world.register("https://receiver.example/\(number)") }
        world.register("https://receiver.example/other") { $0.events = [.exact("b.x")] }
        let waiting = Waiting(events: 2, loops: 3)
        world.answer = { $0.delegate.key == 4 ? nil : $0.delegate.key == 3 ? .failure : .success }
        world.publish(2, watch: waiting.watch)
        #expect(!waiting.isOver)
        world.answer = { _ in .success }
        world.run()
        #expect(
            waiting.told == [
                "e1 1 true", "e1 2 true", "e1 3 false", "e1 4 true", "e2 1 true", "e2 2 true", "e2 3 false",
                "e2 4 true",
            ])
    }

    @Test("an ended one is released with its events", arguments: [true, false])
    func released(isInTime: Bool) throws {
        weak var watch: DeliveryWatch?
        do {
            let world = try World()
            world.register()
            world.register("https://receiver.example/2")
            world.answer = { isInTime || $0.delegate.key == 1 ? .success : nil }
            let waiting = Waiting()
            watch = waiting.watch
            world.publish(watch: waiting.watch)
            if !isInTime { waiting.watch.expire() }
            #expect(waiting.isOver && (waiting.told?.count == 2) == isInTime)
        }
        #expect(watch == nil)
    }

    @Test("the recent events find each watch by its event, and release those that are over as others are added")
    func kept() {
        struct Weak {
            weak var watch: DeliveryWatch?
        }
        let recentEvents = RecentEvents(head: 0)
        let last = DeliveryWatch(events: 1, routers: 1) { _ in }
        let kept = (1...LogPosition(5_000)).map { position in
            let watch = DeliveryWatch(events: 1, routers: 1) { _ in }
            recentEvents.watch([position: watch])
            watch.expire()
            return Weak(watch: watch)
        }
        recentEvents.watch([5_002: last])
        #expect(kept.count { $0.watch != nil } <= 1_024)
        let events = (1...3).map { Event(id: "e\($0)", type: "a.x", subject: nil, time: 0, data: "null".utf8) }
        let found = recentEvents.watches(of: EventBatch(first: 5_001, events: events))
        #expect(found.count == 1 && found[5_002] === last)
        #expect(recentEvents.watches(of: EventBatch(first: 5_003, events: events)).isEmpty)
    }

    @Test("the timers of those that are over are released as others are added, and those of the others fire")
    func timers() throws {
        let bench = try EngineBench()
        let (first, last) = (Waiting(), Waiting())
        let end = bench.clock.now + 60_000_000_000
        bench.engine.receive(.expire(first.watch, at: end))
        for _ in 0..<5_000 {
            let watch = DeliveryWatch(events: 1, routers: 1) { _ in }
            bench.engine.receive(.expire(watch, at: end))
            watch.expire()
        }
        bench.engine.receive(.expire(last.watch, at: end))
        #expect(bench.engine.waitingTimers <= 1_025)
        bench.clock.advance(nanoseconds: 59_000_000_000)
        bench.turn()
        #expect(!first.isOver && !last.isOver)
        bench.clock.advance(nanoseconds: 1_000_000_000)
        bench.turn()
        #expect(first.isOver && last.isOver)
        #expect(bench.engine.waitingTimers == 0)
    }

    @Test("the deliveries that publishers wait for have bounded room, of which an app leaves some, and give it back")
    func room() {
        let room = ByteRoom<AppKey>(maxBytes: 100 * DeliveryWatch.deliveryBytes)
        func watch(_ app: Int64, _ outcomes: Recorder<Bool>) -> DeliveryWatch {
            DeliveryWatch(events: 1, routers: 1, room: room, app: AppKey(rawValue: app)) { outcomes.record($0 != nil) }
        }
        let (first, second, third) = (Recorder<Bool>(), Recorder<Bool>(), Recorder<Bool>())
        let (one, two, other) = (watch(1, first), watch(1, second), watch(2, third))
        one.routed(to: 70)
        #expect(first.items.isEmpty && room.bytes == 70 * DeliveryWatch.deliveryBytes)
        two.routed(to: 10)
        #expect(second.items == [false] && room.bytes == 70 * DeliveryWatch.deliveryBytes)
        other.routed(to: 10)
        #expect(third.items.isEmpty && room.bytes == 80 * DeliveryWatch.deliveryBytes)
        other.expire()
        #expect(third.items == [false] && room.bytes == 70 * DeliveryWatch.deliveryBytes)
        for _ in 0..<70 { one.withdraw() }
        #expect(first.items == [true] && room.bytes == 0)
    }

    @Test("a publication without room for its bytes does not wait, and gives them back when its wait ends")
    func bytes() throws {
        var configuration = Hub.Configuration()
        configuration.maxAwaitedBytes = 10_000
        let bench = try HubBench(configuration: configuration)
        let outcomes = Recorder<Bool>()
        let first = bench.hub.watch(.default, events: 1, bytes: 9_000, seconds: 3_600) { outcomes.record($0 != nil) }
        let second = bench.hub.watch(.default, events: 1, bytes: 9_000, seconds: 3_600) { outcomes.record($0 != nil) }
        #expect(first != nil && second == nil)
        first?.expire()
        #expect(outcomes.items == [false])
        #expect(bench.hub.awaitedRoom.bytes == 0)
    }

    @Test(
        "a stop ends the waits for committed events also while commits fail, and not after a loss of the storage",
        arguments: [
            .full, .inputOutput(reason: "on purpose"), .failed(reason: "on purpose"),
            .lost(path: "data", file: "herald.db"),
        ] as [StoreError])
    func endedWaits(_ error: StoreError) async throws {
        let bench = try HubBench { _ in .manual }
        await bench.register()
        let outcomes = Recorder<Bool>()
        let watch = bench.hub.watch(.default, events: 1, bytes: 0, seconds: 3_600) { outcomes.record($0 != nil) }
        let draft = EventDraft(event: Event("a.x", id: "e1"), mayExist: true)
        await withCheckedContinuation { continuation in
            bench.hub.publish(Publication(drafts: [draft], watch: watch) { _ in continuation.resume() })
        }
        let isLost = if case .lost = error { true } else { false }
        if isLost { bench.hub.storage.lost(error) } else { bench.hub.storage.failed(error, refused: 0, at: 0) }
        bench.hub.endWatches()
        #expect(outcomes.items == (isLost ? [] : [false]))
        await bench.stop(grace: 0)
    }

    @Test("a report keeps what a response shows, and nothing else")
    func reports() {
        let outcome = CallbackOutcome(verdict: .failed(.timeout, detail: "after 15 s"), duration: 5, excerpt: [1])
        let report = DeliveryWatch.Report(
            delegate: WebhookDelegate(1), event: Event("a.x", id: "e1"), outcome: outcome)
        #expect(report.outcome.verdict == .failed(.timeout, detail: "") && report.outcome.duration == 5)
        #expect(report.outcome.excerpt.isEmpty)
    }

    @Test("without recipients it ends at once")
    func nobody() throws {
        let world = try World(loops: 2)
        world.register { $0.events = [.exact("b.x")] }
        let waiting = Waiting(loops: 2)
        world.publish(watch: waiting.watch)
        #expect(waiting.told == [])
    }

    @Test("it ends at its deadline, and is called once")
    func timeIsUp() throws {
        let world = try World()
        world.register()
        world.answer = { _ in nil }
        let waiting = Waiting()
        world.process.loops[0].engine.receive(.expire(waiting.watch, at: world.clock.now + 5_000_000_000))
        world.publish(watch: waiting.watch)
        world.advance(seconds: 4.9)
        #expect(!waiting.isOver)
        world.advance(seconds: 0.2)
        #expect(waiting.isOver && waiting.told == nil)
        world.answer = { _ in .success }
        world.settle()
        #expect(waiting.outcomes.items.count == 1)
        #expect(!world.process.loops[0].engine.isAwaited)
    }

    @Test("with too many deliveries it ends at once, and leaves nothing behind")
    func tooMany() throws {
        let world = try World()
        world.register()
        world.answer = { _ in nil }
        let events = DeliveryWatch.maxDeliveries
        let (most, tooMany) = (Waiting(events: events), Waiting(events: events + 1))
        world.publish(events + 1, watch: tooMany.watch)
        #expect(tooMany.isOver && tooMany.told == nil)
        #expect(!world.process.loops[0].engine.isAwaited)
        world.publish(events, watch: most.watch)
        #expect(!most.isOver)
    }

    @Test("the end of one wait leaves the others")
    func others() throws {
        let world = try World()
        world.register()
        world.answer = { _ in nil }
        let (first, second) = (Waiting(), Waiting())
        world.process.loops[0].engine.receive(.expire(first.watch, at: world.clock.now + 5_000_000_000))
        world.publish(watch: first.watch)
        world.publish(watch: second.watch)
        world.advance(seconds: 6)
        #expect(first.isOver && !second.isOver)
        world.answer = { _ in .success }
        world.settle()
        #expect(second.told == ["e2 1 true"])
    }

    @Test("delegates that are paused, failing or not verified are not awaited")
    func absent() throws {
        let world = try World()
        let paused = world.register("https://receiver.example/paused")
        world.update(paused) { state, now in state.apply(.paused, now: now) }
        world.answer = { _ in .failure }
        world.register("https://receiver.example/failing")
        world.register("https://receiver.example/pending") { $0.verification = .challenge }
        world.publish(5)
        world.advance(seconds: 1_000)
        let waiting = Waiting()
        world.publish(watch: waiting.watch)
        #expect(waiting.told == [])
    }

    enum End: CaseIterable { case removed, paused, disabled, gone }

    @Test("a delivery that will not be made now is no longer awaited", arguments: End.allCases)
    func ends(_ end: End) throws {
        let (world, key) = try World.registered { $0.maxInFlight = 1 }
        world.answer = { _ in nil }
        world.publish()
        let waiting = Waiting()
        world.publish(watch: waiting.watch)
        #expect(!waiting.isOver)
        switch end {
        case .removed: world.remove(key)
        case .paused: world.update(key) { state, now in state.apply(.paused, now: now) }
        case .disabled:
            world.answer = { _ in
                var outcome = CallbackOutcome.failure
                outcome.control = .disable
                return outcome
            }
        case .gone: world.answer = { _ in .answered(410) }
        }
        world.run()
        #expect(waiting.told == [])
    }

    @Test("an open delivery of a delegate that is paused is still awaited; of a removed one, it is not")
    func underWay() throws {
        for isRemoved in [false, true] {
            let (world, key) = try World.registered()
            world.answer = { _ in nil }
            let waiting = Waiting()
            world.publish(watch: waiting.watch)
            if isRemoved {
                world.remove(key)
            } else {
                world.update(key) { state, now in state.apply(.paused, now: now) }
            }
            #expect(waiting.isOver == isRemoved)
            world.answer = { _ in .success }
            world.run()
            #expect(waiting.told == (isRemoved ? [] : ["e1 1 true"]))
        }
    }

    @Test("a lane that is behind is awaited until it reaches the event")
    func behind() throws {
        let world = try World()
        world.register { $0.maxInFlight = 1 }
        world.answer = { $0.event.id == "e1" ? nil : .success }
        world.publish(3)
        let waiting = Waiting()
        world.publish(watch: waiting.watch)
        #expect(!waiting.isOver)
        world.answer = { _ in .success }
        world.run()
        #expect(waiting.told == ["e4 1 true"])
    }

    @Test("a delivery is awaited whose filter is beyond the steps of the turn, and ends the wait if it does not match")
    func undecided() throws {
        let world = try World()
        let expensive = try ExpensiveFilter()
        // Together they take more than the steps of a turn, before the last one examines the event.
        for number in 0..<40 {
            world.register("https://receiver.example/\(number)") { $0.filter = expensive.filter }
        }
        let cheap = try #require(ContentFilter(text: Array(#"{"data": {"t": [{"prefix": "a"}]}}"#.utf8)))
        world.register("https://other.example/") {
            $0.events = [.exact("a.x")]
            $0.filter = cheap
        }
        let waiting = Waiting()
        world.publish(data: expensive.data, watch: waiting.watch)
        world.settle()
        #expect(waiting.told == ["e1 41 true"])
    }

    @Test("cancelled deliveries and events removed by retention are no longer awaited")
    func cancelled() throws {
        for isTrimmed in [false, true] {
            let (world, key) = try World.registered { $0.ordering = .subject }
            world.answer = { _ in nil }
            world.publish(1, subject: "s")
            let waiting = Waiting()
            world.publish(1, subject: "s", watch: waiting.watch)
            world.settle()
            #expect(world.rows(key).map(\.event) == [2])
            if isTrimmed {
                world.publish(2)
                world.trim(through: 2)
            } else {
                world.manage(.cancel(DeliveryQuery([.retrying])))
            }
            #expect(waiting.told == [])
        }
    }

    @Test("a stop ends it")
    func stops() throws {
        let bench = try EngineBench()
        let waiting = Waiting()
        bench.engine.receive(.expire(waiting.watch, at: .max))
        bench.engine.receive(.stop(deadline: 0))
        #expect(waiting.isOver && waiting.told == nil)
    }
}
