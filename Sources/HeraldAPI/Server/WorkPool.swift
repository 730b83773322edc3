import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldRuntime

/// Does what a client's document makes the server compute (reading large bodies and schemas, holding data and filters against
/// each other), on threads of its own: a loop's thread serves every connection.
///
/// Work is counted in steps. It begins on the thread `checks`, with few: almost everything gets by with these. What doesn't
/// begins again on `checks-long`, with as many as one request may cause, and what needs even more is refused. So what is
/// cheap doesn't wait for what is dear. `checks-long` does one request after the other, the apps in turn, and lets every
/// other thread go first. Large bodies are read on `bodies`.
final class WorkPool: Sendable {
    /// 0.2 ms at most: data of an event takes some hundred steps.
    private static let firstSteps = 8_000

    private struct Lines: Sendable {
        let first: WorkLine
        let long: WorkLine
        let bodies: WorkLine

        var all: [WorkLine] { [bodies, first, long] }

        init() throws(SystemError) {
            let long = try WorkLine(
                name: "checks-long", bounds: .init(requests: 256, bytes: 16 << 20), steps: WorkBudget.stepsPerRequest,
                priority: .idle, spent: { $0.refuse(.budgetExceeded) })
            self.long = long
            first = try WorkLine(
                name: "checks", bounds: .init(requests: 256, bytes: 16 << 20), steps: WorkPool.firstSteps,
                priority: .normal,
                spent: { work in
                    if let problem = long.add(work) { work.refuse(problem) }
                })
            bodies = try WorkLine(
                name: "bodies", bounds: .init(requests: 2_048, bytes: 64 << 20), steps: 0, priority: .low,
                spent: { _ in })
        }
    }

    /// `nil` when the system gave no thread: nothing can be checked then.
    private let lines = try? Lines()

    deinit {
        for line in lines?.all ?? [] { line.end() }
    }

    /// Refuses what waits and returns when nothing is being done any more; 50 ms or so. May be called again.
    func stop() {
        for line in lines?.all ?? [] { line.stop() }
    }

    /// For a call whose body takes long to read.
    /// - Parameter read: called on the thread `bodies`; must not wait, and answers the call now or later.
    func run(_ call: Call, _ read: @escaping @Sendable () -> Void) throws(Problem) {
        try add(call, to: \.bodies) { _ in
            read()
            return true
        }
    }

    /// - Parameters:
    ///   - work: computes what is wanted, and nothing else: what it says counts only if its budget lasts; otherwise it is
    ///     called again with a larger one, or the request is refused.
    ///   - finish: goes on with the outcome, on the same thread, which must not wait for anything.
    func run<Outcome: Sendable>(
        _ call: Call, _ work: @escaping @Sendable (inout WorkBudget) throws(Problem) -> Outcome,
        then finish: @escaping @Sendable (Outcome) throws(Problem) -> Void
    ) throws(Problem) {
        try add(call, to: \.first) { budget in
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
        _ call: Call, to line: KeyPath<Lines, WorkLine>, _ attempt: @escaping @Sendable (inout WorkBudget) -> Bool
    ) throws(Problem) {
        let entry = WorkLine.Entry(
            app: call.app, bytes: call.request.body.count, attempt: attempt, refuse: { call.send($0) })
        if let problem = lines.map({ $0[keyPath: line].add(entry) }) ?? .tooManyChecks { throw problem }
    }
}
