import HeraldModel

/// The first attempts of one delivery loop that publishers wait for. Confined to one thread.
final class AwaitedAttempts {
    private var watches: [DeliveryKey: DeliveryWatch] = [:]

    var isEmpty: Bool { watches.isEmpty }

    func expect(_ key: DeliveryKey, _ watch: DeliveryWatch) { watches[key] = watch }

    func report(_ key: DeliveryKey, _ delegate: WebhookDelegate, _ event: Event, _ outcome: CallbackOutcome) {
        guard !watches.isEmpty, let watch = watches.removeValue(forKey: key) else { return }
        watch.report(.init(delegate: delegate, event: event, outcome: outcome))
    }

    /// Reports that a delivery ended without an attempt.
    func withdraw(_ key: DeliveryKey) { watches.removeValue(forKey: key)?.withdraw() }

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
        watches = watches.filter { $0.value !== watch }
        watch.expire()
    }

    func expireAll() {
        for watch in watches.values { watch.expire() }
        watches = [:]
    }
}
