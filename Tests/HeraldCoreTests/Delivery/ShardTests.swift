import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Shards that move", .timeLimit(.minutes(20)))
struct ShardTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()

    /// One that has all shards, and one that has none.
    private func pair(
        loops: Int = 1, maxRecentEvents: Int = 4_096, windowEvents: Int = 4_096
    ) throws -> (World, World) {
        let a = try World(loops: loops, memory: memory, clock: clock)
        let b = try World(
            loops: loops, maxRecentEvents: maxRecentEvents, windowEvents: windowEvents, memory: memory, clock: clock,
            shards: [], prefix: "b")
        return (a, b)
    }

    private func shards(_ keys: DelegateKey...) -> Shards { Shards(keys.map { Shards(of: $0) }) }

    @Test("the taker delivers what comes after what the giver has delivered, each event once", arguments: [1, 3])
    func moves(_ loops: Int) throws {
        let (a, b) = try pair(loops: loops)
        let keys = (1...6).map { a.register("https://receiver.example/\($0)") }
        a.publish(3)
        b.catchUp()
        b.settle()
        #expect(b.callbacks.isEmpty && b.process.registry.count == 6 && b.store.kinds.items.isEmpty)
        let moved = shards(keys[0], keys[1], keys[4])
        #expect(a.give(moved).isSet)
        a.publish(2)
        try b.take(moved)
        b.publish(2)
        a.catchUp()
        for world in [a, b] { world.settle() }
        let (before, after) = (["e1", "e2", "e3"], ["e4", "e5", "b1", "b2"])
        for key in keys {
            let isMoved = moved.contains(key)
            #expect(a.arrivals(key) == (isMoved ? before : before + after), "\(key)")
            #expect(b.arrivals(key) == (isMoved ? after : []), "\(key)")
        }
        // And back again.
        #expect(b.give(.all).isSet)
        try a.take(moved)
        a.publishAndSettle()
        b.catchUp()
        b.settle()
        for key in keys { #expect(a.arrivals(key).last == "e6") }
        #expect(a.callbacks.count + b.callbacks.count == 6 * 8)
        #expect(memory.read { $0.settled } == 8 && memory.read { $0.lanes.isEmpty })
    }

    @Test("attempts that are open end first; those that fail are retried by the next owner")
    func open() throws {
        let (a, b) = try pair()
        let key = a.register()
        a.answer = { _ in nil }
        a.publish(2)
        #expect(a.open.count == 2)
        let flag = a.give(shards(key))
        a.publishAndSettle()
        #expect(!flag.isSet && a.open.count == 2)
        a.answer = { $0.event.id == "e1" ? .success : .failure }
        a.settle()
        #expect(flag.isSet && a.open.isEmpty)
        try b.take(shards(key))
        b.settle()
        #expect(b.arrivals(key) == ["e3"])
        b.advance(seconds: 60)
        #expect(b.arrivals == [World.Arrival(key, "e3"), World.Arrival(key, "e2", 2)])
        a.advance(seconds: 60)
        #expect(a.callbacks.count == 2)
    }

    @Test("after its time an open attempt has no owner: the next owner repeats it, and its outcome is not recorded")
    func late() throws {
        let (a, b) = try pair()
        let key = a.register()
        a.answer = { _ in nil }
        a.publish(2)
        let flag = a.give(shards(key), grace: 5)
        a.advance(seconds: 4)
        #expect(!flag.isSet)
        a.advance(seconds: 2)
        #expect(flag.isSet)
        try b.take(shards(key))
        b.settle()
        #expect(b.arrivals(key) == ["e1", "e2"])
        let attempts = memory.read { $0.attempts.count }
        a.answer = { _ in .failure }
        a.advance(seconds: 60)
        #expect(attempts == 2 && memory.read { $0.attempts.count } == 2 && memory.read { $0.waiting.isEmpty })
    }

    @Test("a loop whose time for giving is over sleeps while the store does not write, and while it stops")
    func givingSleeps() throws {
        for isStopping in [false, true] {
            let bench = try EngineBench(WebhookDelegate(1), publishing: 1)
            bench.engine.receive(.give(Shards(of: 1), deadline: bench.clock.now + 1_000_000_000) {})
            if isStopping { bench.engine.receive(.stop(deadline: .max)) }
            bench.clock.advance(nanoseconds: CheckpointBuilder.interval)
            bench.turn()
            #expect(bench.submitted.count == 1)
            bench.clock.advance(seconds: 2)
            func sleeps() -> Bool { bench.engine.turn().map { $0 > bench.clock.now } ?? true }
            let whileWriting = sleeps()
            #expect(whileWriting, "\(isStopping)")
            bench.engine.receive(.checkpointEnded(false))
            let afterFailure = sleeps()
            #expect(afterFailure, "\(isStopping)")
        }
    }

    @Test("a lane that is taken and resumed before the loop has heard of the newest events does not repeat them")
    func takenAhead() throws {
        let bench = try EngineBench()
        bench.publish(10)
        let lane = DeliveryLoop.RestoredLane(delegate: WebhookDelegate(1, status: .paused), state: .init())
        bench.engine.receive(.take(Shards(of: 1), from: 10, [lane]))
        bench.engine.receive(.set(WebhookDelegate(1, version: 2)))
        _ = bench.engine.turn(through: 8)
        bench.turn()
        #expect(bench.open.isEmpty)
        bench.publishAndTurn()
        #expect(bench.open(1) == [11])
    }

    @Test("a delivery that was given up before its lane came by its event is delivered once the lane has made it")
    func givenUpAhead() throws {
        let bench = try EngineBench(settled: 3, backlog: 3)
        let again = WaitingDelivery(delegate: 1, event: 3, attempts: 0, dueAt: 0, state: .retrying, isReplay: true)
        let lane = DeliveryLoop.RestoredLane(delegate: WebhookDelegate(1), state: .init())
        bench.engine.receive(.take(Shards(of: 1), from: 1, [lane]))
        bench.request(.redeliver(again))
        bench.request(.drop(again.key))
        bench.turn()
        while !bench.reads.isEmpty {
            bench.answerReads()
            bench.deliverAll()
        }
        #expect(bench.delivered == 2)
        #expect(bench.checkpoint()?.ended == [again.key])
    }

    @Test("a long way is made with pages of the log, in order, by those that have a row and those that have none")
    func long() throws {
        let (a, b) = try pair(maxRecentEvents: 200, windowEvents: 100)
        let strict = a.register("https://receiver.example/1") { $0.ordering = .strict }
        let some = a.register("https://receiver.example/2") { $0.events = [.exact("a.y")] }
        let paused = a.register("https://receiver.example/3")
        a.update(paused) { state, now in state.apply(.paused, now: now) }
        a.publishAndSettle(10)
        let all = shards(strict, some, paused)
        #expect(a.give(all).isSet)
        for _ in 1...30 {
            a.publish(99)
            a.publish(type: "a.y")
            b.catchUp()
        }
        try b.take(all)
        b.publish(5)
        b.resume(paused)
        b.advance(seconds: 60)
        let later = (11...3_010).map { "e\($0)" } + (1...5).map { "b\($0)" }
        #expect(b.arrivals(strict) == later)
        #expect(b.arrivals(some) == (1...30).map { "e\(10 + $0 * 100)" })
        #expect(Set(b.arrivals(paused)) == Set((1...10).map { "e\($0)" } + later))
        #expect(b.arrivals(paused).count == 3_015)
        #expect(memory.read { $0.lanes.isEmpty })
        #expect(memory.read { $0.settledPositions.earliest(of: all) } == 3_015)
    }

    @Test("what is requested of one that does not have the shard is done by the one that has it")
    func requests() throws {
        let (a, b) = try pair()
        let key = a.register()
        a.publishAndSettle(3)
        #expect(a.give(.all).isSet)
        try b.take(.all)
        let id = try #require(a.delegate(key)?.id)
        a.manage(.redeliverEvent(id: "e2", delegateID: id))
        a.manageAndSettle(.replay(delegateID: id, after: 2, until: nil))
        b.catchUp()
        b.settle()
        #expect(b.arrivals(key).sorted() == ["e2", "e3"] && a.callbacks.count == 3)
        #expect(memory.read { $0.waiting.isEmpty && $0.replays.isEmpty })
        // Settings, too.
        a.update(key) { state, now in state.apply(.paused, now: now) }
        a.publish()
        b.catchUp()
        b.settle()
        #expect(b.callbacks.count == 2)
        a.resume(key)
        b.catchUp()
        b.settle()
        #expect(b.arrivals(key).last == "e4")
        let second = a.register("https://receiver.example/2")
        b.catchUp()
        b.publish()
        #expect(b.arrivals(second) == ["b1"])
        a.remove(second)
        b.catchUp()
        b.publish()
        #expect(b.arrivals(second) == ["b1"])
    }

    @Test("a replay that is requested while its shard moves runs once", arguments: [false, true])
    func replays(_ isFast: Bool) throws {
        let (a, b) = try pair()
        let key = a.register()
        a.publishAndSettle(3)
        #expect(a.give(.all).isSet)
        b.catchUp()
        let id = try #require(a.delegate(key)?.id)
        a.manage(.replay(delegateID: id, after: 0, until: nil))
        // The lanes that it takes have the replay before the request arrives.
        b.process.take(.all, try b.store.recover(.all))
        if isFast {
            // Its last checkpoint is not written yet.
            b.run()
            #expect(b.arrivals(key).count == 3 && memory.read { $0.replays.count } == 1)
        }
        b.catchUp()
        b.settle()
        #expect(b.arrivals(key) == ["e1", "e2", "e3"])
        #expect(memory.read { $0.replays.isEmpty })
    }

    @Test("shards that are lost while their last checkpoint is written are reported at once, and not after it")
    func lostWhileGiven() throws {
        let a = try World(memory: memory, clock: clock)
        a.register()
        a.publishAndSettle()
        let (given, left) = (Flag(), Flag())
        let loop = a.process.loops[0]
        loop.inbox.append(.give(.all, deadline: .max) { given.set() })
        loop.readInbox()
        _ = loop.engine.turn()
        #expect(!given.isSet && a.process.unanswered == 1)
        loop.inbox.append(.lose(.all) { left.set() })
        loop.readInbox()
        #expect(given.isSet && left.isSet)
        a.settle()
        #expect(a.callbacks.count == 1)
    }

    @Test("a loop that stops while it gives shards away gives them first")
    func stop() throws {
        let (a, b) = try pair()
        let key = a.register()
        a.answer = { _ in nil }
        a.publish()
        let flag = a.give(shards(key))
        try a.restart()
        #expect(flag.isSet)
        a.give(.all)
        try b.take(shards(key))
        b.settle()
        #expect(b.arrivals(key) == ["e1"])
    }

    /// Shards move at random between three processes, while events are published and receivers fail.
    @Test("during all moves each event arrives, in order where the delegate requires it", arguments: 1...6)
    func random(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let worlds = try (0..<3).map { number in
            try World(
                loops: number + 1, maxRecentEvents: 50, windowEvents: 30, memory: memory, clock: clock,
                shards: number == 0 ? .all : [], prefix: "w\(number)-")
        }
        var arrivals: [DelegateKey: [String]] = [:]
        var failing = 0.2
        var draws = SeededRandom(seed: seed &+ 1_000)
        for world in worlds {
            world.answer = { callback in
                let fails = Double.random(in: 0..<1, using: &draws) < failing
                if !fails { arrivals[callback.delegate.key, default: []].append(callback.event.id) }
                return fails ? .failure : .success
            }
        }
        let orderings: [WebhookSettings.Ordering] = [.none, .subject, .strict]
        let keys = (0..<9).map { number in
            worlds[0].register("https://receiver.example/\(number)") {
                $0.ordering = orderings[number % 3]
                $0.retrySchedule = Array(repeating: 5, count: 40)
            }
        }
        var owner = Array(repeating: 0, count: Shards.count)
        for _ in 0..<100 {
            let world = worlds.randomElement(using: &random)!
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                world.publish(
                    Int.random(in: 1...40, using: &random), subject: "s\(Int.random(in: 0..<3, using: &random))")
            case 4..<6: world.advance(seconds: Double.random(in: 0..<3, using: &random))
            case 6: world.catchUp()
            default:
                let from = Int.random(in: 0..<3, using: &random)
                let moved = Shards(
                    owner.indices.filter { owner[$0] == from && Bool.random(using: &random) }
                        .map { Shards(of: DelegateKey($0)) })
                let flag = worlds[from].give(moved)
                worlds[from].advance(seconds: 1)
                try #require(flag.isSet)
                let to = Int.random(in: 0..<3, using: &random)
                try worlds[to].take(moved)
                for number in owner.indices where moved.contains(DelegateKey(number)) { owner[number] = to }
            }
        }
        failing = 0
        for _ in 0..<4 {
            for world in worlds {
                world.catchUp()
                world.advance(seconds: 600)
            }
        }
        let log = memory.read { $0.events }.filter { !ServiceFamily.isOne($0.type) }
        let subjects = Dictionary(uniqueKeysWithValues: log.map { ($0.id, $0.subject) })
        for (number, key) in keys.enumerated() {
            let got = arrivals[key] ?? []
            #expect(got.count == log.count && Set(got) == Set(log.map(\.id)), "seed \(seed), delegate \(key)")
            switch orderings[number % 3] {
            case .none: break
            case .strict: #expect(got == log.map(\.id), "seed \(seed), delegate \(key)")
            case .subject:
                for subject in Set(log.map(\.subject)) {
                    #expect(
                        got.filter { subjects[$0] == subject } == log.filter { $0.subject == subject }.map(\.id),
                        "seed \(seed), delegate \(key)")
                }
            }
        }
        #expect(memory.read { $0.waiting.isEmpty })
    }
}
