/// The port for deliveries inside a transaction: where lanes stand, attempts, retries, replays and statistics.
package protocol DeliveryTransaction: AnyObject {
    /// Records what a delivery loop reports.
    ///
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
    /// Begins a replay. `StoreError.failed` when the delegate was deleted.
    /// - Returns: with its id.
    func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) throws(StoreError) -> Replay
    /// Ends a replay.
    /// - Returns: whether the delegate had one with this id.
    func removeReplay(_ id: Int64, of delegate: DelegateKey) throws(StoreError) -> Bool
    /// How many replays of a delegate have not ended.
    func countReplays(_ delegate: DelegateKey) throws(StoreError) -> Int
    /// Of the `limit` attempts that were recorded first, deletes those that were started before `time`; never the newest
    /// attempt.
    /// - Returns: how many.
    func removeAttempts(before time: Int64, limit: Int) throws(StoreError) -> Int
    /// Forgets statistics of slots that began before `time`.
    func removeStatistics(before time: Int64) throws(StoreError)
}

/// Reads deliveries.
package protocol DeliveryReader: AnyObject {
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
    /// Replays of a delegate that have not ended, oldest first.
    func replays(_ delegate: DelegateKey) throws(StoreError) -> [Replay]
    /// Slots that begin at `start` or later, oldest first.
    func statistics(_ delegate: DelegateKey, since start: Int64) throws(StoreError) -> [DeliveryStatistics]
    /// Where lanes stand that are not at the common position.
    func lanePositions() throws(StoreError) -> [LanePosition]
}
