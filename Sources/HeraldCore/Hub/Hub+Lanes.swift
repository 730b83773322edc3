package import HeraldDelivery
package import HeraldModel

/// Where the lanes of webhooks are, in this process and in others.
extension Hub {
    /// The position and state of a webhook's lane, unless it is caught up and idle.
    package func lane(of delegate: WebhookDelegate) -> LaneSnapshots.Entry? {
        let key = delegate.key
        if delegate.settings.kind == .pull { return node.lanes.entry(key) }
        let board = loops.owner(of: key).board
        let own = board.position(key)
        if let entry = own == nil ? node.lanes.entry(key) : board.entry(key) { return entry }
        // Nothing is kept for a delegate that is gone.
        let position = max(own ?? node.lanes.position(key), delegate.start)
        guard position < head, delegate.status != .gone else { return nil }
        return LaneSnapshots.Entry(
            cursor: position, inFlight: 0, retrying: 0, replays: 0,
            flow: FlowStatus(concurrency: delegate.settings.maxInFlight), next: position + 1)
    }

    /// Whether the outcome of an event may not be in the store yet, for a webhook whose lane has no entry.
    package func isOnItsWay(_ sequence: LogPosition, to key: DelegateKey) -> Bool {
        if committed.registry.delegate(key: key)?.settings.kind == .pull { return false }
        let board = loops.owner(of: key).board
        return sequence > (board.position(key) == nil ? node.lanes.settled(key) : board.settled)
    }
}
