import Glibc
import HeraldTestSupport
import Testing

@Suite("Simulated runs of the service")
struct SimulationTests {
    /// `HERALD_SEED=17` runs that one, `HERALD_SEEDS=10000` so many, from `HERALD_FIRST_SEED` on.
    private static let seeds: [UInt64] = {
        if let one = number("HERALD_SEED") { return [one] }
        let first = number("HERALD_FIRST_SEED") ?? 1
        return Array(first..<first + (number("HERALD_SEEDS") ?? 500))
    }()
    private static let steps = 400

    private static func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }

    @Test("nothing is ever lost, and only deliveries in flight are repeated")
    func seeds() async throws {
        let failures: [String] = await offPool {
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
