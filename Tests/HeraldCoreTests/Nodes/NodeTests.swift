import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Several processes that share the delegates, on one thread and one clock.
@Suite("Nodes", .timeLimit(.minutes(20)))
struct NodeTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()

    private func node(_ number: UInt32, loops: Int = 1) throws -> World {
        try World(
            loops: loops, memory: memory, clock: clock, prefix: "n\(number)-", node: number &* 2_654_435_761)
    }

    private func held(_ world: World) -> Int { world.process.counts.held.number }

    @Test("a node that is alone delivers everything; when others join, each has its share, and each event arrives once")
    func join() throws {
        let a = try node(1)
        World.advance([a], seconds: 1)
        #expect(held(a) == 64)
        let keys = (1...12).map { a.register("https://receiver.example/\($0)") { $0.ordering = .strict } }
        let (b, c) = (try node(2, loops: 3), try node(3))
        a.publish(3)
        for _ in 1...20 {
            World.advance([a, b, c], seconds: 1)
            b.publish(2)
            a.publish()
        }
        World.advance([a, b, c], seconds: 1)
        let shares = [a, b, c].map { held($0) }
        #expect(shares.sorted() == [21, 21, 22])
        #expect(a.process.counts.nodes == 3 && a.process.counts.count(.given) == 64 - shares[0])
        let log = memory.read { $0.events.map(\.id) }
        for key in keys {
            #expect((a.arrivals(key) + b.arrivals(key) + c.arrivals(key)) == log, "\(key)")
        }
        #expect(b.callbacks.count > 0 && c.callbacks.count > 0)
    }

    @Test("a request at one node is carried out, although the owner ends the delivery before it receives it")
    func requests() throws {
        let (a, b) = (try node(1), try node(2))
        World.advance([a, b], seconds: 10)
        let keys = (1...8).map { a.register("https://receiver.example/\($0)") { $0.retrySchedule = [5] } }
        World.advance([a, b], seconds: 1)
        let key = try #require(keys.first { b.process.counts.held.contains($0) })
        b.answer = { $0.delegate.key == key ? .failure : .success }
        a.publish(2)
        World.advance([a, b], seconds: 3)
        #expect(a.rows(key).map(\.state) == [.retrying, .retrying])
        for _ in 0..<1_000 where b.arrivals(key).count < 4 { b.advance(seconds: 0.01) }
        #expect(b.arrivals(key).count == 4)
        // The last attempts of both have failed. The checkpoint that says so is made before the node hears of the requests.
        b.answer = { _ in .success }
        b.process.cluster.nextFollow = .max
        a.manage(.redeliverEvent(id: "n1-1", delegateID: a.delegate(key)?.id))
        var second = DeliveryQuery([.retrying])
        (second.delegate, second.event) = (key, 2)
        guard case .count(1) = a.manage(.cancel(second)) else { throw Unexpected("not cancelled") }
        b.advance(seconds: 0.15)
        b.process.cluster.nextFollow = 0
        // It is careful with a receiver that fails.
        World.advance([a, b], seconds: 10)
        #expect(b.arrivals(key).count == 5 && b.arrivals(key).last == "n1-1")
        #expect(a.rows(key).map(\.state) == [.dropped])
    }

    @Test("requests for a delegate that is new to its owner are carried out, although it has changed after them")
    func newDelegate() throws {
        let (a, b) = (try node(1), try node(2))
        World.advance([a, b], seconds: 10)
        a.publish(3)
        World.advance([a, b], seconds: 1)
        // The owner reads all of it at once.
        let keys = (1...8).map { a.register("https://receiver.example/\($0)") }
        let key = try #require(keys.first { b.process.counts.held.contains($0) })
        let id = try #require(a.delegate(key)?.id)
        a.manage(.replay(delegateID: id, after: 0, until: 2))
        a.manage(.redeliverEvent(id: "n1-3", delegateID: id))
        a.update(key) { state, _ in state.settings.maxInFlight = 2 }
        World.advance([a, b], seconds: 10)
        #expect(b.arrivals(key).sorted() == ["n1-1", "n1-2", "n1-3"])
        #expect(memory.read { $0.replays.isEmpty && $0.waiting.isEmpty })
    }

    @Test("when a node dies, the others deliver for it at once; what it had not recorded is repeated")
    func death() throws {
        let (a, b) = (try node(1), try node(2))
        World.advance([a, b], seconds: 10)
        let keys = (1...8).map { a.register("https://receiver.example/\($0)") }
        World.advance([a, b], seconds: 1)
        a.answer = { _ in nil }
        b.publish(3)
        World.advance([a, b], seconds: 1)
        #expect(!a.open.isEmpty)
        let open = a.open.count
        a.store.memoryLeases?.endSession()
        World.advance([b], seconds: 1.5)
        #expect(held(b) == 64)
        for key in keys { #expect(b.arrivals(key) == ["n2-1", "n2-2", "n2-3"]) }
        #expect(open == a.callbacks.count)
    }

    @Test("a node that wakes after others have taken its shards starts nothing and changes nothing")
    func pause() throws {
        let (a, b) = (try node(1), try node(2))
        World.advance([a, b], seconds: 10)
        let keys = (1...8).map { a.register("https://receiver.example/\($0)") }
        // Retries wait at the sleeper when it falls asleep, and attempts are open.
        a.answer = { $0.event.id == "n1-1" ? .failure : nil }
        b.answer = { _ in .success }
        a.publish(2)
        World.advance([a, b], seconds: 0.5)
        let mine = keys.filter { a.process.counts.held.contains($0) }
        #expect(!mine.isEmpty && mine.count < 8 && a.open.count == mine.count)
        // It sleeps; the store ends its session after 10 s.
        World.advance([b], seconds: 10)
        a.store.memoryLeases?.endSession()
        World.advance([b], seconds: 10)
        b.publish()
        World.advance([b], seconds: 1)
        let before = (memory.read { $0.lanes }, memory.read { $0.waiting }, memory.read { $0.settledPositions })
        let started = a.callbacks.count
        // It wakes in its loops, and then in the writer, which hears of the third event.
        a.answer = { _ in .success }
        a.run()
        a.advance(seconds: 0.2)
        #expect(a.callbacks.count == started && a.open.isEmpty)
        #expect(memory.read { $0.lanes } == before.0 && memory.read { $0.waiting } == before.1)
        #expect(memory.read { $0.settledPositions } == before.2)
        World.advance([a, b], seconds: 15)
        #expect(held(a) == 32 && held(b) == 32 && a.process.counts.count(.lost) == 32)
        a.publish()
        World.advance([a, b], seconds: 60)
        for key in keys {
            let (own, others) = (a.arrivals(key), b.arrivals(key))
            #expect(Set(own + others) == ["n1-1", "n1-2", "n2-1", "n1-3"], "\(key)")
            #expect(Set(others).isSuperset(of: ["n1-1", "n1-2", "n2-1"]), "\(key)")
        }
        #expect(memory.read { $0.waiting.isEmpty && $0.lanes.isEmpty })
    }

    @Test("every node makes test calls, also for delegates of others")
    func testCalls() throws {
        let (a, b) = (try node(1), try node(2))
        World.advance([a, b], seconds: 10)
        let keys = (1...8).map { a.register("https://receiver.example/\($0)") }
        World.advance([a, b], seconds: 1)
        let outcomes = Recorder<CallbackOutcome?>()
        for key in keys {
            let delegate = try #require(b.delegate(key))
            b.process.loops[0].inbox.append(.test(delegate) { outcomes.record($0) })
        }
        b.run()
        #expect(outcomes.items.count == 8 && outcomes.items.allSatisfy { $0?.isSuccess == true })
        #expect(b.callbacks.map(\.delegate.key) == keys && a.callbacks.isEmpty)
    }

    @Test("a node that ends gives what it has: only shards with an open attempt wait for it, and nothing is repeated")
    func end() throws {
        let (a, b) = (try node(1, loops: 2), try node(2))
        World.advance([a, b], seconds: 10)
        let keys = (1...16).map { a.register("https://receiver.example/\($0)") }
        let mine = keys.filter { a.process.counts.held.contains($0) }
        let slow = try #require(mine.first)
        a.answer = { $0.delegate.key == slow ? nil : .success }
        a.publish()
        World.advance([a, b], seconds: 1)
        a.process.handover.begin(deadline: clock.now + 30_000_000_000)
        World.advance([a, b], seconds: 3)
        #expect(a.process.counts.held == Shards(of: slow) && b.process.counts.held.number == 63)
        b.publish()
        World.advance([a, b], seconds: 1)
        for key in keys where key != slow { #expect((a.arrivals(key) + b.arrivals(key)) == ["n1-1", "n2-1"]) }
        a.answer = { _ in .success }
        World.advance([a, b], seconds: 3)
        #expect(held(a) == 0 && held(b) == 64)
        #expect(a.arrivals(slow) == ["n1-1"] && b.arrivals(slow) == ["n2-1"])
        // What it counted is there, too.
        #expect(
            memory.read { Set($0.statistics.values.filter { $0.delivered > 0 }.map(\.delegate)) }.isSuperset(of: mine))
    }

    @Test("a node that has another session gives up at once the shards that another node has taken")
    func anotherSession() throws {
        let a = try node(1)
        World.advance([a], seconds: 1.5)
        #expect(held(a) == 64)
        a.store.memoryLeases?.endSession()
        let taker = MemoryLeases(memory, NodeKey(rawValue: 9))
        _ = taker.take(.all)
        // Before its next heartbeat is due.
        a.publish()
        #expect(held(a) == 0 && a.process.counts.count(.lost) == 64)
    }

    @Test("a cut session whose shards no other node has taken costs a pause and no repetition")
    func cut() throws {
        let a = try node(1)
        World.advance([a], seconds: 1)
        let key = a.register { $0.ordering = .strict }
        a.answer = { _ in nil }
        a.publish(3)
        World.advance([a], seconds: 1)
        a.process.cluster.sessionIsLost()
        a.store.memoryLeases?.endSession()
        a.store.refuse(true)
        a.answer = { _ in .success }
        World.advance([a], seconds: 2)
        #expect(a.arrivals(key) == ["n1-1"])
        a.store.refuse(false)
        World.advance([a], seconds: 2)
        #expect(a.arrivals(key) == ["n1-1", "n1-2", "n1-3"])
        #expect(a.process.counts.count(.lost) == 0 && a.process.counts.count(.taken) == 64)
    }

    @Test("a node without contact with the store starts no attempt after 5 s, and aborts open ones after 8 s")
    func fence() throws {
        let a = try node(1)
        World.advance([a], seconds: 1)
        let (strict, other) = (a.register { $0.ordering = .strict }, a.register("https://receiver.example/2"))
        a.answer = { _ in nil }
        a.publish(2)
        a.store.refuse(true)
        World.advance([a], seconds: 5.5)
        a.answer = { $0.delegate.key == strict ? .success : nil }
        World.advance([a], seconds: 1)
        #expect(a.arrivals(strict) == ["n1-1"] && a.open.count == 2)
        World.advance([a], seconds: 2)
        #expect(a.open.isEmpty)
        a.answer = { _ in .success }
        World.advance([a], seconds: 30)
        #expect(a.callbacks.count == 3)
        a.store.refuse(false)
        World.advance([a], seconds: 5)
        #expect(a.arrivals(strict) == ["n1-1", "n1-2"])
        #expect(a.arrivals(other).sorted() == ["n1-1", "n1-1", "n1-2", "n1-2"])
        // An abort is no attempt that failed.
        #expect(a.callbacks.allSatisfy { $0.attempt == 1 })
    }

    @Test("three hubs share the delegates; one ends, one joins")
    func hubs() async throws {
        let received = Recorder<(DelegateKey, String)>()
        func bench(_ number: UInt32) throws -> HubBench {
            try HubBench(store: RefusingStore(memory, node: NodeKey(rawValue: number))) { callback in
                received.record((callback.delegate.key, callback.event.id))
                return .now(.success)
            }
        }
        var benches = [try bench(1), try bench(2), try bench(3)]
        for number in 0..<6 { await benches[number % 3].register("https://receiver.example/\(number)") }
        for number in 1...90 {
            _ = try await benches[number % 3].post("a.b", id: "e\(number)")
            if number == 30 {
                benches[0].store.memoryLeases?.endSession()
                await benches[0].stop()
                benches[0].store.memoryLeases?.endSession()
                benches[0] = try bench(4)
            }
        }
        let log = Set((1...90).map { "e\($0)" })
        _ = try await eventually("all have arrived") {
            let items = received.items
            let isThere = (DelegateKey(1)...6).allSatisfy { key in
                Set(items.lazy.filter { $0.0 == key }.map(\.1)).isSuperset(of: log)
            }
            return isThere ? true : nil
        }
        for bench in benches { await bench.stop() }
    }
}
