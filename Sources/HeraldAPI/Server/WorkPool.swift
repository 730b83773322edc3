import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Runs computations that clients cause (parsing large bodies and schemas, validating data, evaluating filters) on
/// threads of its own, because a loop's thread serves all its connections.
///
/// Work is counted in steps. It starts on the thread `checks` with a small budget, which suffices for almost all
/// requests. Work that exceeds it starts again on `checks-long` with the full budget of a request; beyond that it is
/// refused. So cheap requests do not wait for expensive ones. `checks-long` runs one request after the other, the apps
/// take turns, and it has a low priority. (At idle priority, a machine that other programs keep busy would never respond.)
/// Large bodies are parsed on `bodies`.
final class WorkPool: Sendable {
    /// At most 0.05 ms: the data of an event takes some hundred steps.
    private static let firstSteps = 2_000

    /// The part of the bytes that is for large bodies.
    static func bodyBytes(of maxBytes: Int) -> Int { maxBytes / 6 * 4 }

    private struct Lines: Sendable {
        let first: WorkLine
        let long: WorkLine
        let bodies: WorkLine

        var all: [WorkLine] { [bodies, first, long] }

        init(maxBytes: Int) throws(SystemError) {
            let long = try WorkLine(
                name: "checks-long", bounds: .init(requests: 256, bytes: maxBytes / 6),
                steps: WorkBudget.stepsPerRequest, priority: .low, spent: { $0.refuse(.budgetExceeded) })
            self.long = long
            first = try WorkLine(
                name: "checks", bounds: .init(requests: 256, bytes: maxBytes / 6), steps: WorkPool.firstSteps,
                priority: .prompt,
                spent: { work in
                    if let problem = long.add(work) { work.refuse(problem) }
                })
            bodies = try WorkLine(
                name: "bodies", bounds: .init(requests: 2_048, bytes: WorkPool.bodyBytes(of: maxBytes)), steps: 0,
                priority: .low, spent: { _ in })
        }
    }

    private let lines: Lines

    /// - Parameter maxBytes: of the bodies that wait: two thirds to be read, a sixth for each kind of checks.
    init(maxBytes: Int = 96 << 20) throws(SystemError) { lines = try Lines(maxBytes: maxBytes) }

    deinit {
        for line in lines.all { line.end() }
    }

    /// Refuses queued work and ends running work. Returns when its threads have ended. May be called again.
    func stop() {
        for line in lines.all { line.stop() }
    }

    /// For a request that a loop's thread has no time for.
    /// - Parameters:
    ///   - bytes: of its body.
    ///   - read: called on the thread `bodies`; must not wait, and sends the response now or later.
    func run(
        _ app: AppKey, bytes: Int, refuse: @escaping @Sendable (Problem) -> Void, _ read: @escaping @Sendable () -> Void
    ) throws(Problem) {
        try add(to: \.bodies, app, bytes: bytes, refuse: refuse) { _ in
            read()
            return true
        }
    }

    /// - Parameters:
    ///   - work: computes the result without side effects. The result counts only if its budget lasts; otherwise it is
    ///     called again with a larger one, or the request is refused.
    ///   - finish: called with the outcome, on the same thread; must not wait.
    func run<Outcome: Sendable>(
        _ call: Call, _ work: @escaping @Sendable (inout WorkBudget) throws(Problem) -> Outcome,
        then finish: @escaping @Sendable (Outcome) throws(Problem) -> Void
    ) throws(Problem) {
        let refuse: @Sendable (Problem) -> Void = { call.send($0) }
        try add(to: \.first, call.app, bytes: call.request.body.count, refuse: refuse) { budget in
            do throws(Problem) {
                let outcome = try work(&budget)
                if budget.isSpent { return false }
                try finish(outcome)
            } catch {
                if budget.isSpent { return false }
                call.send(error)
            }
            return true
        }
    }

    private func add(
        to line: KeyPath<Lines, WorkLine>, _ app: AppKey, bytes: Int, refuse: @escaping @Sendable (Problem) -> Void,
        _ attempt: @escaping @Sendable (inout WorkBudget) -> Bool
    ) throws(Problem) {
        let entry = WorkLine.Entry(app: app, bytes: bytes, attempt: attempt, refuse: refuse)
        if let problem = lines[keyPath: line].add(entry) { throw problem }
    }
}
