/// What a committed transaction means for whoever holds a part of its contents in memory. In the order of the changes.
enum WriteEffect: Sendable {
    case set(WebhookDelegate)
    case remove([WebhookDelegate])
    /// Deliveries are to be made again.
    case redelivered([WaitingDelivery])
    /// Deliveries have ended by request.
    case dropped([DeliveryKey])
    case replay(Replay)
    /// A replay has ended by request.
    case endReplay(Int64, DelegateKey)
    /// The contents of these events are gone.
    case erased(Set<LogPosition>)
    /// What is remembered of a subject is to be forgotten.
    case erasedSubject(String, AppKey)
    /// The log begins here now. `gone`: what was cut off, as far as a lane had still to come to it.
    case trimmed(first: LogPosition, gone: EventBatch)
    /// This is what a block of the log holds now.
    case counted(block: Int64, [AppBlock])
    case setEventType(EventTypeRecord)
    case removeEventType(String, AppKey)
    case setKey(APIKey)
    case removeKey(APIKey)
    case setSession(Session)
    case removeSession([UInt8])
    case setApp(App)
    case removeApp(App)
}
