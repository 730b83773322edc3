import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldCore

@Suite("Validation of events from SQL")
struct SubmissionTaskTests {
    private func submission(_ key: Int64, _ app: Int64) -> Submission {
        Submission(
            key: key, app: AppKey(rawValue: app), id: "\(key)", type: "a.b", subject: nil, time: 5,
            data: Array("null".utf8), deliverAt: nil)
    }

    /// - Parameter steps: those that the check of an event takes, by its id; otherwise one.
    private func checked(_ found: [Submission], steps: [String: Int]) throws -> [String] {
        let entries = try SubmissionTask.checked(found, MemoryStore().makeReader()) { draft, _, _, budget in
            budget.spend(steps[draft.event.id] ?? 1)
            return []
        }
        return entries.map { found in
            if case .refused = found.entry { return "\(found.submission.id) refused" }
            return found.submission.id
        }
    }

    @Test("an app whose checks are expensive delays its own events, not those of others")
    func budgets() throws {
        let all = WorkBudget.stepsPerRequest
        let found = [submission(1, 1), submission(2, 2), submission(3, 1), submission(4, 2), submission(5, 1)]
        #expect(try checked(found, steps: [:]) == ["1", "2", "3", "4", "5"])
        #expect(try checked(found, steps: ["1": all]) == ["1 refused", "2", "4"])
        #expect(try checked(found, steps: ["3": all]) == ["1", "2", "4"])
        #expect(try checked(Array(found.dropFirst(2)), steps: ["3": all]) == ["3 refused", "4"])
    }
}
