/// What a delivery loop is told by others.
enum LoopMessage: Sendable {
    case set(WebhookDelegate)
    case remove(DelegateKey)
    /// A delivery is to be made again now.
    case redeliver(WaitingDelivery)
    /// A delivery is not to be tried again.
    case drop(DeliveryKey)
    case replay(Replay)
    /// A replay is to start nothing more.
    case endReplay(Int64, DelegateKey)
    /// What these events say is to be told to nobody any more.
    case erase(Set<LogPosition>)
    /// The log begins here now. `gone`: what was cut off, as far as a lane had still to come to it.
    case trim(first: LogPosition, gone: EventBatch)
    /// A page that was asked for; `nil`: it could not be read.
    case page(after: LogPosition, EventBatch?)
    case checkpointEnded(Bool)
    /// `nil`: the delegate is gone, or too much is open.
    case test(DelegateKey, answer: @Sendable (CallbackOutcome?) -> Void)
    /// Nobody waits for these deliveries after that (monotonic nanoseconds).
    case expire(DeliveryWatch, at: Int64)
    /// Nothing new is to be started; what is in flight has until then (monotonic nanoseconds).
    case stop(deadline: Int64)
}
