/// Updates the components that keep a part of the store's contents in memory, after each commit. The writer's thread.
struct CommitObserver: Sendable {
    let registry: Registry
    let catalogue: EventTypeCatalogue
    let keys: KeyRing
    let apps: AppCatalogue
    let sessions: SessionStore
    let auth: AuthProjection
    let recentEvents: RecentEvents
    let usage: LogUsage
    /// Called with about what the attempts of a commit take, in bytes.
    let recordedAttempts: @Sendable (Int) -> Void
    let loops: Int
    /// Sends a message to one of the delivery loops, by its number.
    let tell: @Sendable (_ loop: Int, LoopMessage) -> Void

    @Sendable
    func take(_ effect: WriteEffect) {
        switch effect {
        case .set(let delegate):
            registry.set(delegate)
            tell(delegate.key, .set(delegate))
        case .remove(let delegates):
            for delegate in delegates {
                registry.remove(delegate)
                tell(delegate.key, .remove(delegate.key))
            }
        case .redelivered(let deliveries):
            for delivery in deliveries { tell(delivery.delegate, .redeliver(delivery)) }
        case .dropped(let deliveries):
            for delivery in deliveries { tell(delivery.delegate, .drop(delivery)) }
        case .known(let change):
            for loop in 0..<loops { tell(loop, .known(change: change)) }
        case .replay(let replay): tell(replay.delegate, .replay(replay))
        case .endReplay(let id, let delegate): tell(delegate, .endReplay(id, delegate))
        case .erased(let events):
            recentEvents.erase(events)
            for loop in 0..<loops { tell(loop, .erase(events)) }
        case .erasedStatuses(let app): auth.forget(app)
        case .counted(let block, let found): usage.set(block, found)
        case .trimmed(let first): usage.trim(first: first)
        case .recordedAttempts(let bytes): recordedAttempts(bytes)
        case .setEventType(let record): catalogue.set(EventTypeSummary(record))
        case .removeEventType(let type, let app): catalogue.remove(type, app)
        case .setKey(let key): keys.set(key)
        case .removeKey(let key): keys.remove(key.id)
        case .setSession(let session): sessions.set(session)
        case .removeSession(let digest): sessions.remove(digest)
        case .setApp(let app): apps.set(app)
        case .removeApp(let app): apps.remove(app)
        }
    }

    /// Sends a message to the loop that owns the delegate's lane.
    private func tell(_ key: DelegateKey, _ message: LoopMessage) {
        tell(Shards.loop(of: key, among: loops), message)
    }
}
