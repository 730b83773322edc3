/// The port for the log inside a transaction: events, values derived from them (auth statuses, app states), and
/// responses stored for idempotency keys.
package protocol LogTransaction: AnyObject {
    /// The last event of the log, including those appended by this transaction. Deciding transactions only.
    var head: LogPosition { get throws(StoreError) }
    /// The event with this id, if there is one, including those appended by this transaction. These have a position in
    /// deciding transactions only.
    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent?
    /// Appends to the log, in this order: cheaper together than one by one.
    /// - Precondition: `event(app:id:)` is `nil` for each, and the ids are unique; otherwise `StoreError.failed`.
    func append(_ events: [Event]) throws(StoreError)
    /// The current status of a user, including changes of this transaction.
    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus?
    /// Adds or replaces.
    func setAuthStatus(_ status: AuthStatus) throws(StoreError)
    /// The current app state, including changes of this transaction.
    func appState(_ app: AppKey) throws(StoreError) -> AppState?
    /// Adds or replaces.
    func setAppState(_ state: AppState) throws(StoreError)
    /// The response stored for an idempotency key, unless it has expired.
    func answer(app: AppKey, key: String, now: Int64) throws(StoreError) -> StoredAnswer?
    /// Adds or replaces. Times are milliseconds since 1970 UTC.
    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) throws(StoreError)
    /// Deletes responses that have expired at `now`: at most `limit`, so that the transaction stays short.
    /// - Returns: the number of them.
    func removeExpiredAnswers(now: Int64, limit: Int) throws(StoreError) -> Int
    /// Marks ascend, by position and by time.
    func addMark(_ mark: LogMark) throws(StoreError)
    /// Deletes events of a range, the oldest first, up to the first one whose delivery waits for a retry, with the rows of their ended
    /// deliveries, and the marks that are no longer needed (attempts have a retention of their own): at most `limit` events and
    /// `limit` deliveries, never the newest event. If an event has more deliveries, it stays until the next call. The log has a gap
    /// there, unless these were the first events.
    func removeEvents(_ range: ClosedRange<LogPosition>, limit: Int) throws(StoreError) -> RemovedEvents
    /// Gives free space in the file of the database back to the file system, up to this many bytes: takes time linear in
    /// them.
    /// - Returns: the bytes given back; 0 if there is no more.
    func giveBack(bytes: Int64) throws(StoreError) -> Int64
    /// Adds to the count of what retention has removed.
    func count(_ removal: Removal) throws(StoreError)
    /// Stores the counts of a full block. Blocks are stored in their order; those behind the last one, and the block in
    /// which the log ends, are counted at each start.
    func keepBlock(_ block: Int64, _ parts: [AppBlock]) throws(StoreError)
    /// The block behind the last one whose counts are stored. Of a store that several processes share, where others may have
    /// stored some.
    func firstOpenBlock() throws(StoreError) -> Int64
    /// Counts a block from which this transaction has removed something, and stores the counts if the block is full;
    /// deletes those of blocks before the log's first event.
    func countBlock(_ block: Int64) throws(StoreError) -> [AppBlock]
    /// Counts a block that this process may not have read to its end. Blocks before it may not be stored yet, so it only replaces
    /// counts that are stored.
    func recountBlock(_ block: Int64) throws(StoreError) -> [AppBlock]
    /// Erases the content of events (`Event.erased`), their attempts and waiting deliveries. The events keep their
    /// positions in the log.
    /// - Parameter limit: about the maximum number of rows that are changed, ≥ 2. The result has the events that are left.
    func erase(_ events: [LogPosition], limit: Int) throws(StoreError) -> Erasure
    /// Erases the data of a subject outside the log: the auth status of its user, and responses stored for idempotency
    /// keys that name it (`ErasedSubject`), or that do not open.
    /// - Parameters:
    ///   - key: the idempotency key behind which responses are searched; empty for the first call.
    ///   - limit: the maximum number of responses that are searched. The result has the key behind which the search continues.
    func eraseSubject(_ subject: String, app: AppKey, after key: String, limit: Int) throws(StoreError) -> Erasure
}

extension LogTransaction {
    /// It belongs to one process, which knows.
    package func firstOpenBlock() -> Int64 { 0 }

    /// One process has read all of its log.
    package func recountBlock(_ block: Int64) throws(StoreError) -> [AppBlock] { try countBlock(block) }
}

/// Reads the log.
package protocol LogReader: AnyObject {
    /// The log from `sequence + 1` on, oldest first: at least one event if there is any, at most `limit`, and no more
    /// once their data exceeds `maxBytes`. It ends before a gap that retention has made, and may begin behind one. All
    /// apps.
    func events(after sequence: LogPosition, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch
    /// The matching events of an app, newest first, without those addressed to one delegate. If the query has several types,
    /// others of its `typeRange` may be among them.
    func events(_ query: EventQuery) throws(StoreError) -> [LoggedEvent]
    /// The event with this id.
    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent?
    /// The current status of a user.
    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus?
    /// The current state of an app.
    func appState(_ app: AppKey) throws(StoreError) -> AppState?
    /// The first event of the log that was accepted at this time or later, or may have been (`AcceptanceWindow`); `head + 1` if
    /// there is none.
    func sequence(since time: Int64) throws(StoreError) -> LogPosition
    /// The last event of the log that was accepted by this time, or may have been; 0 if there is none.
    func lastEvent(through time: Int64) throws(StoreError) -> LogPosition
    /// Events with this subject after `sequence`, oldest first.
    func sequences(about subject: String, app: AppKey, after sequence: LogPosition, limit: Int) throws(StoreError)
        -> [LogPosition]
    /// The last event that arrived before `time`, according to the marks; 0 if unknown.
    func lastEvent(before time: Int64) throws(StoreError) -> LogPosition
    /// The last event of the log ever, 0 if there was none.
    func lastEvent() throws(StoreError) -> LogPosition
    /// Returns the sizes of the store on disk.
    func sizes() throws(StoreError) -> StorageSizes
    /// The sizes of the events after a position, up to another one, oldest first; without reading their data.
    func eventSizes(after sequence: LogPosition, through end: LogPosition, limit: Int) throws(StoreError) -> [EventSize]
    /// The first remaining event; `lastEvent() + 1` if there is none.
    func firstEvent() throws(StoreError) -> LogPosition
    /// Returns the counts of removals by retention, without counts of 0; in no order.
    func removals() throws(StoreError) -> [Removal]
}
