import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Fairness")
struct FairnessTests {
    /// A hundred lanes with one event each beside one with a backlog of 100,000.
    private func crowd(_ capacity: Int) throws -> EngineBench {
        let bench = try EngineBench(WebhookDelegate(1) { $0.maxInFlight = 256 }, capacity: capacity)
        for key: DelegateKey in 2...101 { bench.set(WebhookDelegate(key) { $0.events = [.exact("b.x")] }) }
        for _ in 0..<100 {
            bench.publishAndTurn(1_000)
        }
        // Its window is wide open.
        for _ in 0..<10 {
            bench.finishAndTurn()
            bench.answerReads()
        }
        return bench
    }

    @Test(
        "each of a hundred lanes starts before a lane with a backlog of 100,000 gets a second turn",
        arguments: [1, 8, 64, 1_000])
    func oneRound(capacity: Int) throws {
        let bench = try crowd(capacity)
        bench.publish(1, type: "b.x")
        bench.clock.advance(nanoseconds: Slots.youngAge)
        var others: Set<DelegateKey> = []
        var ofBacklog = 0
        let before = Set(bench.sender.open.map(\.token))
        var seen = Set(bench.open(1))
        // What was open when they came ends first; each start from then on counts.
        while others.count < 100 && ofBacklog < 100_000 {
            bench.turn()
            for attempt in bench.open {
                if attempt.delegate != 1 {
                    others.insert(attempt.delegate)
                } else if seen.insert(attempt.event).inserted {
                    ofBacklog += 1
                }
            }
            if others.count == 100 { break }
            bench.finish()
            bench.answerReads()
            bench.clock.advance(nanoseconds: Slots.youngAge)
        }
        #expect(others.count == 100)
        // One turn of its own, and what a turn that had begun had left.
        #expect(ofBacklog <= 2 * AttemptStarter.maxStarts, "\(ofBacklog) beside \(before.count) that were open")
    }

    @Test("an event for one delegate does not wait until an earlier one has reached 500 others")
    func fanOut() throws {
        let bench = try EngineBench()
        for key: DelegateKey in 1...500 { bench.set(WebhookDelegate(key) { $0.events = [.exact("many.x")] }) }
        bench.set(WebhookDelegate(2_000) { $0.events = [.exact("one.x")] })
        bench.publish(1, type: "many.x")
        // The engine lets the sender work after a few starts.
        #expect(bench.engine.turn() == bench.clock.now)
        let started = bench.open.count
        #expect(started <= AttemptStarter.maxStartsPerTurn)
        bench.publish(1, type: "one.x")
        _ = bench.engine.turn()
        #expect(bench.open(2_000) == [2])
        // The queue is not held up.
        #expect(bench.open.count >= 2 * started - 1)
        bench.deliverAll()
        #expect(bench.delivered == 501)
    }

    @Test("lanes that are caught up start at most every second attempt while others are queued")
    func alternation() throws {
        let bench = try EngineBench()
        for key: DelegateKey in 1...500 { bench.set(WebhookDelegate(key) { $0.events = [.exact("many.x")] }) }
        for key: DelegateKey in 2_001...2_100 {
            bench.set(WebhookDelegate(key) { $0.events = [.exact("one.x\(key)")] })
        }
        bench.publish(1, type: "many.x")
        _ = bench.engine.turn()
        var key: DelegateKey = 2_000
        for _ in 0..<5 {
            for _ in 0..<20 {
                key += 1
                bench.publish(1, type: "one.x\(key)")
            }
            bench.clock.advance(nanoseconds: Slots.youngAge)
            let before = bench.open.count { $0.delegate <= 500 }
            _ = bench.engine.turn()
            #expect(bench.open.count { $0.delegate <= 500 } - before >= 16)
        }
    }

