import Glibc
import HeraldTestSupport
import Testing

@Suite("Simulated runs of the service")
struct SimulationTests {
    /// `HERALD_SEED=17` runs that one, `HERALD_SEEDS=10000` so many.
    private static let seeds: [UInt64] = {
        if let one = number("HERALD_SEED") { return [one] }
        return Array(1...(number("HERALD_SEEDS") ?? 500))
    }()

    private static func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }

    @Test("nothing is ever lost, and only deliveries in flight are repeated")
    func seeds() async throws {
        let failures: [String] = await offPool {
            var failures: [String] = []
            for seed in Self.seeds where failures.count < 5 {
                do {
                    let simulation = try Simulation(seed: seed)
                    try simulation.run(steps: 400)
                    if Self.seeds.count == 1 { print(simulation.summary) }
                } catch {
                    failures.append("\(error)")
                }
            }
            return failures
        }
        for failure in failures { Issue.record("\(failure)") }
    }
}
