import Glibc
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Random latencies, failures, pauses, restarts and changes against a delegate that asked for an order.
@Suite("Ordering")
struct OrderingTests {
    private struct Story {
        /// The order of the first successful arrivals, by subject.
        var arrivals: [LogPosition] = []
        var subjects: [LogPosition: String] = [:]
        /// How many were open at once, at most: of all, and of one subject.
        var mostOpen = 0
        var mostOfSubject = 0
        var published = 0
    }

    /// `restarts`: the process is stopped and dies now and then, so that arrivals may be repeated.
    private static func run(_ ordering: WebhookSettings.Ordering, seed: UInt64, restarts: Bool) throws -> Story {
        var random = SeededRandom(seed: seed)
        let world = try World(maxRecentEvents: random.number(4...64), windowEvents: random.number(4...64))
        var story = Story()
        let schedule = Array(repeating: 1.0, count: 20)
        let key = world.register {
            $0.ordering = ordering
            $0.retrySchedule = schedule
        }
        var arrived: Set<LogPosition> = []
        world.answer = { _ in nil }
        func number(_ callback: Callback) -> LogPosition { LogPosition(callback.event.id.dropFirst()) ?? 0 }
        func look() {
            story.mostOpen = max(story.mostOpen, world.open.count)
            let ofSubject = Dictionary(grouping: world.open) { $0.event.subject ?? "" }.values.map(\.count).max() ?? 0
            story.mostOfSubject = max(story.mostOfSubject, ofSubject)
        }
        /// Ends some of what is open.
        func finish(_ failures: Double) {
            var ending = Set(world.open.filter { _ in random.chance(0.5) }.map(\.token))
            world.answer = { callback in
                guard ending.remove(callback.token) != nil else { return nil }
                guard !random.chance(failures) else { return .failure }
                if arrived.insert(number(callback)).inserted { story.arrivals.append(number(callback)) }
                return .success
            }
            world.run()
            world.answer = { _ in nil }
        }
        for _ in 0..<150 {
            switch random.number(0...19) {
            case 0..<5:
                for _ in 0..<random.number(1...6) {
                    story.published += 1
                    let subject = "s\(random.number(1...4))"
                    story.subjects[LogPosition(story.published)] = subject
                    world.publish(1, subject: subject)
                }
            case 5..<13: finish(0.3)
            case 13..<16: world.advance(seconds: Double(random.number(0...30)) / 10)
            case 16:
                let limit = random.number(1...16)
                world.update(key) { state, _ in state.settings.maxInFlight = limit }
            case 17:
                world.update(key) { state, now in state.apply(state.status == .paused ? .resumed : .paused, now: now) }
            case 18 where restarts: if random.chance(0.5) { try world.crash() } else { try world.restart() }
            default: world.run()
            }
            look()
        }
        if world.status(key) == .paused { world.update(key) { state, now in state.apply(.resumed, now: now) } }
        for _ in 0..<2_000 where arrived.count < story.published {
            finish(0)
            look()
            if world.open.isEmpty { world.advance(seconds: 1) }
        }
        return story
    }

