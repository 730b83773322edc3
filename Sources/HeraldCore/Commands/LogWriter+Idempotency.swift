import HeraldRuntime

/// A request that was carried out before is answered as it was then.
extension LogWriter {
    /// Does what a request asks for and answers it. The same request again is answered as it was then.
    func once<Outcome>(
        _ idempotency: Idempotency<Outcome>?, _ app: AppKey, _ transaction: any StoreTransaction, _ plan: inout Plan,
        _ completion: @escaping @Sendable (WriteResult<Outcome>) -> Void,
        _ perform: (inout Plan) throws(StoreError) -> Outcome
    ) throws(StoreError) {
        if let idempotency, let result: WriteResult<Outcome> = try earlier(idempotency.key, app, transaction) {
            plan.answers.append { completion(result) }
            return
        }
        let outcome = try perform(&plan)
        if let idempotency, let answer = idempotency.answer(outcome) {
            try remember(answer, idempotency.key, app, transaction)
        }
        plan.answers.append { completion(.done(outcome)) }
    }

    /// What a request with this key was answered before, if it was.
    func earlier<Outcome>(
        _ key: IdempotencyKey, _ app: AppKey, _ transaction: any StoreTransaction
    ) throws(StoreError) -> WriteResult<Outcome>? {
        guard let answer = try transaction.answer(app: app, key: key.key, now: clock.wall()) else { return nil }
        return answer.fingerprint == key.fingerprint ? .replayed(answer) : .refused(.keyReused)
    }

    func remember(
        _ answer: StoredAnswer, _ key: IdempotencyKey, _ app: AppKey, _ transaction: any StoreTransaction
    ) throws(StoreError) {
        try transaction.setAnswer(
            answer, app: app, key: key.key, expiresAt: clock.wall() + IdempotencyKey.lifetime)
    }

    /// Replaces the answer to the same request. One that has expired, or was erased with its subject, stays away.
    func replace(
        _ write: AnswerWrite, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        let known = try transaction.answer(app: write.app, key: write.key.key, now: clock.wall())
        let isKnown = known?.fingerprint == write.key.fingerprint
        if isKnown { try remember(write.answer, write.key, write.app, transaction) }
        plan.answers.append { write.completion(isKnown) }
    }

    /// Forgets answers that expired, a few at a time.
    func clean(_ transaction: any StoreTransaction, _ state: State) throws(StoreError) {
        let now = clock.wall()
        guard now >= state.nextCleaning else { return }
        try transaction.removeExpiredAnswers(now: now, limit: Self.cleaningLimit)
    }

    /// Milliseconds between two cleanings, and rows that one deletes at most.
    static let cleaningInterval: Int64 = 1_000
    private static let cleaningLimit = 500
}
