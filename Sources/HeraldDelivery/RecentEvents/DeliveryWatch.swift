package import HeraldModel
import Synchronization

/// Waits until the first attempt of every delivery of some events has ended: `Prefer: wait`.
///
/// The publication carries it to the writer, and the recent events keep it for the delivery loops. Each loop reports the
/// number of its deliveries when it routes an event, and the outcome of each first attempt. For the delegates of other
/// nodes, `OtherOutcomes` does so. The lock guards the number of missing reports.
package final class DeliveryWatch: Sendable {
    /// The first attempt of one delivery.
    package struct Report: Sendable {
        package let delegate: WebhookDelegate
        package let event: Event
        package let outcome: CallbackOutcome

        package init(delegate: WebhookDelegate, event: Event, outcome: CallbackOutcome) {
            self.delegate = delegate
            self.event = event
            self.outcome = outcome
        }
    }

    /// With more deliveries the wait ends at once, as if the time had expired: memory holds the reports of all of them, and the
    /// response lists them.
    static let maxDeliveries = 2_000

    private struct State {
        var deliveries = 0
        /// Number of routings and first attempts that have not ended.
        var missing: Int
        var reports: [Report] = []
        var completion: (@Sendable ([Report]?) -> Void)?
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - events: the number of watched events, ≥ 1.
    ///   - routers: the number of those who report how many deliveries each event has.
    ///   - completion: called once on one of their threads, with all outcomes, or with `nil` when the time has expired.
    package init(events: Int, routers: Int, completion: @escaping @Sendable ([Report]?) -> Void) {
        state = Mutex(State(missing: events * routers, completion: completion))
    }

    /// Whether the wait has ended.
    package var isOver: Bool { state.withLock { $0.completion == nil } }

    /// Reports that one of the events was routed to this number of receiving lanes.
    package func routed(to lanes: Int) {
        let areTooMany = state.withLock { state in
            state.deliveries += lanes
            return state.deliveries > Self.maxDeliveries
        }
        if areTooMany { expire() }
        settle { $0.missing += lanes - 1 }
    }

    package func report(_ report: Report) {
        settle {
            $0.missing -= 1
            if $0.completion != nil { $0.reports.append(report) }
        }
    }

    /// Reports that an expected delivery ended without an attempt.
    package func withdraw() { settle { $0.missing -= 1 } }

    /// Ends the wait. Any thread.
    package func expire() {
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
            // The recent events hold the watch, and so does a timer until its time is up.
            defer { state.reports = [] }
            return (completion, state.reports)
        }
        if let (completion, reports) = finished { completion(reports) }
    }
}
