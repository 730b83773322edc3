/// What a store held when the process started.
package struct Recovery: Sendable {
    /// The last event of the log, 0 when it is empty.
    package var head: LogPosition = 0
    /// The first event that is still there; `head + 1` when none is.
    package var first: LogPosition = 1
    /// The common position of all lanes without a row.
    package var settled: LogPosition = 0
    /// In the order of their keys.
    package var delegates: [WebhookDelegate] = []
    /// The key for the next delegate: larger than any that was ever used.
    package var nextDelegateKey: DelegateKey = 1
    package var lanes: [LanePosition] = []
    /// Those in state `retrying`, with their subjects.
    package var waiting: [WaitingDelivery] = []
    /// Deliveries beyond their lane's cursor (its row's, or the common one) that need nothing more: delivered, waiting
    /// in a row, or exhausted. So that a restart skips them.
    package var decided: [DeliveryKey] = []
    package var appStates: [AppState] = []
    /// Those that have not ended, oldest first.
    package var replays: [Replay] = []
    package var eventTypes: [EventTypeRecord] = []
    package var keys: [APIKey] = []
    /// Expired ones among them.
    package var sessions: [Session] = []
    /// Without `default`, unless somebody has changed it.
    package var apps: [App] = []
    /// The key for the next app: larger than any that was ever used.
    package var nextAppKey = AppKey(rawValue: AppKey.default.rawValue + 1)
    /// What each app has in each block of the log; those in which it has nothing are left out.
    package var blocks: [AppBlock] = []
    /// The same each time.
    package var secret = ServerSecret()
    /// The newest one.
    package var lastMark: LogMark?
    package init() {}
}
