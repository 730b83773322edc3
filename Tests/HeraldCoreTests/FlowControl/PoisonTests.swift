import Foundation
import HeraldTestSupport
import Testing

@testable import HeraldCore

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
            Case(share: 0.95, rate: 2), Case(share: 0.8, trouble: .rejects(retryAfter: nil)),
        ]

    private func world(_ poison: Case, seed: UInt64) -> FlowWorld {
        let share = poison.share
        let trouble = poison.trouble
        return FlowWorld(
            seed: seed,
            lanes: [
                .init(
                    receiver: SimulatedReceiver(), rate: poison.rate,
                    kind: { Double.random(in: 0..<1, using: &$0) < share ? "bad" : "good" },
                    trouble: { $0.type.hasSuffix("bad") ? trouble : nil })
            ])
    }

    @Test("a type whose handler always fails delays no other type", arguments: cases)
    func type(_ poison: Case) {
        for seed in FlowScenarioTests.seeds {
            let world = world(poison, seed: seed)
            // Until the first success nothing shows that the receiver works.
            world.recordsLatencyFrom = 60
            world.run(until: 400)
            let good = world.published { $0.type.hasSuffix("good") }
            let delivered = world.records[0].useful.reduce(0, +)
            #expect(Double(delivered) >= 0.95 * Double(good), "seed \(seed): \(delivered) of \(good)")
            let late = world.records[0].percentile(0.99)
            #expect(late <= 5, "seed \(seed): 99 % within \(late) s")
        }
    }
}
