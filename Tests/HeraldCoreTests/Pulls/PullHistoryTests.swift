import HeraldTestSupport
import Testing

@Suite("Histories of pulls", .timeLimit(.minutes(20)))
struct PullHistoryTests {
    private static let seeds = SeededRandom.seeds(variable: "HERALD_PULL_SEED", count: 30)

    @Test("with consumers and nodes that come, fail and die, no event is lost, repeated or given up by mistake")
    func seeds() async {
        var failures: [String] = []
        var (histories, events, faults) = (0, 0, 0)
        for seed in Self.seeds where failures.count < 5 {
            let history = PullHistory(seed: seed)
            do {
                try await history.run(steps: 120)
            } catch {
                failures.append("\(error)")
            }
            histories += 1
            events += history.handedOut
            faults += history.faults
        }
        print("\(histories) histories of pulls: \(events) events handed out, \(faults) faults of the store")
        for failure in failures { Issue.record("\(failure)") }
    }
}
