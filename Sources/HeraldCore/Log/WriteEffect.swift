/// A change of a committed transaction, for the components that keep a part of the store in memory. In order.
enum WriteEffect: Sendable {
    case set(WebhookDelegate)
    case remove([WebhookDelegate])
    /// Deliveries are to be repeated.
    case redelivered([WaitingDelivery])
    /// Deliveries were ended by request.
    case dropped([DeliveryKey])
    case replay(Replay)
    /// A replay was ended by request.
    case endReplay(Int64, DelegateKey)
    /// The contents of these events were removed.
    case erased(Set<LogPosition>)
    /// Remembered data of this subject must be discarded.
    case erasedSubject(String, AppKey)
    /// The new first position of the log.
    case trimmed(first: LogPosition)
    /// The new counts of a block of the log.
    case counted(block: Int64, [AppBlock])
    /// Attempts were recorded, which take about this much.
    case recordedAttempts(bytes: Int)
    case setEventType(EventTypeRecord)
    case removeEventType(String, AppKey)
    case setKey(APIKey)
    case removeKey(APIKey)
    case setSession(Session)
    case removeSession([UInt8])
    case setApp(App)
    case removeApp(App)
}
