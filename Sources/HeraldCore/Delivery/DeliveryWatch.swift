import Synchronization

/// Waits until the first attempt of every delivery of some events has ended: `Prefer: wait`.
///
/// The events carry it from the publisher to the delivery loops. Each loop reports the number of its deliveries when it
/// routes an event, and the outcome of each first attempt; `OtherOutcomes` does so for the delegates of other processes. The lock guards the number of missing reports.
package final class DeliveryWatch: Sendable {
    /// The first attempt of one delivery.
    package struct Report: Sendable {
        package let delegate: WebhookDelegate
        package let event: Event
        package let outcome: CallbackOutcome
    }

    private struct State {
        /// Number of routings and first attempts that have not ended.
        var missing: Int
        var reports: [Report] = []
        var completion: (@Sendable ([Report]?) -> Void)?
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - events: the number of events that will carry the watch, ≥ 1.
    ///   - routers: the number of those who report how many deliveries each event has.
    ///   - completion: called once on one of their threads, with all outcomes, or with `nil` when the time has expired.
    init(events: Int, routers: Int, completion: @escaping @Sendable ([Report]?) -> Void) {
        state = Mutex(State(missing: events * routers, completion: completion))
    }

    /// Whether nobody waits any more.
    var isOver: Bool { state.withLock { $0.completion == nil } }

    /// Reports that one of the events was routed to this number of receiving lanes.
    func routed(to lanes: Int) { settle { $0.missing += lanes - 1 } }

    func report(_ report: Report) {
        settle {
            $0.missing -= 1
            if $0.completion != nil { $0.reports.append(report) }
        }
    }

    /// Reports that an expected delivery ended without an attempt.
    func withdraw() { settle { $0.missing -= 1 } }

    /// Ends the wait.
    func expire() {
        let completion = state.withLock { state in
            state.reports = []
            return state.completion.take()
        }
        completion?(nil)
    }

    private func settle(_ change: (inout State) -> Void) {
        let finished = state.withLock { state -> (@Sendable ([Report]?) -> Void, [Report])? in
            change(&state)
            guard state.missing == 0, let completion = state.completion.take() else { return nil }
            // The events hold the watch, and so does a timer until its time is up.
            defer { state.reports = [] }
            return (completion, state.reports)
        }
        if let (completion, reports) = finished { completion(reports) }
    }
}

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
