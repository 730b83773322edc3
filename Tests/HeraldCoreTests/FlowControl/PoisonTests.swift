import Foundation
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Receivers that refuse some of their events and accept the others, with the real engine.
@Suite("Receivers that refuse some events")
struct PoisonTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var share: Double
        var rate = 20.0
        var trouble = SimulatedReceiver.Trouble.fails
        var testDescription: String { "\(Int(share * 100)) % of \(Int(rate))/s, \(trouble)" }
    }

    static let cases: [Case] =
        [0.05, 0.2, 0.5, 0.8, 0.95].map { Case(share: $0) } + [
            Case(share: 0.95, rate: 2), Case(share: 0.8, rate: 100),
            Case(share: 0.8, trouble: .rejects(retryAfter: nil)),
        ]

    private static let seconds = FlowScenarioTests.seeds.count > 1 ? 1_800.0 : 300

    /// With the rows of `--memory 64MiB`.
    private func world(_ poison: Case, seed: UInt64, ordering: WebhookSettings.Ordering = .none) -> FlowWorld {
        let share = poison.share
        let trouble = poison.trouble
        let subject: (inout SeededRandom) -> String = { "s\(Int.random(in: 0..<1_000_000_000, using: &$0))" }
        return FlowWorld(
            seed: seed, waiting: 576,
            lanes: [
                .init(
                    receiver: SimulatedReceiver(), rate: poison.rate,
                    subject: ordering == .subject ? subject : nil,
                    kind: { Double.random(in: 0..<1, using: &$0) < share ? "bad" : "good" },
                    trouble: { $0.type.hasSuffix("bad") ? trouble : nil }, change: { $0.ordering = ordering })
            ])
    }

    private func expectGood(_ world: FlowWorld, _ seed: UInt64) {
        // Until the first success nothing shows that the receiver works.
        world.recordsLatencyFrom = 60
        world.run(until: Self.seconds)
        let good = world.published { $0.type.hasSuffix("good") }
        let delivered = world.records[0].useful.reduce(0, +)
        #expect(Double(delivered) >= 0.95 * Double(good), "seed \(seed): \(delivered) of \(good)")
        let late = world.records[0].percentile(0.99)
        #expect(late <= 5, "seed \(seed): 99 % within \(late) s")
        #expect(world.waiting() <= 576, "seed \(seed): \(world.waiting()) of \(world.storedRows()) rows in memory")
    }

    @Test("a type whose handler always fails delays no other type", arguments: cases)
    func type(_ poison: Case) {
        for seed in FlowScenarioTests.seeds { expectGood(world(poison, seed: seed), seed) }
    }

    @Test("a type that fails for a new subject each time delays no other subject")
    func subjects() {
        for seed in FlowScenarioTests.seeds {
            expectGood(world(Case(share: 0.8), seed: seed, ordering: .subject), seed)
        }
    }

    @Test("one event that always fails delays only its subject, whose other events follow in their order")
    func subject() {
        for seed in FlowScenarioTests.seeds {
            let world = FlowWorld(
                seed: seed, waiting: 576,
                lanes: [
                    .init(
                        receiver: SimulatedReceiver(), rate: 100,
                        subject: { Bool.random(using: &$0) ? "busy" : "s\(Int.random(in: 0..<100, using: &$0))" },
                        trouble: { [first = First()] in
                            first.isFirst($0, of: "busy") ? .fails : nil
                        },
                        change: {
                            $0.ordering = .subject
                            $0.retrySchedule = [5, 10, 20, 40, 80]
                        })
                ])
            world.run(until: 120)
            let others = world.published { $0.subject != "busy" }
            let delivered = world.records[0].order
            #expect(Double(delivered.count) >= 0.99 * Double(others), "seed \(seed): \(delivered.count) of \(others)")
            #expect(world.waiting() <= 576)
            // It is exhausted after about 155 s; the others of its subject follow one by one.
            world.stopPublishing()
            world.run(until: 600)
            let busy = world.records[0].order.filter { world.subject(of: $0) == "busy" }
            #expect(busy.count == world.published { $0.subject == "busy" } - 1, "seed \(seed)")
            #expect(busy == busy.sorted(), "seed \(seed)")
        }
    }

    @Test("a lane that waits for an earlier delivery says so", arguments: [WebhookSettings.Ordering.strict, .subject])
    func reason(ordering: WebhookSettings.Ordering) throws {
        let (world, key) = try World.registered { $0.ordering = ordering }
        world.answer = { $0.event.id == "e1" ? .failure : .success }
        world.publishAndSettle(3, subject: "s")
        let entry = try #require(world.process.loops[0].engine.board.entry(key))
        #expect(entry.flow.limitedBy == .ordering)
        #expect(entry.flow.blockedSubject == (ordering == .subject ? "s" : nil))
        world.answer = { _ in .success }
        world.advance(seconds: 10)
        #expect(world.process.loops[0].engine.board.entry(key) == nil)
    }

    @Test("the type that a receiver refuses is named, and announced once")
    func named() throws {
        let (world, key) = try World.registered()
        world.answer = { $0.event.type == "a.bad" ? .answered(422) : .success }
        for _ in 0..<10 {
            world.publish(1, type: "a.bad")
            world.publishAndSettle(1, type: "a.good")
        }
        let flow = try #require(world.process.loops[0].engine.board.entry(key)?.flow)
        #expect(flow.refusedTypes.map(\.type) == ["a.bad"])
        #expect(flow.refusedTypes.first?.reason == "status 422")
        #expect(world.announced == ["herald.delegate.refusing"])
        #expect(world.delegate(key)?.state.failingSince == nil)
        world.answer = { _ in .success }
        world.advance(seconds: 100)
        #expect(world.process.loops[0].engine.board.entry(key) == nil)
    }

    @Test("a restart during an outage gives up no delivery")
    func restarts() throws {
        let (world, key) = try World.registered { $0.retrySchedule = [1, 10] }
        world.answer = { _ in .failure }
        for _ in 0..<10 {
            world.publish()
            world.advance(seconds: 0.4)
        }
        world.advance(seconds: 60)
        #expect(world.delegate(key)?.state.failingSince != nil)
        for _ in 0..<3 {
            try world.restart()
            world.advance(seconds: 3)
            #expect(
                world.contents.waiting.values.map(\.state) == [WaitingDelivery.State](repeating: .retrying, count: 10))
        }
        world.answer = { _ in .success }
        world.advance(seconds: 120)
        #expect(world.contents.waiting.isEmpty)
    }

    /// The first event with a subject that a receiver got.
    private final class First {
        private var id: String?
        func isFirst(_ event: Event, of subject: String) -> Bool {
            guard event.subject == subject else { return false }
            id = id ?? event.id
            return id == event.id
        }
    }
}
