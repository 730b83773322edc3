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
    ///   - events: how many will carry it, ≥ 1.
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
