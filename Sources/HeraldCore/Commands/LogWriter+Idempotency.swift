import HeraldRuntime

/// A request that was carried out before is answered as it was then.
extension LogWriter {
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