    @Test("an app does not overtake the queue of another one that has fewer open requests")
    func otherApps() throws {
        let other = AppKey(rawValue: 7)
        let bench = try EngineBench()
        for key: DelegateKey in 1...100 {
            bench.set(WebhookDelegate(key, app: other) { $0.events = [.exact("hung.x")] })
        }
        for key: DelegateKey in 201...500 { bench.set(WebhookDelegate(key) { $0.events = [.exact("many.x")] }) }
        bench.set(WebhookDelegate(1_000, app: other) { $0.events = [.exact("one.x")] })
        // The requests of app 7 stay open.
        bench.publishAndTurn(1, type: "hung.x", app: other)
        bench.clock.advance(nanoseconds: 10 * Slots.youngAge)
        bench.publish(1, type: "many.x")
        _ = bench.engine.turn()
        bench.publish(1, type: "one.x", app: other)
        _ = bench.engine.turn()
        #expect(bench.open(1_000).isEmpty)
        bench.turn()
        bench.finish()
        bench.deliverAll()
        #expect(bench.delivered == 401)
    }

    @Test("first attempts precede late retries, which get every fourth turn")
    func firstTries() throws {
        let bench = try EngineBench()
        let rows = (1...100).map {
            WaitingDelivery(delegate: 1, event: $0, attempts: 1, dueAt: bench.clock.wall, state: .retrying)
        }
        let old = try EngineBench(settled: 200, backlog: 200)
        old.set(
            WebhookDelegate(1) { $0.maxInFlight = 1 },
            restored: .init(position: LanePosition(delegate: 1, cursor: 100, position: 100), waiting: rows))
        var order: [LogPosition] = []
        for _ in 0..<200 where order.count < 120 {
            // The lane begins with a low rate, since many retries are due.
            old.advance(seconds: 1)
            old.answerReads()
            old.turn()
            order += old.open(1)
            old.finish()
        }
        let retries = order.prefix(80).count { $0 <= 100 }
        #expect((19...21).contains(retries), "\(retries) of the first 80")
        #expect(order.first == 101)
    }

    @Test("lanes with a backlog share the slots: while many have none, none has several requests open")
    func sharedRoom() throws {
        let bench = try EngineBench()
        for key: DelegateKey in 1...100 { bench.set(WebhookDelegate(key) { $0.maxInFlight = 256 }) }
        bench.publish(50)
        for _ in 0..<20 {
            bench.turn()
            let open = Dictionary(grouping: bench.open, by: \.delegate).mapValues(\.count)
            #expect(open.count == Slots.maxYoung)
            #expect(open.values.max() == 1)
            bench.finish()
        }
    }

    @Test("lanes that occupy all slots do not keep them: waiting lanes are next")
    func slowReceivers() throws {
        let bench = try EngineBench(capacity: 8)
        for key: DelegateKey in 1...4 { bench.set(WebhookDelegate(key) { $0.events = [.exact("slow")] }) }
        bench.set(WebhookDelegate(9) { $0.events = [.exact("fast")] })
        bench.publishAndTurn(100, type: "slow")
        bench.publish(1, type: "fast")
        var ended = 0
        while bench.open(9).isEmpty && ended < 100 {
            if let first = bench.open.first { ended += bench.finish(first.delegate, event: first.event) }
            bench.turn()
        }
        #expect(ended <= 8)
    }

    /// Four receivers that hang, and lanes that wait for a slot.
    private func parked(_ keys: DelegateKey...) throws -> EngineBench {
        let bench = try EngineBench(capacity: 8)
        for key: DelegateKey in 1...4 { bench.set(WebhookDelegate(key) { $0.events = [.exact("hang")] }) }
        bench.publishAndTurn(1, type: "hang")
        bench.clock.advance(nanoseconds: Slots.heldAge)
        bench.turn()
        for key in keys { bench.engine.set(WebhookDelegate(key) { $0.events = [.exact("new")] }) }
        bench.publishAndTurn(1, type: "new")
        #expect(bench.open.map(\.delegate) == [1, 2, 3, 4])
        return bench
    }

