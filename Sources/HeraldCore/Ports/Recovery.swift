/// What a store held when the process started.
public struct Recovery: Sendable {
    /// The last event of the log, 0 when it is empty.
    public var head: LogPosition = 0
    /// The first event that is still there; `head + 1` when none is.
    public var first: LogPosition = 1
    /// The common position of all lanes without a row.
    public var settled: LogPosition = 0
    /// In the order of their keys.
    public var delegates: [WebhookDelegate] = []
    /// The key for the next delegate: larger than any that was ever used.
    public var nextDelegateKey: DelegateKey = 1
    public var lanes: [LanePosition] = []
    /// Those in state `retrying`, with their subjects.
    public var waiting: [WaitingDelivery] = []
    /// Deliveries beyond their lane's cursor (its row's, or the common one) that need nothing more: delivered, waiting
    /// in a row, or exhausted. So that a restart skips them.
    public var decided: [DeliveryKey] = []
    public var appStates: [AppState] = []
    /// Those that have not ended, oldest first.
    public var replays: [Replay] = []
    public var eventTypes: [EventTypeRecord] = []
    public var keys: [APIKey] = []
    /// Expired ones among them.
    public var sessions: [Session] = []
    /// Without `default`, unless somebody has changed it.
    public var apps: [App] = []
    /// The key for the next app: larger than any that was ever used.
    public var nextAppKey = AppKey(rawValue: AppKey.default.rawValue + 1)
    /// What each app has in each block of the log; those in which it has nothing are left out.
    public var blocks: [AppBlock] = []
    /// The same each time.
    public var secret = ServerSecret()
    /// The newest one.
    public var lastMark: LogMark?
    public init() {}
}
