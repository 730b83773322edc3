/// The port behind which events become durable. `MemoryStore` is its driver without a disk; the others are modules of
/// their own. One conformance suite runs against all of them.
///
/// Threads: `recover` and `transaction` belong to the writer's thread, each reader to the thread that asked for it;
/// `health` may be called from any thread.
public protocol EventStore: AnyObject, Sendable {
    /// What was there when the process started. Called once, before anything else.
    func recover() throws(StoreError) -> Recovery

    /// Runs `body` and makes all that it wrote durable before returning; a thrown error leaves nothing behind.
    /// After `StoreError.syncFailed` nobody knows what is on disk: the process has to stop.
    func transaction(_ body: (any StoreTransaction) throws(StoreError) -> Void) throws(StoreError)

    /// A connection for reading, for the calling thread alone.
    func makeReader() throws(StoreError) -> any StoreReader

    /// Whether appends can be expected to succeed: the store answers and has room. Cheap.
    func health() throws(StoreError)

    /// Ends it cleanly. The last call; readers are gone by then. The writer's thread.
    func close()
}

/// What can be read and written inside a transaction. Valid until the closure returns; the writer's thread.
public protocol StoreTransaction: AnyObject {
    /// The event with this id, when there is one already; sees what this transaction appended.
    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent?
    /// Adds to the end of the log, in this order: many at once cost less than one by one.
    /// - Precondition: `event(app:id:)` is `nil` for each, and no two are the same; else `StoreError.failed`.
    /// - Returns: the sequence of the first; the others follow without a gap.
    func append(_ events: [Event]) throws(StoreError) -> LogPosition

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus?
    func setAuthStatus(_ status: AuthStatus) throws(StoreError)
    func setAppState(_ state: AppState) throws(StoreError)

