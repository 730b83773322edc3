import HeraldTestSupport
import Testing

@Suite("Simulated nodes")
struct NodeSimulationTests {
    private static let seeds = SeededRandom.seeds(variable: "HERALD_NODE_SEED", count: 100)
    private static let steps = 120

    /// Processes come, die, sleep and lose their sessions at random, while events are published and receivers fail.
    @Test("with all faults of nodes, each event arrives, first in order where the delegate requires it")
    func seeds() async {
        let (sums, errors) = await runHistories(Self.seeds) { seed in
            let simulation = NodeSimulation(seed: seed)
            try simulation.run(steps: Self.steps)
            return [simulation.history.count, simulation.events]
        }
        for error in errors { Issue.record("\(error)") }
        guard sums.count == 3 else { return }
        // script/crash-test reads this.
        print("\(sums[0]) histories of nodes: \(sums[1]) joins, ends and faults, \(sums[2]) events")
    }
}
