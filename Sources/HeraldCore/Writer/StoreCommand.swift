package import HeraldModel

/// An infrequent write: each has a file in this folder, which says what it validates, what it writes, what it logs for
/// the audit and how it responds. The intake passes it to the writer's thread, which performs it inside a transaction.
///
/// Publications and checkpoints are frequent and have cases of their own (`Intake.Submission`).
package protocol StoreCommand: Sendable {
    /// Whether the intake accepts it under load. Requests are `bounded`; other commands are `always` accepted by default.
    static var admission: CommandAdmission { get }

    /// Whether it is the last one of its transaction: later commands are checked against its committed result.
    var endsTransaction: Bool { get }

    /// Whether it is one step of a task whose work grows with what is stored. A transaction has one step at most and nothing
    /// else, and the submissions that came in the meantime are committed between two steps. A task submits its next step
    /// when the last one is done.
    var isStep: Bool { get }

    /// Any thread, before it is enqueued.
    /// - Returns: the validated command; `nil` if it is invalid and was completed with a refusal.
    func checked(by rules: WebhookRules) -> Self?

    /// Writes, and adds the effects of the commit on memory and the completions to the plan. The state in `context` (the
    /// registry, keys, apps …) is that of the last commit. The writer's thread. It may run several times, and has no other effects.
    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError)

    /// Completes with a refusal: nothing was done. By default nothing waits for the command. Any thread.
    func refuse(_ refusal: HubError)
}

package enum CommandAdmission: Sendable {
    /// Counts like one event; refused when too much is waiting, or when the hub stops.
    case bounded
    /// Accepted until the writer ends.
    case always
    /// Like the case above, but skipped while another command of its type waits.
    case single
}

extension StoreCommand {
    package static var admission: CommandAdmission { .always }
    package var endsTransaction: Bool { false }
    package var isStep: Bool { false }
    package func checked(by rules: WebhookRules) -> Self? { self }
    package func refuse(_ refusal: HubError) {}
    /// The number of rows that one step of a task changes, which takes less than a millisecond.
    package static var rowsOfStep: Int { 16 }
}

/// A command with an outcome for the client: completed once, stored for an idempotency key.
package protocol RequestCommand: StoreCommand {
    associatedtype Outcome: Sendable

    var app: AppKey { get }
    /// `nil` if repetitions are not recognized.
    var idempotency: Idempotency<Outcome>? { get }
    /// Called once, on the writer's thread or, if it is refused, at once; must not wait.
    var completion: @Sendable (WriteResult<Outcome>) -> Void { get }

    /// The memory that its outcome needs; `nil` if it needs none. The state in `context` is that of the last commit.
    func growth(_ context: WriteContext) -> KeptMemory.Growth?

    /// Whether the response says that something is erased: it waits until the write-ahead log has no copy of it.
    func saysErased(_ outcome: Outcome) -> Bool

    /// The next step of a task, after one whose plan says that it is not complete.
    /// - Parameter last: the delivery that it has changed last.
    func next(after outcome: Outcome, _ last: DeliveryKey?) -> Self

    /// Like `perform`, and logs the change for the audit (`WriteContext.record`).
    func outcome(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome
}

extension RequestCommand {
    package static var admission: CommandAdmission { .bounded }
    package var idempotency: Idempotency<Outcome>? { nil }
    package func growth(_ context: WriteContext) -> KeptMemory.Growth? { nil }
    package func saysErased(_ outcome: Outcome) -> Bool { false }
    package func next(after outcome: Outcome, _ last: DeliveryKey?) -> Self { self }

    package func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        let completion = completion
        if let idempotency, let result = try context.earlier(idempotency, app, transaction) {
            plan.answers.append { completion(result) }
            return
        }
        if let growth = growth(context), let limit = context.committed.kept.limit(refusing: growth) {
            plan.answers.append { completion(.refused(.memoryFull(limit: limit))) }
            return
        }
        let outcome = try outcome(context, transaction, &plan)
        if plan.isPartial {
            plan.answers.append { [next = next(after: outcome, plan.lastChanged), intake = context.intake] in
                if let refusal = intake.submitNext(next) { next.refuse(refusal) }
            }
            return
        }
        if let idempotency { try context.remember(outcome, idempotency, app, transaction) }
        if saysErased(outcome) {
            plan.answersOfErasures.append { completion(.done(outcome)) }
        } else {
            plan.answers.append { completion(.done(outcome)) }
        }
    }

    package func refuse(_ refusal: HubError) { completion(.refused(refusal)) }
}
