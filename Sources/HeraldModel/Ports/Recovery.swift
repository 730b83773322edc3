/// The content of a store at the start of the process, without the lanes.
package struct Recovery: Sendable {
    /// The last event of the log, 0 if it is empty.
    package var head: LogPosition = 0
    /// The first remaining event; `head + 1` if there is none.
    package var first: LogPosition = 1
    /// In the order of their keys.
    package var delegates: [WebhookDelegate] = []
    /// The key for the next delegate: larger than any key used before.
    package var nextDelegateKey: DelegateKey = 1
    package var appStates: [AppStateVersion] = []
    package var eventTypes: [EventTypeSummary] = []
    package var keys: [APIKey] = []
    /// Including expired ones.
    package var sessions: [Session] = []
    /// Without `default`, unless it was changed.
    package var apps: [App] = []
    /// The key for the next app: larger than any key used before.
    package var nextAppKey = AppKey(rawValue: AppKey.default.rawValue + 1)
    /// The counts of each app in each block of the log, without empty ones.
    package var blocks: [AppBlock] = []
    /// A secret that is kept over restarts.
    package var secret = ServerSecret()
    /// The last one in the list of changes of a shared store, which everything here includes; 0 before the first.
    package var lastChange: Int64 = 0
    /// Without counts of 0.
    package var pending: [PendingCount] = []
    /// The newest one.
    package var lastMark: LogMark?
    package init() {}
}

/// The lanes of some shards, as the last process that had them has left them.
package struct LaneRecovery: Sendable {
    package var settled = SettledPositions(0)
    /// The lanes that are not at the position of their shard.
    package var lanes: [LanePosition] = []
    /// The deliveries in state `retrying`, with their subjects, of delegates that have at most `maxRows`. In any order.
    package var waiting: [WaitingDelivery] = []
    /// The deliveries in state `retrying` of the other delegates, which are only counted.
    package var crowded: [DelegateKey: LaneBacklog] = [:]
    /// Deliveries beyond their lane's cursor (its row's, or the position of its shard) that need nothing more: delivered,
    /// waiting in a row, or exhausted. So a restart skips them. Replays and redeliveries beyond the position of a lane with a row
    /// do not count: the lane makes the deliveries of their events, too.
    package var decided: [DeliveryKey] = []
    /// The rows of such redeliveries that have ended without success.
    package var givenUp: [DeliveryKey] = []
    /// Replays that have not ended, oldest first.
    package var replays: [Replay] = []
    /// The missed deliveries of each delegate that were not announced yet.
    package var unannounced: [DelegateKey: Int] = [:]
    package init() {}
}

extension LaneRecovery {
    /// Only what belongs to these shards, and to the work of the housekeeper if that is among them.
    package func of(_ shards: Shards) -> LaneRecovery {
        if shards == .all { return self }
        var part = self
        part.lanes.removeAll { !shards.contains($0.delegate) }
        part.waiting.removeAll { !shards.contains($0.delegate) }
        part.crowded = crowded.filter { shards.contains($0.key) }
        part.decided.removeAll { !shards.contains($0.delegate) }
        part.givenUp.removeAll { !shards.contains($0.delegate) }
        part.replays.removeAll { !shards.contains($0.delegate) }
        // The last housekeeper has counted those of all pull delegates.
        if !shards.contains(.housekeeper) { part.unannounced = unannounced.filter { shards.contains($0.key) } }
        return part
    }
}
