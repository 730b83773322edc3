import HeraldRuntime

/// Replaces a provisional response: repetitions of the request get the new one.
package struct AnswerWrite: StoreCommand {
    private let app: AppKey
    private let key: IdempotencyKey
    private let answer: StoredAnswer
    private let completion: @Sendable (Bool) -> Void

    /// - Parameter completion: called once, on the writer's thread or at once, with whether repetitions get this
    ///   response from now on; must not wait.
    package init(
        app: AppKey = .default, key: IdempotencyKey, answer: StoredAnswer,
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        self.app = app
        self.key = key
        self.answer = answer
        self.completion = completion
    }

    /// The waiting requests were admitted before.
    package static var admission: CommandAdmission { .always }

    /// A response that has expired, or was erased with its subject, is not written again.
    package func perform(
        _ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan
    ) throws(StoreError) {
        let known = try transaction.answer(app: app, key: key.key, now: writer.clock.wall())
        let isKnown = known?.fingerprint == key.fingerprint
        if isKnown { try writer.remember(answer, key, app, transaction) }
        plan.answers.append { [completion] in completion(isKnown) }
    }

    package func refuse(_ refusal: WriteRefusal) { completion(false) }
}
