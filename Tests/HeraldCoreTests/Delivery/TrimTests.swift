import HeraldJSON
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Events that retention removes before their delivery.
@Suite("Missed events")
struct TrimTests {
    private func missed(_ world: World) -> Int {
        world.process.loops.reduce(0) { $0 + $1.engine.counters.missed.load(ordering: .relaxed) }
    }

    @Test("a paused lane misses events that retention removes; they are counted, and announced at most once a minute")
    func told() throws {
        let (world, key) = try World.registered()
        world.update(key) { state, now in state.apply(.paused, now: now) }
        world.publishAndSettle(50)
        for event: LogPosition in [5, 7, 9] { world.trimAndSettle(through: event) }
        #expect(world.announced == ["herald.delivery.dropped"])
        #expect(missed(world) == 9)
        world.advance(seconds: 60)
        #expect(world.announced.count == 2)
        #expect(
            String(decoding: world.announcements[1].data, as: UTF8.self).contains(
                #""events_at_most":4,"total_at_most":9"#))
        world.advance(seconds: 36_000)
        #expect(world.announced.count == 2)
        world.resume(key)
        world.settle()
        #expect(Set(world.arrivals(key)) == Set((10...50).map { "e\($0)" }))
        #expect(world.contents.lanes.isEmpty)
    }

    @Test("the counts survive a crash, and what was not announced before it is announced after it")
    func crash() throws {
        let (world, key) = try World.registered()
        world.update(key) { state, now in state.apply(.paused, now: now) }
        world.publishAndSettle(50)
        for event: LogPosition in [5, 9] { world.trimAndSettle(through: event) }
        #expect(try announcedEvents(world) == 5)
        try world.crash()
        world.settle()
        #expect(try announcedEvents(world) == 9)
        try world.crash()
        world.settle()
        #expect(try announcedEvents(world) == 9)
        let removals = world.contents.removals
        #expect(removals.count == 2)
        #expect(removals.contains(Removal(.events, .age, count: 9)))
        #expect(removals.contains(Removal(.deliveries, .age, count: 9)))
    }

    /// The numbers of all announcements together.
    private func announcedEvents(_ world: World) throws -> Int64 {
        try world.announcements.reduce(0) { sum, event in
            #expect(event.type == "herald.delivery.dropped")
            return sum + (try JSONDocument(parsing: Array(event.data))["events_at_most"]?.integer ?? 0)
        }
    }

    @Test("only matching events are counted, and the announcement has the same number")
    func wanted() throws {
        let (world, key) = try World.registered {
            $0.events = [.exact("b.x")]
            $0.subjects = ["s"]
            $0.filter = ContentFilter(text: Array(#"{"data": {"n": [1]}}"#.utf8))
            $0.retrySchedule = [3_600]
        }
        world.answer = { _ in .failure }
        world.publishAndSettle(1, type: "b.x", subject: "s", data: #"{"n": 1}"#)
        #expect(world.rows(key).map(\.event) == [1])
        world.update(key) { state, now in state.apply(.paused, now: now) }
        for _ in 0..<10 {
            world.publish(1, type: "a.x", subject: "s", data: #"{"n": 1}"#)
            world.publish(1, type: "b.x", subject: "t", data: #"{"n": 1}"#)
            world.publish(1, type: "b.x", subject: "s", data: #"{"n": 2}"#)
            world.publish(1, type: "b.x", subject: "s", data: #"{"n": 1}"#)
        }
        // Of the last event of a type the first cut has none.
        world.manage(.erase([5]))
        world.trimAndSettle(through: 4)
        #expect(missed(world) == 1)
        world.trimAndSettle(through: 21)
        // The retry, and five that were not erased; less than the 21 that were cut off.
        #expect(missed(world) == 5)
        #expect(try announcedEvents(world) == 1)
        let counted = missed(world)
        try world.restart()
        world.run()
        #expect(try announcedEvents(world) == Int64(counted))
    }

    @Test("content filters that cost much do not hold up the loop: events beyond their steps count as missed")
    func expensiveFilters() throws {
        let world = try World()
        let expensive = try ExpensiveFilter()
        let keys = [world.register(), world.register("https://other.example/") { $0.filter = expensive.filter }]
        for key in keys { world.update(key) { state, now in state.apply(.paused, now: now) } }
        world.publish(data: expensive.matching)
        let decided = EventDistributor.maxTrimSteps / expensive.steps + 1
        world.publishAndSettle(decided + 11, data: expensive.data)
        world.trimAndSettle(through: LogPosition(decided + 11))
        // All of the first delegate; of the second one, the event that matches, and those that were not examined.
        #expect((decided + 22...decided + 24).contains(missed(world)))
    }

    @Test("of a pull delegate, events beyond the budget of its filter count as missed")
    func pulls() throws {
        let expensive = try ExpensiveFilter()
        let event = Event("a.x", data: expensive.data)
        let gone = (1...10).map { LoggedEvent(sequence: LogPosition($0), event: event) }
        let selection = EventSelection(filter: expensive.filter)
        var budget = WorkBudget(steps: 3 * expensive.steps + 1)
        let wanted = RetentionTask.wanted(gone, by: selection, &budget)
        #expect(wanted == Array(4...10))
        budget = WorkBudget(steps: 11 * expensive.steps)
        #expect(RetentionTask.wanted(gone, by: selection, &budget).isEmpty)
    }

    @Test("an event that waits for a retry and is no longer wanted does not count as missed")
    func unwantedRetry() throws {
        let (world, key) = try World.registered { $0.retrySchedule = [3_600] }
        world.answer = { _ in .failure }
        world.publishAndSettle(2)
        world.update(key) { state, _ in state.settings.events = [.exact("b.x")] }
        world.trimAndSettle(through: 1)
        #expect(missed(world) == 0 && world.announced.isEmpty)
        #expect(world.rows(key).map(\.event) == [2])
    }

    @Test("retries, queues and replays of removed events end, and block nothing")
    func rows() throws {
        let (world, key) = try World.registered {
            $0.ordering = .subject
            $0.maxInFlight = 2
        }
        world.answer = { $0.event.id == "e1" ? .failure : nil }
        world.publish(4, subject: "s")
        world.publish(2, subject: "t")
        world.publishAndSettle(1, subject: "u")
        #expect(world.rows(key).map(\.event) == [1, 2, 3, 4, 6])
        world.manage(.replay(delegateID: world.delegate(key)?.id ?? "", after: 0, until: 3))
        world.trim(through: 3)
        world.answer = { _ in .success }
        world.advance(seconds: 100)
        #expect(world.arrivals(key).filter { $0 != "e1" } == ["e5", "e7", "e4", "e6"])
        #expect(world.rows(key).isEmpty && world.contents.replays.isEmpty)
        #expect(missed(world) == 3)
        #expect(world.announced == ["herald.delivery.dropped"])
    }

    @Test("a retry that was open when its event was removed leaves no row if it fails")
    func openRetry() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 1)
        bench.finish(with: .failure)
        bench.advance(seconds: 10)
        #expect(bench.open(1) == [1])
        #expect(bench.checkpoint()?.waiting.map(\.state) == [.retrying])
        bench.engine.receive(.trim(through: 1, gone: [], .size))
        bench.finish(with: .failure)
        let last = try #require(bench.checkpoint())
        #expect(last.waiting.isEmpty && last.ended == [DeliveryKey(delegate: 1, event: 1)])
    }

    @Test("a lane forgets what it gave up of events that retention removes")
    func givenUp() {
        let lane = Lane(WebhookDelegate(1), next: 1, position: 0)
        for event: LogPosition in 2...3 { lane.gaveUp(event) }
        let hasMoved = lane.trim(through: 2)
        let (removed, kept) = (lane.takeGivenUp(2), lane.takeGivenUp(3))
        #expect(hasMoved && !removed && kept)
    }

    @Test("a cancelled delivery whose event retention removes gets no other row after a start")
    func forgotten() {
        let lane = Lane(WebhookDelegate(1) { $0.ordering = .subject }, next: 2, position: 3)
        lane.forgotten = [2, 3]
        _ = lane.trim(through: 2)
        let (removed, kept) = (lane.settleForgotten(2), lane.settleForgotten(3))
        #expect(!removed && kept && lane.ahead == [3])
    }

    @Test("a redelivery that is newer than the scan of a removal is made, and holds up no later one of its subject")
    func newerRedelivery() throws {
        let world = try World(waiting: 16)
        let key = world.register {
            $0.ordering = .subject
            $0.retrySchedule = [3_600]
        }
        var isBroken = true
        world.answer = { isBroken && Int($0.event.id.dropFirst()).map { $0 % 2 == 0 } == true ? .failure : .success }
        world.publishAndSettle()
        world.publishAndSettle(1, subject: "s")
        // What a scan finds now.
        world.manageAndSettle(.cancel(DeliveryQuery([.retrying])))
        let scanned = TrimWrite(events: [1...2], cause: .size)
        for _ in 0..<4 { world.publishAndSettle(6) }
        world.manageAndSettle(.redeliverEvent(id: "e2", delegateID: nil))
        let lane = try #require(world.process.loops[0].engine.lane(key))
        #expect(lane.waiting.stored?.currents[2] == "s" && lane.rows[2] == nil)
        #expect(world.process.intake.submit(scanned) == nil)
        world.writeNext()
        #expect(world.contents.first == 2)
        isBroken = false
        world.publishAndSettle(1, subject: "s")
        #expect(world.rows(key).map(\.event).contains(27))
        world.advance(seconds: 10_000)
        #expect(world.rows(key).isEmpty && lane.waiting.hasAll)
        #expect(Array(world.arrivals(key).filter { ["e2", "e27"].contains($0) }.suffix(2)) == ["e2", "e27"])
    }

    @Test("rows of removed events that are only in the store end and are counted")
    func storedRows() throws {
        let world = try World(waiting: 16)
        let key = world.register { $0.retrySchedule = [3_600, 3_600] }
        world.answer = { Int($0.event.id.dropFirst()).map { $0 % 2 == 0 } == true ? .failure : .success }
        for _ in 0..<20 {
            world.publishAndSettle(10)
        }
        #expect(world.rows(key).count == 100)
        #expect(world.process.loops[0].engine.lane(key)?.rows.count ?? 0 <= 16)
        world.trim(through: 100)
        world.advance(seconds: 10)
        #expect(world.rows(key).map(\.event) == Array(stride(from: 102, through: 200, by: 2)))
        #expect(missed(world) == 50)
        world.answer = { _ in .success }
        world.advance(seconds: 10_000)
        #expect(world.rows(key).isEmpty)
        #expect(Set(world.arrivals(key)).count == 200)
    }

    @Test("rows that are to be ended while those of an earlier removal are being loaded are loaded next")
    func storedRowsOfTwoRemovals() throws {
        let bench = try EngineBench(settled: 100, backlog: 100)
        bench.set(WebhookDelegate(1), restored: .init(backlog: LaneBacklog(count: 40)))
        let lane = try #require(bench.engine.lane(1))
        bench.engine.receive(.trim(through: 10, gone: [], .size))
        _ = bench.checkpoint()
        #expect(lane.waiting.stored?.loading == .events(LogPosition.min...10))
        bench.engine.receive(.trim(through: 20, gone: [], .size))
        bench.engine.receive(.rows(1, .events(LogPosition.min...10), []))
        #expect(lane.waiting.stored?.ended == 20)
        _ = bench.checkpoint()
        #expect(lane.waiting.stored?.loading == .events(11...20))
        bench.engine.receive(.rows(1, .events(11...20), []))
        #expect(lane.waiting.stored?.ended == nil)
    }

    @Test("rows that are to be ended are found behind as many requested ones as one load has")
    func storedRowsBehindRequested() throws {
        let bench = try EngineBench(settled: 3_000, backlog: 3_000)
        bench.set(WebhookDelegate(1), restored: .init(backlog: LaneBacklog(count: 2_600)))
        let lane = try #require(bench.engine.lane(1))
        bench.engine.receive(.trim(through: 3_000, gone: [], .size))
        let last = LogPosition(lane.waiting.loadLimit)
        let rows = (1...last).map {
            WaitingDelivery(delegate: 1, event: $0, attempts: 1, dueAt: 0, state: .retrying, isReplay: true)
        }
        for row in rows { bench.request(.redeliver(row)) }
        _ = bench.checkpoint()
        let first = StoredRowsQuery.Part.events(LogPosition.min...3_000)
        #expect(lane.waiting.stored?.loading == first)
        bench.engine.receive(.rows(1, first, rows))
        _ = bench.checkpoint()
        #expect(lane.waiting.stored?.loading == .events(last + 1...3_000))
    }

    @Test("a delegate that fails is not failing any more once nothing is left to send to it")
    func outage() throws {
        let (world, key) = try World.registered()
        world.answer = { _ in .failure }
        for _ in 0..<8 {
            world.publishAndSettle()
        }
        #expect(world.delegate(key)?.state.failingSince != nil)
        world.trim(through: 7)
        world.manage(.cancel(DeliveryQuery([.retrying])))
        world.advance(seconds: 100)
        world.manage(.cancel(DeliveryQuery([.retrying])))
        world.advance(seconds: 100)
        #expect(world.delegate(key)?.state.failingSince == nil)
        #expect(world.process.loops[0].engine.board.entry(key) == nil)
    }

    @Test("a delivery that was requested again while its event was removed is not shown any more")
    func removedMeanwhile() throws {
        let bench = try EngineBench(WebhookDelegate(1, start: 5), settled: 5, backlog: 5)
        bench.request(
            .redeliver(
                WaitingDelivery(delegate: 1, event: 2, attempts: 0, dueAt: 0, state: .retrying, isReplay: true)))
        _ = bench.checkpoint()
        #expect(bench.engine.board.entry(1)?.retrying == 1)
        let after = try #require(bench.reads.first)
        bench.engine.receive(.page(after: after, EventBatch(first: 5, events: [bench.log[4]])))
        #expect(bench.checkpoint()?.ended == [DeliveryKey(delegate: 1, event: 2)])
        #expect((bench.engine.board.entry(1)?.retrying ?? 0) == 0)
    }

    @Test("open deliveries of a removed event end normally")
    func open() throws {
        let (world, key) = try World.registered()
        world.answer = { _ in nil }
        world.publish(3)
        world.trim(through: 2)
        #expect(missed(world) == 0)
        world.answer = { $0.event.id == "e1" ? .failure : .success }
        world.settle()
        // The retry finds that the event has gone.
        world.answer = { _ in .success }
        world.advance(seconds: 100)
        #expect(world.rows(key).isEmpty && world.contents.lanes.isEmpty)
    }

    @Test("an attempt removed by retention does not count for a removed delegate")
    func removed() throws {
        let (world, key) = try World.registered()
        world.update(key) { state, now in state.apply(.paused, now: now) }
        world.publish(5)
        world.trim(through: 3)
        world.remove(key)
        world.advance(seconds: 10_000)
        #expect(world.announced.count <= 1)
        #expect(world.contents.lanes.isEmpty)
    }
}
