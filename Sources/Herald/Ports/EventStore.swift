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
    /// Adds to the end of the log.
    /// - Precondition: `event(app:id:)` is `nil`; else `StoreError.failed`.
    func append(_ event: Event) throws(StoreError) -> Sequence

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus?
    func setAuthStatus(_ status: AuthStatus) throws(StoreError)
    func setAppState(_ state: AppState) throws(StoreError)

    /// The answer given to an idempotency key that has not expired.
    func answer(app: AppKey, key: String, now: Int64) throws(StoreError) -> StoredAnswer?
    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) throws(StoreError)
    /// Forgets some of the answers that expired before `now`: at most `limit`, so that the transaction stays short.
    func removeExpiredAnswers(now: Int64, limit: Int) throws(StoreError)

    /// A new delegate, or the next version of one (same `key`). `StoreError.failed` when that was deleted, or when
    /// another delegate of the app has the URL.
    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError)
    /// Deletes the delegate with its lane and what waits for a retry. Its attempts stay, under its id, without its
    /// secrets and headers.
    func removeDelegate(_ key: DelegateKey, at time: Int64) throws(StoreError)

    /// Lanes and retries of a deleted delegate are passed over: a loop may not have heard yet. Its attempts are kept.
    func write(_ checkpoint: Checkpoint) throws(StoreError)
}

/// Reads what is committed. One thread; calls may wait for the disk.
public protocol StoreReader: AnyObject {
    /// The log from `sequence + 1` on, oldest first: at least one event if there is any, at most `limit`, and no more
    /// once their data exceeds `maxBytes`. All apps.
    func events(after sequence: Sequence, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch
    /// Newest first.
    func events(_ query: EventQuery) throws(StoreError) -> [LoggedEvent]
    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent?

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus?

    /// A delegate's attempts, newest first.
    func attempts(_ query: AttemptQuery) throws(StoreError) -> [StoredAttempt]
    /// All attempts to tell of one event, oldest first.
    func attempts(event: Sequence) throws(StoreError) -> [StoredAttempt]
    /// What waits for a retry, or was given up, of one event.
    func waiting(event: Sequence) throws(StoreError) -> [WaitingDelivery]
    /// Where lanes stand that are not at the common position.
    func lanePositions() throws(StoreError) -> [LanePosition]
    /// Delegates that were deleted, by key: the id under which they were known.
    func deletedDelegateID(_ key: DelegateKey) throws(StoreError) -> String?
}
