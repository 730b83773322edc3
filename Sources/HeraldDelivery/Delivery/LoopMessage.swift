package import HeraldModel

/// A message to a delivery loop.
package enum LoopMessage: Sendable {
    case set(WebhookDelegate)
    case remove(DelegateKey)
    /// Make a delivery again now.
    case redeliver(WaitingDelivery)
    /// Drop a delivery.
    case drop(DeliveryKey)
    /// This was all that was requested of deliveries up to this change of a shared store.
    case known(change: Int64)
    case replay(Replay)
    /// Start nothing further of a replay.
    case endReplay(Int64, DelegateKey)
    /// Stop deliveries of these erased events.
    case erase(Set<LogPosition>, of: AppKey)
    /// Retention is about to remove all events up to this one; `gone` are those that are left. End their deliveries.
    case trim(through: LogPosition, gone: [LoggedEvent], Removal.Cause)
    /// A requested page; `nil` if it could not be read.
    case page(after: LogPosition, EventBatch?)
    /// Requested rows of a delegate; `nil` if they could not be read.
    case rows(DelegateKey, StoredRowsQuery.Part, [WaitingDelivery]?)
    case checkpointEnded(Bool)
    /// The delegate may belong to another process. The outcome is `nil` if it does not exist any more, too many requests are open, or the
    /// loop stops.
    case test(WebhookDelegate, Event? = nil, answer: @Sendable (CallbackOutcome?) -> Void)
    /// Stop waiting for these deliveries at this time (monotonic nanoseconds).
    case expire(DeliveryWatch, at: Int64)
    /// Take shards that no process has. Their lanes are at this position, unless a lane has its own.
    case take(Shards, from: LogPosition, [DeliveryLoop.RestoredLane])
    /// Give shards away. Open requests may run until the deadline (monotonic nanoseconds).
    case give(Shards, deadline: Int64, done: @Sendable () -> Void)
    /// Others may have these shards: forget them.
    case lose(Shards, done: @Sendable () -> Void)
    /// Attempts may start again.
    case permitted
    /// Start nothing further. Open requests may run until the deadline (monotonic nanoseconds).
    case stop(deadline: Int64)
}

extension LoopMessage {
    /// Whose lane it changes: a loop without that lane's shard has nothing to do.
    var delegate: DelegateKey? {
        switch self {
        case .set(let delegate): delegate.key
        case .remove(let key), .endReplay(_, let key), .rows(let key, _, _): key
        case .redeliver(let delivery): delivery.delegate
        case .drop(let key): key.delegate
        case .replay(let replay): replay.delegate
        default: nil
        }
    }
}
