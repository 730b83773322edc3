import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The pause between two commits while other processes publish")
struct CommitPaceTests {
    private static let start: Int64 = 1_000_000_000

    /// The pause after a commit of some events that took a millisecond.
    private func pause(own: Int, others: Int, took: Int64 = 1_000_000) -> Int64 {
        var pace = CommitPace()
        pace.followed(others)
        pace.committed(own, Self.start..<Self.start + took)
        return pace.pause(at: Self.start + took)
    }

    @Test("a process alone never waits")
    func alone() {
        #expect(CommitPace().pause(at: Self.start) <= 0)
        #expect(pause(own: 10, others: 0) <= 0)
    }

    @Test("a process waits as many times the last commit as others publish in its time")
    func shared() {
        #expect(pause(own: 10, others: 10) == 1_000_000)
        #expect(pause(own: 10, others: 5) == 500_000)
        #expect(pause(own: 1, others: 2) == 2_000_000)
    }

    @Test("a pause is bounded, however much others publish and however long a commit took")
    func bounded() {
        #expect(pause(own: 1, others: .max) == 3_000_000)
        #expect(pause(own: 1, others: 1, took: 60_000_000_000) == CommitPace.maxPause)
    }

    @Test("an event after a pause is committed at once")
    func over() {
        var pace = CommitPace()
        pace.followed(1)
        pace.committed(1, Self.start..<Self.start + 1_000_000)
        #expect(pace.pause(at: Self.start + 2_000_000) <= 0)
        // A transaction without events says nothing of the pace.
        pace.committed(0, Self.start + 5_000_000..<Self.start + 9_000_000)
        #expect(pace.pause(at: Self.start + 9_000_000) <= 0)
        // What others have published before the last commit does not count again.
        pace.committed(1, Self.start + 20_000_000..<Self.start + 21_000_000)
        #expect(pace.pause(at: Self.start + 21_000_000) <= 0)
    }
}
