/// An infrequent write: each has a file in this folder, which says what it validates, what it writes, what it logs for
/// the audit and how it responds. The intake passes it to the writer's thread, which performs it inside a transaction.
///
/// Publications and checkpoints are frequent and have cases of their own (`Intake.Submission`).
package protocol StoreCommand: Sendable {
    /// Whether the intake accepts it under load.
    static var admission: CommandAdmission { get }

    /// Whether it is the last one of its transaction: later commands are checked against its committed result.
    var endsTransaction: Bool { get }

    /// Any thread, before it is enqueued.
    /// - Returns: the validated command; `nil` if it is invalid and was completed with a refusal.
    func checked(by rules: WebhookRules) -> Self?

    /// Writes, and adds the effects of the commit on memory and the completions to the plan. The state in `writer` (the
    /// registry, keys, apps …) is that of the last commit. The writer's thread. It may run several times, and has no other effects.
    func perform(
        _ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan
    ) throws(StoreError)

    /// Completes with a refusal: nothing was done. Any thread.
    func refuse(_ refusal: WriteRefusal)
}

package enum CommandAdmission: Sendable {
    /// Counts like one event; refused when too much is waiting, or when the hub stops.
    case bounded
    /// Accepted until the writer ends.
    case always
    /// The same, but skipped while another one of its type is waiting.
    case single
}

extension StoreCommand {
    package static var admission: CommandAdmission { .bounded }
    package var endsTransaction: Bool { false }
    package func checked(by rules: WebhookRules) -> Self? { self }
}

/// A command with an outcome for the client: completed once, stored for an idempotency key.
package protocol RequestCommand: StoreCommand {
    associatedtype Outcome: Sendable

    var app: AppKey { get }
    /// `nil` if repetitions are not recognized.
    var idempotency: Idempotency<Outcome>? { get }
    /// Called once, on the writer's thread or, if it is refused, at once; must not wait.
    var completion: @Sendable (WriteResult<Outcome>) -> Void { get }

    /// Like `perform`, and logs the change for the audit (`LogWriter.note`).
    func outcome(
        _ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan
    ) throws(StoreError) -> Outcome
}

extension RequestCommand {
    package func perform(
        _ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan
    ) throws(StoreError) {
        let completion = completion
        if let idempotency,
            let result: WriteResult<Outcome> = try writer.earlier(idempotency.key, app, transaction)
        {
            plan.answers.append { completion(result) }
            return
        }
        let outcome = try outcome(writer, transaction, &plan)
        if let idempotency, let answer = idempotency.answer(outcome) {
            try writer.remember(answer, idempotency.key, app, transaction)
        }
        plan.answers.append { completion(.done(outcome)) }
    }

    package func refuse(_ refusal: WriteRefusal) { completion(.refused(refusal)) }
}
