/// The port for deliveries inside a transaction: lane positions, attempts, retries, replays and statistics.
package protocol DeliveryTransaction: AnyObject {
    /// Stores the changes of a delivery loop.
    ///
    /// Lanes, retries and replays of a deleted delegate are ignored, because a loop may not know of the deletion yet.
    /// Its attempts are kept. The store ignores `notices`.
    func write(_ checkpoint: Checkpoint) throws(StoreError)
    /// Deliveries with a row of their own, as this transaction has them: see `DeliveryReader`.
    func search(_ query: DeliveryQuery) throws(StoreError) -> DeliveryPage
    /// Makes these deliveries, whether they have a row or not. Those of deleted delegates are ignored.
    ///
    /// The store notes these deliveries, and those that `drop` ends, as `Change`s in the same transaction. Until the owner of
    /// the lane knows of a change, its checkpoints leave the rows as they are (`Checkpoint.known`).
    func redeliver(_ deliveries: [WaitingDelivery]) throws(StoreError)
    /// Ends deliveries that have a row: state `dropped`.
    func drop(_ deliveries: [DeliveryKey], at time: Int64) throws(StoreError)
    /// The first delegates after this one with an attempt or a row for this event, ascending, including deleted ones.
    func recipients(
        event: LogPosition, after delegate: DelegateKey, limit: Int
    ) throws(StoreError) -> [DelegateKey]
    /// Adds a replay. Throws `StoreError.failed` if the delegate was deleted.
    /// - Returns: the replay with its id.
    func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) throws(StoreError) -> Replay
    /// Ends a replay.
    /// - Returns: whether the delegate had one with this id.
    func removeReplay(_ id: Int64, of delegate: DelegateKey) throws(StoreError) -> Bool
    /// The number of a delegate's replays that have not ended.
    func countReplays(_ delegate: DelegateKey) throws(StoreError) -> Int
    /// Deletes attempts that were started before `time`, among the `limit` oldest records; never the
    /// newest attempt.
    /// - Returns: the number of deleted attempts.
    func removeAttempts(before time: Int64, limit: Int) throws(StoreError) -> Int
    /// Deletes the attempts up to an id, at most `limit`; never the newest attempt.
    func removeAttempts(through id: Int64, limit: Int) throws(StoreError) -> RemovedAttempts
    /// Adds slots of statistics and volumes that began before `time` to those in which their hours began, and deletes the hours and
    /// the volumes whose lifetimes have ended: at most `limit` of each.
    /// - Returns: the largest number of deleted rows of one kind.
    func removeStatistics(before time: Int64, limit: Int) throws(StoreError) -> Int
    /// Adds to the volumes with the same keys.
    func add(_ volumes: [Volume]) throws(StoreError)
}

/// Reads deliveries.
package protocol DeliveryReader: AnyObject {
    /// A delegate's attempts, newest first. The search ends after `AttemptQuery.maxWork` attempts.
    func attempts(_ query: AttemptQuery) throws(StoreError) -> [StoredAttempt]
    /// The attempt before which a search continues that has found fewer than its limit; `nil` if there are no more.
    func rest(of query: AttemptQuery) throws(StoreError) -> Int64?
    /// The last attempts to deliver one event, oldest first.
    func attempts(event: LogPosition, limit: Int) throws(StoreError) -> [StoredAttempt]
    /// Attempts from `id + 1` on, oldest first, for all delegates. An erased attempt may be included with delegate 0
    /// and event 0.
    func attempts(after id: Int64, limit: Int) throws(StoreError) -> [StoredAttempt]
    /// The id of the last attempt ever, 0 if there was none.
    func lastAttempt() throws(StoreError) -> Int64
    /// Waiting and ended deliveries of one event.
    func waiting(event: LogPosition) throws(StoreError) -> [WaitingDelivery]
    /// Deliveries of a delegate in state `retrying`, with their subjects: a part of those that its lane does not have in
    /// memory.
    func rows(_ query: StoredRowsQuery) throws(StoreError) -> [WaitingDelivery]
    /// Newest event first; within an event, the delegate that registered last first. The search ends after it has read
    /// `DeliveryQuery.work` rows, or passed over `DeliveryQuery.passed`.
    func search(_ query: DeliveryQuery) throws(StoreError) -> DeliveryPage
    /// The last successful attempt of each delivery of an event that has no row, for delegates with a smaller key; the
    /// delegate that registered last first.
    func delivered(event: LogPosition, before delegate: DelegateKey, limit: Int) throws(StoreError) -> [StoredAttempt]
    /// The last successful attempt of each delivery to a delegate that has no row, for events of its app in this range;
    /// newest event first. The work depends on the range.
    func delivered(
        to delegate: DelegateKey, app: AppKey, in range: ClosedRange<LogPosition>, limit: Int
    ) throws(StoreError) -> [StoredAttempt]
    /// The number of matching deliveries, ignoring `filter`, `before` and `limit`.
    func countDeliveries(_ query: DeliveryQuery) throws(StoreError) -> Int
    /// The deliveries of an app in one state, counted for each delegate that has some, in no order. Deleted delegates are
    /// left out. The work depends on the app's delegates and rows only.
    func countDeliveries(app: AppKey, _ state: WaitingDelivery.State) throws(StoreError) -> [DeliveryCount]
    /// Replays of a delegate that have not ended, oldest first.
    func replays(_ delegate: DelegateKey) throws(StoreError) -> [Replay]
    /// Slots that begin at `start` or later, oldest first.
    func statistics(_ delegate: DelegateKey, since start: Int64) throws(StoreError) -> [DeliveryStatistics]
    /// Volumes by slot, oldest first, with the type and app of the query. Sums of all apps have the app `default`.
    func volumes(_ query: VolumeQuery) throws(StoreError) -> [Volume]
    /// The volumes of an app in these slots by type, those with most events first. The start is that of the range.
    func volumesByType(_ app: AppKey, in slots: ClosedRange<Int64>, limit: Int) throws(StoreError) -> [Volume]
    /// How far all deliveries have come.
    func progress() throws(StoreError) -> DeliveryProgress
    /// The events in this range with a delivery that waits for a retry, ascending.
    func waitingEvents(in range: ClosedRange<LogPosition>) throws(StoreError) -> [LogPosition]
}

extension DeliveryReader {
    /// The last attempts to deliver one event, oldest first: as many as one search reads. An event that is delivered again and
    /// again has any number.
    package func attempts(event: LogPosition) throws(StoreError) -> [StoredAttempt] {
        try attempts(event: event, limit: AttemptQuery.maxWork)
    }
}
