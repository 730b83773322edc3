/// Whoever holds a part of the store's contents in memory, and is told of each committed change. The writer's thread.
struct WrittenMemory: Sendable {
    let registry: Registry
    let catalogue: EventTypeCatalogue
    let auth: AuthProjection
    let tail: Tail
    let loops: [DeliveryLoop]

    @Sendable
    func take(_ effect: WriteEffect) {
        switch effect {
        case .set(let delegate):
            registry.set(delegate)
            loops.owner(of: delegate.key).set(delegate)
        case .remove(let delegates):
            for delegate in delegates {
                registry.remove(delegate)
                loops.owner(of: delegate.key).remove(delegate.key)
            }
        case .redelivered(let deliveries):
            for delivery in deliveries { loops.owner(of: delivery.delegate).redeliver(delivery) }
        case .dropped(let deliveries):
            for delivery in deliveries { loops.owner(of: delivery.delegate).drop(delivery) }
        case .replay(let replay): loops.owner(of: replay.delegate).replay(replay)
        case .erased(let events):
            tail.erase(events)
            for loop in loops { loop.erase(events) }
        case .erasedSubject(let subject, let app): auth.forget(app, userID: AuthEvents.userID(ofSubject: subject))
        case .trimmed(let first):
            for loop in loops { loop.trim(first: first) }
        case .setEventType(let record): catalogue.set(record)
        case .removeEventType(let type, let app): catalogue.remove(type, app)
        }
    }
}

extension [DeliveryLoop] {
    /// The loop that owns a delegate's lane.
    func owner(of key: DelegateKey) -> DeliveryLoop { self[Recovery.loop(of: key, among: count)] }
}
