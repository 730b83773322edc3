import HeraldJSON
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Validation of events from SQL")
struct SubmissionTaskTests {
    private func submission(_ key: Int64, _ app: Int64) -> Submission {
        Submission(
            key: key, app: AppKey(rawValue: app), id: "\(key)", type: "a.b", subject: nil, time: 5,
            data: Array("null".utf8), deliverAt: nil)
    }

    /// - Parameters:
    ///   - steps: those that the check of an event takes, by its id; otherwise one.
    ///   - unreadable: the events whose type can't be read, by id.
    private func checked(
        _ found: [Submission], steps: [String: Int], last: Set<AppKey> = [], unreadable: Set<String> = []
    ) throws -> [String] {
        let checked = try SubmissionTask.checked(found, MemoryStore().makeReader(), last: last) {
            draft, _, _, budget throws(StoreError) in
            if unreadable.contains(draft.event.id) { throw .unreadable(reason: "event type a.b") }
            budget.spend(steps[draft.event.id] ?? 1)
            return []
        }
        return checked.entries.map { found in
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

    @Test("expensive checks of many apps end one read, and come last in the next one")
    func manyExpensive() throws {
        let all = WorkBudget.stepsPerRequest
        let found = (1...6).map { submission($0, $0) }
        let steps = Dictionary(uniqueKeysWithValues: (1...5).map { ("\($0)", all) })
        #expect(try checked(found, steps: steps).count == 4)
        let last = Set((1...4).map { AppKey(rawValue: $0) })
        #expect(try checked(found, steps: steps, last: last).prefix(2) == ["5 refused", "6"])
    }

    @Test("a type that can't be read delays the events of its app, not those of others")
    func unreadableType() throws {
        let found = [submission(1, 1), submission(2, 2), submission(3, 1)]
        #expect(try checked(found, steps: [:], unreadable: ["1"]) == ["2"])
        #expect(throws: StoreError.self) { try checked([found[0]], steps: [:], unreadable: ["1"]) }
    }

    @Test("an event with as many values as a publication may have is validated, too")
    func manyValues() throws {
        let list = "[" + String(repeating: "1,", count: 19_999) + "1]"
        let large = Submission(
            key: 1, app: AppKey(rawValue: 1), id: "1", type: "a.b", subject: nil, time: 5, data: Array(list.utf8),
            deliverAt: nil)
        let checked = try SubmissionTask.checked([large], MemoryStore().makeReader()) {
            _, _, _, budget throws(StoreError) in
            budget.spend(1)
            return [FieldError("/data", "is refused")]
        }
        guard case .refused? = checked.entries.first?.entry else { throw Unexpected("it was not validated") }
    }

    /// Returns the apps of the events of three reads, each of which has `limit` events at most.
    private func reads(_ found: [Submission], limit: Int, stepsOfEach: Int) async throws -> [[Int64]] {
        let store = MemoryStore()
        store.read { $0.submissions = found }
        let intake = Intake(maxEvents: 9, maxBytes: 999)
        let readers = try ReaderPool(store: store, threads: 1)
        let task = SubmissionTask(
            readers: readers, intake: intake, clock: .system, limit: limit, isResponsible: { true }, after: { _, _ in })
        task.use { _, _, _, budget throws(StoreError) in
            budget.spend(stepsOfEach)
            return []
        }
        var apps: [[Int64]] = []
        for _ in 1...3 {
            task.run()
            let batch = await offPool { intake.take() } ?? []
            guard case .command(let command)? = batch.first else { break }
            let write = try #require(command as? SubmissionWrite)
            apps.append(write.entries.map(\.submission.app.rawValue))
            write.completion(true)
        }
        await offPool { readers.stop() }
        return apps
    }

    @Test("with more apps than a read may have, a read continues behind the last app of the one before it")
    func manyApps() async throws {
        let found = (1...9).map { submission($0, 1) } + (2...5).map { submission(8 + $0, $0) }
        #expect(try await reads(found, limit: 2, stepsOfEach: 1) == [[1, 2], [3, 4], [5, 1]])
    }

    @Test("a read that ends early because checks are expensive is continued with the next app")
    func continued() async throws {
        let found = (1...10).map { submission($0, $0) }
        let all = WorkBudget.stepsPerRequest
        #expect(
            try await reads(found, limit: 5, stepsOfEach: all) == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 1, 2]])
    }
}