    @Test("a lane that waits for a slot gets one that becomes free, also while a lane with a backlog is always queued")
    func parkedBesideBacklog() throws {
        let bench = try parked(5)
        // It wants nothing of what was published before, so it does not wait for a slot before its receiver is known to work.
        bench.set(
            WebhookDelegate(6, start: LogPosition(bench.log.count)) {
                $0.events = [.exact("busy")]
                $0.maxInFlight = 256
            })
        bench.publishAndTurn(200, type: "busy")
        #expect(bench.open(6).count == 4)
        bench.finish(1)
        var turns = 0
        while bench.open(5).isEmpty, turns < 20 {
            turns += 1
            bench.turn()
            bench.finish(6)
        }
        #expect(turns < 20)
    }

    @Test("a slot that becomes free goes to the next lane if the first one that waits was paused")
    func parkedAndPaused() throws {
        let bench = try parked(5, 6, 7)
        for key: DelegateKey in [5, 6] {
            bench.set(WebhookDelegate(key, status: .paused, version: 2) { $0.events = [.exact("new")] })
        }
        bench.finishAndTurn(1)
        #expect(bench.open.map(\.delegate) == [2, 3, 4, 7])
    }

    @Test("a slot that becomes free goes to another app, however many lanes of the first one wait")
    func parkedBesideManyOfAnotherApp() throws {
        let other = AppKey(rawValue: 7)
        let bench = try parked(5, 6, 7)
        bench.engine.set(WebhookDelegate(20, app: other) { $0.events = [.exact("new")] })
        bench.publishAndTurn(1, type: "new", app: other)
        #expect(bench.open.map(\.delegate) == [1, 2, 3, 4])
        bench.finishAndTurn(1)
        bench.finishAndTurn(2)
        #expect(bench.open.map(\.delegate) == [3, 4, 5, 20])
    }

    @Test("a new event of a lane that is caught up does not overtake a lane of another app that waits for a slot")
    func parkedBesideNewEvents() throws {
        let other = AppKey(rawValue: 7)
        let bench = try parked()
        bench.engine.set(WebhookDelegate(20, app: other) { $0.events = [.exact("new")] })
        bench.publishAndTurn(1, type: "new", app: other)
        bench.engine.set(WebhookDelegate(30, start: LogPosition(bench.log.count)) { $0.events = [.exact("late")] })
        bench.finish(1)
        bench.publishAndTurn(1, type: "late")
        #expect(bench.open.map(\.delegate) == [2, 3, 4, 20])
    }

    @Test("content filters that cost much delay no other delegate")
    func expensiveFilters() throws {
        let world = try World()
        let conditions = (0..<200).map { #"{"wildcard": "*a*a*z\#($0)"}"# }.joined(separator: ",")
        let filter = try #require(ContentFilter(text: Array(#"{"data": {"t": [\#(conditions)]}}"#.utf8)))
        // Each gives up after 5 ms, and the event matches then.
        let expensive = (0..<20).map { number in
            world.register("https://receiver.example/\(number)") {
                $0.events = [.exact("a.heavy")]
                $0.filter = filter
            }
        }
        let other = world.register("https://other.example/") { $0.events = [.exact("a.light")] }
        let texts = [String](repeating: "\"\(String(repeating: "a", count: 60))\"", count: 60).joined(separator: ",")
        let drafts = [("a.heavy", "{\"t\": [\(texts)]}"), ("a.light", "{}")].map { type, data in
            EventDraft(
                event: Event(id: type, type: type, subject: nil, time: 0, data: Array(data.utf8)), mayExist: false)
        }
        world.process.publish(drafts, watch: nil) { _ in }
        world.run()
        let order = world.callbacks.map(\.delegate.key)
        #expect(Set(order) == Set(expensive + [other]))
        #expect(order.firstIndex(of: other) ?? .max < 8)
    }
}
