import HeraldTestSupport
import Testing

@Suite("Simulated runs of the service")
struct SimulationTests {
    private static let seeds = SeededRandom.seeds(variable: "HERALD_SEED", count: 100)
    private static let steps = 400

    @Test("nothing is ever lost, and only deliveries in flight are repeated")
    func seeds() async throws {
        let (sums, errors) = await runHistories(Self.seeds) { seed in
            let simulation = try Simulation(seed: seed)
            try simulation.run(steps: Self.steps)
            if Self.seeds.count == 1 { print(simulation.summary) }
            return [simulation.starts, simulation.crashes]
        }
        for error in errors { Issue.record("\(error)") }
        guard sums.count == 3 else { return }
        // script/crash-test reads this.
        print("\(sums[0]) histories of \(Self.steps) steps: \(sums[1]) deliveries started, \(sums[2]) crashes")
    }
}
