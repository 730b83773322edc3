import HeraldTestSupport
import Testing

@Suite("Simulated nodes")
struct NodeSimulationTests {
    private static let seeds = SeededRandom.seeds(variable: "HERALD_NODE_SEED", count: 100)
    private static let steps = 120

    /// Processes come, die, sleep and lose their sessions at random, while events are published and receivers fail.
    @Test("with all faults of nodes, each event arrives, first in order where the delegate requires it")
    func seeds() async {
        let failures: [String] = await inBackground {
            var failures: [String] = []
            var (histories, happenings, events) = (0, 0, 0)
            for seed in Self.seeds where failures.count < 5 {
                do {
                    let simulation = NodeSimulation(seed: seed)
                    try simulation.run(steps: Self.steps)
                    histories += 1
                    happenings += simulation.history.count
                    events += simulation.events
                } catch {
                    failures.append("\(error)")
                }
            }
            // script/crash-test reads this.
            print("\(histories) histories of nodes: \(happenings) joins, ends and faults, \(events) events")
            return failures
        }
        for failure in failures { Issue.record("\(failure)") }
    }
}
