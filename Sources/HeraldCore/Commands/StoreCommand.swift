/// A write that is asked for now and then: a file of this folder for each says what it checks, what it writes, what it notes
/// for the audit log and how it answers. The intake hands it to the writer's thread, which performs it inside a transaction.
///
/// Publications and checkpoints, of which there are many, have ways of their own (`Intake.Submission`).
package protocol StoreCommand: Sendable {
    /// Whether the intake takes it while much waits.
    static var admission: CommandAdmission { get }

    /// The last of its transaction: what follows is checked against what it has committed.
    var endsTransaction: Bool { get }

    /// Any thread, before it waits for the writer.
    /// - Returns: the command as it may be performed; `nil`: what it asks for is not allowed, and it has answered so.
    func checked(by rules: WebhookRules) -> Self?

    /// Writes, and adds to the plan what the commit means for memory and who is answered after it. What `writer` knows (the
    /// registry, keys, apps …) is as of the last commit. The writer's thread; may be repeated after a transaction that failed.
    func perform(
        _ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan
    ) throws(StoreError)

    /// Answers that nothing of it was done. Any thread.
    func refuse(_ refusal: WriteRefusal)
}

package enum CommandAdmission: Sendable {
    /// Counts like one event; refused when too much waits, or when the hub stops.
    case bounded
    /// Taken until the writer ends.
    case always
    /// The same, but passed over while another one of its type waits, which will do.
    case single
}

extension StoreCommand {
    package static var admission: CommandAdmission { .bounded }
    package var endsTransaction: Bool { false }
    package func checked(by rules: WebhookRules) -> Self? { self }
}

/// A command that has an outcome for who asked: answered once, remembered for an idempotency key.
package protocol RequestCommand: StoreCommand {
    associatedtype Outcome: Sendable

    var app: AppKey { get }
    /// `nil`: no repetition is recognized.
    var idempotency: Idempotency<Outcome>? { get }
    /// Called once, on the writer's thread or, when it is refused, at once; must not wait.
    var completion: @Sendable (WriteResult<Outcome>) -> Void { get }

    /// As `perform`, and notes what was changed in the audit log (`LogWriter.note`).
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
