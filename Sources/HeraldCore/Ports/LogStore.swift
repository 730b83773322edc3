/// The port for the log inside a transaction: events, what follows from them (auth statuses, app states), and the answers to
/// idempotency keys.
package protocol LogTransaction: AnyObject {
    /// The event with this id, when there is one already; sees what this transaction appended.
    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent?
    /// Adds to the end of the log, in this order: many at once cost less than one by one.
    /// - Precondition: `event(app:id:)` is `nil` for each, and no two are the same; else `StoreError.failed`.
    /// - Returns: the sequence of the first; the others follow without a gap.
    func append(_ events: [Event]) throws(StoreError) -> LogPosition
    /// The current status of a user; sees what this transaction set.
    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus?
    /// Adds or replaces.
    func setAuthStatus(_ status: AuthStatus) throws(StoreError)
    /// Adds or replaces; memory has them all from the start.
    func setAppState(_ state: AppState) throws(StoreError)
    /// The answer given to an idempotency key that has not expired.
    func answer(app: AppKey, key: String, now: Int64) throws(StoreError) -> StoredAnswer?
    /// Adds or replaces. Times are milliseconds since 1970 UTC.
    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) throws(StoreError)
    /// Forgets some of the answers that expired before `now`: at most `limit`, so that the transaction stays short.
    func removeExpiredAnswers(now: Int64, limit: Int) throws(StoreError)
    /// Marks ascend, by position and by time.
    func addMark(_ mark: LogMark) throws(StoreError)
    /// The oldest events up to this one, which `removeEvents` would delete; none when no lane has still to come to one of
    /// them and no delivery of them waits. At most `limit`, and no more once their data exceeds `maxBytes`.
    func undelivered(through sequence: LogPosition, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch
    /// Deletes the oldest events up to this one, with their waiting deliveries and the marks that nobody needs any more
    /// (attempts go by their own age): at most `limit` events and `limit` deliveries, never the newest event. When so many
    /// deliveries waited for the oldest event that some are left, it stays until the next call.
    /// - Returns: the first event that is still there.
    func removeEvents(through sequence: LogPosition, limit: Int) throws(StoreError) -> LogPosition
    /// Keeps for the next start what a block of the log holds that this transaction has filled. The one in which the log ends
    /// is counted at each start.
    func keepBlock(_ block: Int64, _ parts: [AppBlock]) throws(StoreError)
    /// Counts what a block holds from which this transaction has taken something, and keeps that; forgets it of blocks before
    /// the log's first event.
    func countBlock(_ block: Int64) throws(StoreError) -> [AppBlock]
    /// Erases what events say (`Event.erased`), their attempts and what waits for delivery. They keep their places in the
    /// log. Takes time by the number of their attempts.
    func erase(_ events: [LogPosition]) throws(StoreError) -> Erasure
    /// Erases what is kept of a subject outside the log: the auth status of its user, and answers to idempotency keys that
    /// name it (`ErasedSubject`). Its time grows with the number of answers that are kept.
    func eraseSubject(_ subject: String, app: AppKey) throws(StoreError) -> Erasure
}

extension LogTransaction {
    /// Adds one event to the end of the log.
    /// - Returns: its sequence.
    package func append(_ event: Event) throws(StoreError) -> LogPosition { try append([event]) }
}

/// Reads the log.
package protocol LogReader: AnyObject {
    /// The log from `sequence + 1` on, oldest first: at least one event if there is any, at most `limit`, and no more
    /// once their data exceeds `maxBytes`. All apps.
    func events(after sequence: LogPosition, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch
    /// The events of an app that the query means, newest first, without those addressed to one delegate.
    func events(_ query: EventQuery) throws(StoreError) -> [LoggedEvent]
    /// The event with this id.
    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent?
    /// The current status of a user.
    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus?
    /// The first event of the log that arrived at this time or later, by its mark and its own time; `head + 1` when none
    /// did.
    func sequence(since time: Int64) throws(StoreError) -> LogPosition
    /// Events about a subject after `sequence`, oldest first.
    func sequences(about subject: String, app: AppKey, after sequence: LogPosition, limit: Int) throws(StoreError)
        -> [LogPosition]
    /// The last event that arrived before `time`, by the marks; 0: none is known.
    func lastEvent(before time: Int64) throws(StoreError) -> LogPosition
    /// The last event of the log, 0 when there was none ever.
    func lastEvent() throws(StoreError) -> LogPosition
    /// Bytes that the store takes on disk, free space inside it excepted.
    func size() throws(StoreError) -> Int64
    /// Bytes that the store's write-ahead log takes on disk on top of that.
    func logSize() -> Int64
    /// The first event that is still there; `lastEvent() + 1` when none is.
    func firstEvent() throws(StoreError) -> LogPosition
}
