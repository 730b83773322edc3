/// A message to a delivery loop.
enum LoopMessage: Sendable {
    case set(WebhookDelegate)
    case remove(DelegateKey)
    /// Make a delivery again now.
    case redeliver(WaitingDelivery)
    /// Drop a delivery.
    case drop(DeliveryKey)
    case replay(Replay)
    /// Start nothing further of a replay.
    case endReplay(Int64, DelegateKey)
    /// Stop deliveries of these erased events.
    case erase(Set<LogPosition>)
    /// Retention is about to remove all events up to this one; `gone` are those that are left. End their deliveries.
    case trim(through: LogPosition, gone: [LoggedEvent], Removal.Cause)
    /// A requested page; `nil` if it could not be read.
    case page(after: LogPosition, EventBatch?)
    case checkpointEnded(Bool)
    /// The outcome is `nil` if the delegate does not exist or too many requests are open.
    case test(DelegateKey, answer: @Sendable (CallbackOutcome?) -> Void)
    /// Stop waiting for these deliveries at this time (monotonic nanoseconds).
    case expire(DeliveryWatch, at: Int64)
    /// Start nothing further. Open requests may run until the deadline (monotonic nanoseconds).
    case stop(deadline: Int64)
}
