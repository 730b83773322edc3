import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldRuntime

/// Does what a client's document makes the server compute (reading schemas, holding data and filters against each other), on
/// threads of its own: a loop's thread serves every connection.
///
/// Work is counted in steps. It begins on the thread `checks`, with few: almost everything gets by with these. What doesn't
/// begins again on `checks-long`, with as many as one request may cause, and what needs even more is refused. So what is
/// cheap doesn't wait for what is dear. `checks-long` does one request after the other, the apps in turn, and lets every
/// other thread go first.
final class WorkPool: Sendable {
    /// 0.2 ms at most: data of an event takes some hundred steps.
    private static let firstSteps = 8_000

    /// `nil` when the system gave no thread: nothing can be checked then.
    private let lines: (first: WorkLine, long: WorkLine)?

    init() {
        guard
            let long = try? WorkLine(
                name: "checks-long", steps: WorkBudget.stepsPerRequest, isPatient: true,
                spent: { $0.refuse(.budgetExceeded) }),
            let first = try? WorkLine(
                name: "checks", steps: Self.firstSteps, isPatient: false,
                spent: { work in
                    if let problem = long.add(work) { work.refuse(problem) }
                })
        else {
            lines = nil
            return
        }
        lines = (first, long)
    }

    deinit {
        lines?.first.end()
        lines?.long.end()
    }

    /// Refuses what waits and returns when nothing is being done any more; 50 ms or so. May be called again.
    func stop() {
        lines?.first.stop()
        lines?.long.stop()
    }

    /// - Parameters:
    ///   - work: computes what is wanted, and nothing else: what it says counts only if its budget lasts; otherwise it is
    ///     called again with a larger one, or the request is refused.
    ///   - finish: goes on with the outcome, on the same thread, which must not wait for anything.
    func run<Outcome: Sendable>(
        _ call: Call, _ work: @escaping @Sendable (inout WorkBudget) throws(Problem) -> Outcome,
        then finish: @escaping @Sendable (Outcome) throws(Problem) -> Void
    ) throws(Problem) {
        let entry = WorkLine.Entry(app: call.app, bytes: call.request.body.count) { budget in
            do throws(Problem) {
                let outcome = try work(&budget)
                if budget.isSpent { return false }
                try finish(outcome)
            } catch {
                if budget.isSpent { return false }
                call.send(error)
            }
            return true
        } refuse: {
            call.send($0)
        }
        if let problem = lines.map({ $0.first.add(entry) }) ?? .tooManyChecks { throw problem }
    }
}
