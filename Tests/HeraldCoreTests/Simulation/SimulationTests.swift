import HeraldTestSupport
import Testing

@Suite("Simulated runs of the service")
struct SimulationTests {
    private static let seeds = SeededRandom.seeds(variable: "HERALD_SEED", count: 100)
    private static let steps = 400

    @Test("nothing is ever lost, and only deliveries in flight are repeated")
    func seeds() async throws {
        let failures: [String] = await inBackground {
            var failures: [String] = []
            var (histories, starts, crashes) = (0, 0, 0)
            for seed in Self.seeds where failures.count < 5 {
                do {
                    let simulation = try Simulation(seed: seed)
                    try simulation.run(steps: Self.steps)
                    if Self.seeds.count == 1 { print(simulation.summary) }
                    histories += 1
                    starts += simulation.starts
                    crashes += simulation.crashes
                } catch {
                    failures.append("\(error)")
                }
            }
            // script/crash-test reads this.
            print("\(histories) histories of \(Self.steps) steps: \(starts) deliveries started, \(crashes) crashes")
            return failures
        }
        for failure in failures { Issue.record("\(failure)") }
    }
}
