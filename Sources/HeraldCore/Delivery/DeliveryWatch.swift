import Synchronization

/// Who waits until every delegate of some events has been told once: `Prefer: wait`.
///
/// Events carry it from the publisher to the delivery loops. Each loop says which delegates it tells of an event when it
/// routes it, and how each first attempt ended. The lock guards the count of what is missing.
package final class DeliveryWatch: Sendable {
    /// The first attempt of one delivery.
    package struct Report: Sendable {
        package let delegate: WebhookDelegate
        package let event: Event
        package let outcome: CallbackOutcome
    }

    private struct State {
        /// Routings that loops have still to make, and deliveries whose first attempt has not ended.
        var missing: Int
        var reports: [Report] = []
        var completion: (@Sendable ([Report]?) -> Void)?
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - events: the number of events that will carry it, ≥ 1.
    ///   - loops: how many loops route each.
    ///   - completion: called once, on a loop's thread: with all outcomes, or with `nil` when the time is up.
    init(events: Int, loops: Int, completion: @escaping @Sendable ([Report]?) -> Void) {
        state = Mutex(State(missing: events * loops, completion: completion))
    }

    /// A loop has routed one of the events to so many lanes that will be told.
    func routed(to lanes: Int) { settle { $0.missing += lanes - 1 } }

    func report(_ report: Report) {
        settle {
            $0.missing -= 1
            $0.reports.append(report)
        }
    }

    /// A delivery that was expected ends without an attempt.
    func withdraw() { settle { $0.missing -= 1 } }

    /// Nobody waits any longer.
    func expire() {
        let completion = state.withLock { state in
            defer { state.completion = nil }
            return state.completion
        }
        completion?(nil)
    }

    private func settle(_ change: (inout State) -> Void) {
        let finished = state.withLock { state -> (@Sendable ([Report]?) -> Void, [Report])? in
            change(&state)
            guard state.missing == 0, let completion = state.completion else { return nil }
            state.completion = nil
            return (completion, state.reports)
        }
        if let (completion, reports) = finished { completion(reports) }
    }
}

/// The first attempts that somebody waits for, of one delivery loop. One thread.
final class AwaitedAttempts {
    private var watches: [DeliveryKey: DeliveryWatch] = [:]

    var isEmpty: Bool { watches.isEmpty }

    func expect(_ key: DeliveryKey, _ watch: DeliveryWatch) { watches[key] = watch }

    func report(_ key: DeliveryKey, _ delegate: WebhookDelegate, _ event: Event, _ outcome: CallbackOutcome) {
        guard !watches.isEmpty, let watch = watches.removeValue(forKey: key) else { return }
        watch.report(.init(delegate: delegate, event: event, outcome: outcome))
    }

    /// A delivery ends without an attempt.
    func withdraw(_ key: DeliveryKey) { watches.removeValue(forKey: key)?.withdraw() }

    func withdraw(where isOver: (DeliveryKey) -> Bool) {
        if watches.isEmpty { return }
        for key in watches.keys where isOver(key) { withdraw(key) }
    }

    /// Nothing is told for now: who waits for a delivery that is not under way waits no longer.
    func withdrawUnopened(_ lane: Lane) {
        let key = lane.key
        withdraw { $0.delegate == key && !lane.hasOpen($0.event) }
    }

    /// Nobody waits any longer.
    func expire(_ watch: DeliveryWatch) {
        watches = watches.filter { $0.value !== watch }
        watch.expire()
    }

    func expireAll() {
        for watch in watches.values { watch.expire() }
        watches = [:]
    }
}
