import HeraldModel

/// The first attempts of one delivery loop that publishers wait for. Confined to one thread.
final class AwaitedAttempts {
    /// The deliveries of one watch.
    private struct Deliveries {
        private(set) var keys: [DeliveryKey] = []
        /// Number of those that have not ended.
        var left = 0

        mutating func append(_ key: DeliveryKey) {
            keys.append(key)
            left += 1
        }
    }

    private var watches: [DeliveryKey: DeliveryWatch] = [:]
    /// For each watch that has some in `watches`, so that the end of a wait examines no deliveries of others.
    private var deliveries: [ObjectIdentifier: Deliveries] = [:]
    /// Another loop may have ended a watch. Its deliveries are removed when there are so many: their number doubles between two
    /// removals.
    private var maxWatches = 4_096

    var isEmpty: Bool { watches.isEmpty }

    func expect(_ key: DeliveryKey, _ watch: DeliveryWatch) {
        watches[key] = watch
        deliveries[ObjectIdentifier(watch), default: Deliveries()].append(key)
        guard watches.count > maxWatches else { return }
        for key in watches.filter({ $0.value.isOver }).keys { _ = remove(key) }
        maxWatches = max(4_096, 2 * watches.count)
    }

    private func remove(_ key: DeliveryKey) -> DeliveryWatch? {
        guard let watch = watches.removeValue(forKey: key) else { return nil }
        let id = ObjectIdentifier(watch)
        deliveries[id]?.left -= 1
        if deliveries[id]?.left == 0 { deliveries[id] = nil }
        return watch
    }

    func report(_ key: DeliveryKey, _ delegate: WebhookDelegate, _ event: Event, _ outcome: CallbackOutcome) {
        guard !watches.isEmpty, let watch = remove(key) else { return }
        watch.report(.init(delegate: delegate, event: event, outcome: outcome))
    }

    /// Reports that a delivery ended without an attempt.
    func withdraw(_ key: DeliveryKey) { remove(key)?.withdraw() }

    func withdraw(where isOver: (DeliveryKey) -> Bool) {
        if watches.isEmpty { return }
        for key in watches.keys where isOver(key) { withdraw(key) }
    }

    /// Withdraws the deliveries of a lane that makes none for now, except those with an open attempt.
    func withdrawUnopened(_ lane: Lane) {
        let key = lane.key
        withdraw { $0.delegate == key && !lane.hasOpen($0.event) }
    }

    /// Ends the wait of a publisher.
    func expire(_ watch: DeliveryWatch) {
        for key in deliveries.removeValue(forKey: ObjectIdentifier(watch))?.keys ?? [] where watches[key] === watch {
            watches[key] = nil
        }
        watch.expire()
    }

    func expireAll() {
        for watch in watches.values { watch.expire() }
        watches = [:]
        deliveries = [:]
    }
}
