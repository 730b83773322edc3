import HeraldJSON
import Synchronization
import Testing

@Suite("The budget of expensive work")
struct WorkBudgetTests {
    @Test("it is exhausted after its steps")
    func steps() {
        var budget = WorkBudget(steps: 3)
        #expect(budget.spend(2) && !budget.isSpent)
        #expect(!budget.spend(1) && budget.isSpent)
    }

    @Test("work that is interrupted has no steps left soon after, and none before")
    func interruption() {
        let isOver = Atomic(false)
        withExtendedLifetime(isOver) {
            var budget = WorkBudget(steps: 1_000_000) { isOver.load(ordering: .relaxed) }
            for _ in 0..<100_000 { budget.spend(1) }
            #expect(budget.left == 900_000)
            isOver.store(true, ordering: .relaxed)
            var steps = 0
            while budget.spend(1) { steps += 1 }
            #expect(steps < 20_000)
        }
    }
}
