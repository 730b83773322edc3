/// The content of a store at the start of the process.
package struct Recovery: Sendable {
    /// The last event of the log, 0 if it is empty.
    package var head: LogPosition = 0
    /// The first remaining event; `head + 1` if there is none.
    package var first: LogPosition = 1
    /// The common position of all lanes without a row.
    package var settled: LogPosition = 0
    /// In the order of their keys.
    package var delegates: [WebhookDelegate] = []
    /// The key for the next delegate: larger than any key used before.
    package var nextDelegateKey: DelegateKey = 1
    package var lanes: [LanePosition] = []
    /// Those in state `retrying`, with their subjects.
    package var waiting: [WaitingDelivery] = []
    /// Deliveries beyond their lane's cursor (its row's, or the common one) that need nothing more: delivered, waiting
    /// in a row, or exhausted. So a restart skips them.
    package var decided: [DeliveryKey] = []
    package var appStates: [AppState] = []
    /// The missed deliveries of each delegate that were not announced yet.
    package var unannounced: [DelegateKey: Int] = [:]
    /// Replays that have not ended, oldest first.
    package var replays: [Replay] = []
    package var eventTypes: [EventTypeRecord] = []
    package var keys: [APIKey] = []
    /// Including expired ones.
    package var sessions: [Session] = []
    /// Without `default`, unless it was changed.
    package var apps: [App] = []
    /// The key for the next app: larger than any key used before.
    package var nextAppKey = AppKey(rawValue: AppKey.default.rawValue + 1)
    /// The counts of each app in each block of the log, without empty ones.
    package var blocks: [AppBlock] = []
    /// The same at each start.
    package var secret = ServerSecret()
    /// The newest one.
    package var lastMark: LogMark?
    package init() {}
}