    /// The answer given to an idempotency key that has not expired.
    func answer(app: AppKey, key: String, now: Int64) throws(StoreError) -> StoredAnswer?
    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) throws(StoreError)
    /// Forgets some of the answers that expired before `now`: at most `limit`, so that the transaction stays short.
    func removeExpiredAnswers(now: Int64, limit: Int) throws(StoreError)

    /// A new delegate, or the next version of one (same `key`). `StoreError.failed` when that was deleted, or when
    /// another delegate of the app has the URL, as far as the store can read it.
    /// - Precondition: no other delegate of the app has the URL; the registry sees to it.
    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError)
    /// Deletes the delegate with its lane, its waiting deliveries, its replays and its statistics. Its attempts stay, under
    /// its id, without its secrets and headers.
    func removeDelegate(_ key: DelegateKey, at time: Int64) throws(StoreError)

    /// Lanes, retries and replays of a deleted delegate are passed over: a loop may not have heard yet. Its attempts are
    /// kept. `notices` are none of the store's business.
    func write(_ checkpoint: Checkpoint) throws(StoreError)

    /// Lets deliveries that have a row be made again: state `retrying`, no attempts, due at `time`, marked as replays.
    /// In the order of the list, at most `limit` of the query.
    /// - Returns: those it changed, with their subjects.
    func redeliver(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [WaitingDelivery]
    /// Ends deliveries that wait: state `dropped`. At most `limit` of the query, whose states are `retrying` alone.
    func drop(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [DeliveryKey]
    /// The delegates that a delivery of this event was attempted to, or has a row for, ascending; deleted ones included.
    func recipients(event: LogPosition) throws(StoreError) -> [DelegateKey]

    /// `StoreError.failed` when the delegate was deleted.
    /// - Returns: with its id.
    func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) throws(StoreError) -> Replay

    /// Ends a replay.
    /// - Returns: whether the delegate had one with this id.
    func removeReplay(_ id: Int64, of delegate: DelegateKey) throws(StoreError) -> Bool

    /// How many replays of a delegate have not ended.
    func countReplays(_ delegate: DelegateKey) throws(StoreError) -> Int

    func addMark(_ mark: LogMark) throws(StoreError)
    /// The oldest events up to this one, which `removeEvents` would delete; none when no lane has still to come to one of
    /// them and no delivery of them waits. At most `limit`, and no more once their data exceeds `maxBytes`.
    func undelivered(through sequence: LogPosition, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch
    /// Deletes the oldest events up to this one, with their waiting deliveries and the marks that nobody needs any more
    /// (attempts go by their own age): at most `limit` events and `limit` deliveries, never the newest event. When so many
    /// deliveries waited for the oldest event that some are left, it stays until the next call.
    /// - Returns: the first event that is still there.
    func removeEvents(through sequence: LogPosition, limit: Int) throws(StoreError) -> LogPosition
    /// Of the `limit` attempts that were recorded first, deletes those that were started before `time`; never the newest
    /// attempt.
    /// - Returns: how many.
    func removeAttempts(before time: Int64, limit: Int) throws(StoreError) -> Int
    /// Forgets statistics of slots that began before `time`.
    func removeStatistics(before time: Int64) throws(StoreError)

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

    /// Adds or replaces.
    func setEventType(_ type: EventTypeRecord) throws(StoreError)
    func removeEventType(_ type: String, app: AppKey) throws(StoreError)

    /// Adds or replaces.
    func setKey(_ key: APIKey) throws(StoreError)
    func removeKey(_ id: String) throws(StoreError)

    /// Adds.
    func setSession(_ session: Session) throws(StoreError)
    func removeSession(_ digest: [UInt8]) throws(StoreError)

    /// Adds or replaces.
    func setApp(_ app: App) throws(StoreError)
    /// Its key is not used again. Forgets its auth statuses, its app state and its answers; whatever else it has is removed by
    /// itself, but for its events.
    func removeApp(_ key: AppKey, at time: Int64) throws(StoreError)

    /// Adds to the audit log, whose oldest entries go when there are more than `AuditEntry.limit`.
    func addAudit(_ entry: AuditEntry) throws(StoreError)
}

extension StoreTransaction {
    /// Adds one event to the end of the log.
    /// - Returns: its sequence.
    public func append(_ event: Event) throws(StoreError) -> LogPosition { try append([event]) }
}

/// Reads what is committed. One thread; calls may wait for the disk.
public protocol StoreReader: AnyObject {
    /// The log from `sequence + 1` on, oldest first: at least one event if there is any, at most `limit`, and no more
    /// once their data exceeds `maxBytes`. All apps.
    func events(after sequence: LogPosition, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch
    /// Newest first.
    func events(_ query: EventQuery) throws(StoreError) -> [LoggedEvent]
    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent?

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus?

    /// A delegate's attempts, newest first.
    func attempts(_ query: AttemptQuery) throws(StoreError) -> [StoredAttempt]
    /// All attempts to tell of one event, oldest first.
    func attempts(event: LogPosition) throws(StoreError) -> [StoredAttempt]
    /// Attempts from `id + 1` on, oldest first, whoever they were made to. One that was erased may be there as nobody's: of
    /// delegate 0 and event 0.
    func attempts(after id: Int64, limit: Int) throws(StoreError) -> [StoredAttempt]
    /// The id of the last attempt, 0 when there was none ever.
    func lastAttempt() throws(StoreError) -> Int64
    /// What waits for a retry, or was given up, of one event.
    func waiting(event: LogPosition) throws(StoreError) -> [WaitingDelivery]
    /// Newest event first; within an event, the delegate that registered last first. With subjects.
    func deliveries(_ query: DeliveryQuery) throws(StoreError) -> [WaitingDelivery]
    /// How many the query means; its `before` and `limit` don't count.
    func countDeliveries(_ query: DeliveryQuery) throws(StoreError) -> Int
    /// The first event of the log that arrived at this time or later, by its mark and its own time; `head + 1` when none
    /// did.
    func sequence(since time: Int64) throws(StoreError) -> LogPosition
    /// Events about a subject after `sequence`, oldest first.
    func sequences(about subject: String, app: AppKey, after sequence: LogPosition, limit: Int) throws(StoreError)
        -> [LogPosition]
    /// The audit log of all apps, newest first: entries with a smaller id than `id`.
    func audit(before id: Int64, limit: Int) throws(StoreError) -> [StoredAuditEntry]
    /// Replays of a delegate that have not ended, oldest first.
    func replays(_ delegate: DelegateKey) throws(StoreError) -> [Replay]
    /// Slots that begin at `start` or later, oldest first.
    func statistics(_ delegate: DelegateKey, since start: Int64) throws(StoreError) -> [DeliveryStatistics]
    /// The last event that arrived before `time`, by the marks; 0: none is known.
    func lastEvent(before time: Int64) throws(StoreError) -> LogPosition
    /// Bytes that the store takes on disk, free space inside it excepted.
    func size() throws(StoreError) -> Int64
    /// The first event that is still there; `lastEvent() + 1` when none is.
    func firstEvent() throws(StoreError) -> LogPosition
    /// The last event of the log, 0 when there was none ever.
    func lastEvent() throws(StoreError) -> LogPosition

    /// Where lanes stand that are not at the common position.
    func lanePositions() throws(StoreError) -> [LanePosition]
    /// Delegates that were deleted, by key: the id under which they were known.
    func deletedDelegateID(_ key: DelegateKey) throws(StoreError) -> String?
}