    private static let seeds: Range<UInt64> =
        1..<(getenv("HERALD_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 20) + 1

    @Test("strict: first arrivals are in the order of the log, one at a time", arguments: [false, true])
    func strict(restarts: Bool) throws {
        for seed in Self.seeds {
            let story = try Self.run(.strict, seed: seed, restarts: restarts)
            #expect(story.arrivals == (1...LogPosition(story.published)).map { $0 }, "seed \(seed)")
            #expect(story.mostOpen <= 1, "seed \(seed)")
        }
    }

    @Test("subject: the same for each subject, while different ones overlap", arguments: [false, true])
    func subject(restarts: Bool) throws {
        var mostOpen = 0
        for seed in Self.seeds {
            let story = try Self.run(.subject, seed: seed, restarts: restarts)
            #expect(story.arrivals.count == story.published, "seed \(seed)")
            for subject in Set(story.subjects.values) {
                let arrivals = story.arrivals.filter { story.subjects[$0] == subject }
                #expect(arrivals == arrivals.sorted(), "seed \(seed), \(subject)")
            }
            #expect(story.mostOfSubject <= 1, "seed \(seed)")
            mostOpen = max(mostOpen, story.mostOpen)
        }
        #expect(mostOpen > 1)
    }

    @Test("none: they overlap, and all arrive")
    func none() throws {
        let story = try Self.run(.none, seed: 1, restarts: true)
        #expect(story.arrivals.sorted() == (1...LogPosition(story.published)).map { $0 })
        #expect(story.mostOfSubject > 1)
    }

    @Test("deliveries that waited for others when the process died do not overtake them after the restart")
    func restart() throws {
        for dies in [true, false] {
            let (world, key) = try World.registered { $0.ordering = .subject }
            world.answer = { _ in nil }
            world.publishAndSettle(3, subject: "s")
            #expect(world.rows(key).map(\.event) == [2, 3])
            if dies { try world.crash() } else { try world.restart() }
            world.answer = { _ in .success }
            world.advance(seconds: 10)
            #expect(world.arrivals(key) == ["e1", "e1", "e2", "e3"])
            #expect(world.rows(key).isEmpty && world.contents.lanes.isEmpty)
        }
    }

    @Test("a delivery that waited for another when the process died can be cancelled after the start")
    func cancelledAfterRestart() throws {
        for dies in [true, false] {
            let (world, key) = try World.registered { $0.ordering = .subject }
            world.answer = { _ in nil }
            world.publishAndSettle(3, subject: "s")
            world.update(key) { state, now in state.apply(.paused, now: now) }
            world.settle()
            #expect(world.rows(key).map(\.event) == [2, 3])
            if dies { try world.crash() } else { try world.restart() }
            var query = DeliveryQuery([.retrying])
            query.event = 2
            let outcome = world.manage(.cancel(query))
            guard case .count(1)? = outcome else { throw Unexpected("\(String(describing: outcome))") }
            world.settle()
            #expect(world.rows(key).map(\.event) == [2] && world.rows(key).map(\.state) == [.dropped])
            world.answer = { _ in .success }
            world.resume(key)
            world.advance(seconds: 10)
            #expect(world.arrivals(key) == ["e1", "e1", "e3"])
            #expect(world.rows(key).map(\.state) == [.dropped])
        }
    }

    @Test("an event that was erased during its attempt holds up no other of its subject, with many rows")
    func erasedInCrowd() throws {
        let world = try World(waiting: 16)
        let key = world.register {
            $0.ordering = .subject
            $0.retrySchedule = [100, 100]
        }
        world.answer = { callback in
            switch callback.event.type {
            case "a.open": nil
            case "a.fail": .failure
            default: .success
            }
        }
        world.publish(type: "a.open", subject: "s")
        world.manage(.erase([1]))
        // Without an outage.
        for number in 0..<14 {
            world.publish(type: "a.fail", subject: "f\(number)")
            world.publish()
        }
        world.settle()
        world.answer = { $0.event.type == "a.x" ? .success : .failure }
        world.settle()
        world.publishAndSettle(subject: "s")
        world.answer = { _ in .success }
        world.advance(seconds: 300)
        #expect(world.arrivals(key).contains("e30"))
        #expect(world.rows(key).isEmpty)
    }

    @Test("a new ordering takes effect when open deliveries have ended")
    func later() throws {
        for ordering in [WebhookSettings.Ordering.strict, .subject] {
            let (world, key) = try World.registered()
            world.answer = { _ in nil }
            world.publish(3, subject: "s")
            world.update(key) { state, _ in state.settings.ordering = ordering }
            world.publish(2, subject: "s")
            world.advance(seconds: 10)
            #expect(world.arrivals(key) == ["e1", "e2", "e3"])
            world.answer = { $0.event.id < "e4" && $0.attempt == 1 ? .failure : nil }
            world.advance(seconds: 10)
            #expect(world.open.count == 1)
            world.answer = { _ in .success }
            world.advance(seconds: 100)
            // What had failed by then goes first; of one subject in its order, all in all as it comes due.
            let later = Array(world.arrivals(key).dropFirst(3))
            #expect(later == ["e1", "e2", "e3", "e4", "e5"] || ordering == .strict && later.suffix(2) == ["e4", "e5"])
            #expect(world.rows(key).isEmpty)
        }
    }

    @Test("when a delegate's ordering is removed, waiting deliveries are sent at once")
    func givenUp() throws {
        let (world, key) = try World.registered { $0.ordering = .subject }
        world.answer = { _ in nil }
        world.publish(4, subject: "s")
        #expect(world.arrivals(key) == ["e1"])
        world.update(key) { state, _ in state.settings.ordering = .none }
        world.answer = { _ in .success }
        world.settle()
        #expect(world.arrivals(key).sorted() == ["e1", "e2", "e3", "e4"])
        #expect(world.rows(key).isEmpty)
    }

    @Test("an exhausted or cancelled delivery releases the next one of its subject")
    func goesOn() throws {
        let (world, key) = try World.registered {
            $0.ordering = .subject
            $0.retrySchedule = [10]
        }
        world.answer = { $0.event.id == "e1" || $0.event.id == "e2" ? .failure : .success }
        world.publish(3, subject: "s")
        world.advance(seconds: 11)
        #expect(world.arrivals(key) == ["e1", "e1", "e2"])
        var query = DeliveryQuery([.retrying])
        query.event = 2
        world.manageAndSettle(.cancel(query))
        #expect(world.arrivals(key) == ["e1", "e1", "e2", "e3"])
        #expect(world.rows(key).map(\.state) == [.exhausted, .dropped])
    }

    @Test("an event that is erased during its attempt holds no later one back, whatever the attempt's end")
    func erasedDuringAttempt() throws {
        for ordering in [WebhookSettings.Ordering.strict, .subject] {
            for outcome in [CallbackOutcome.success, .failure, .failed(.timeout), .failed(.stopped)] {
                let (world, key) = try World.registered {
                    $0.ordering = ordering
                    $0.retrySchedule = [3_600]
                }
                world.answer = { _ in nil }
                world.publish(2, subject: "s")
                world.manage(.erase([1]))
                world.answer = { $0.event.id == "e1" ? outcome : .success }
                world.run()
                #expect(world.arrivals(key) == ["e1", "e2"], "\(ordering), \(outcome.verdict)")
                world.settle()
                #expect(world.rows(key).isEmpty, "\(ordering), \(outcome.verdict)")
            }
        }
    }

    @Test("a replay of an event that is erased during its attempt holds no later one back")
    func erasedDuringReplay() throws {
        let (world, key) = try World.registered {
            $0.ordering = .subject
            $0.retrySchedule = [3_600]
        }
        world.publishAndSettle(1, subject: "s")
        world.answer = { _ in nil }
        world.manage(.replay(delegateID: world.delegate(key)?.id ?? "", after: 0, until: 1))
        world.publish(1, subject: "s")
        world.manage(.erase([1]))
        world.answer = { $0.event.id == "e1" ? .failure : .success }
        world.run()
        #expect(world.arrivals(key) == ["e1", "e1", "e2"])
        world.settle()
        #expect(world.rows(key).isEmpty && world.contents.replays.isEmpty)
    }

    @Test("nor does it when the lane leaves rows in the store, which never has one of the erased event")
    func erasedWithManyRows() throws {
        let world = try World(waiting: 16)
        let key = world.register {
            $0.ordering = .subject
            $0.retrySchedule = [3_600]
        }
        world.answer = { $0.event.id == "e1" ? nil : .failure }
        world.publish(1, subject: "s")
        world.publish(10)
        world.publishAndSettle(2, subject: "s")
        #expect(world.open.count == 1 && world.rows(key).count == 12)
        world.manage(.erase([1]))
        world.answer = { $0.event.id == "e1" ? .failure : .success }
        // The row of the erased event would leave memory first: it is due last.
        world.settle()
        #expect(world.arrivals(key).suffix(2) == ["e12", "e13"])
        world.advance(seconds: 4_000)
        #expect(world.rows(key).isEmpty && world.contents.lanes.isEmpty)
        #expect(world.arrivals(key).count { $0 == "e1" } == 1)
    }

    @Test("an erasure reaches a delivery that is only in the store, also when the lane counts none there")
    func erasedInStore() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.ordering = .subject })
        let lane = try #require(bench.engine.lane(1))
        lane.waiting.lines.begin("s", stored: 9)
        lane.waiting.stored = StoredRows(horizon: .first, currents: [1: "s"])
        bench.engine.receive(.erase([1], of: .default))
        #expect(lane.waiting.stored?.currents.isEmpty == true)
        #expect(lane.waiting.stored?.wanted.count == 1)
    }
}
