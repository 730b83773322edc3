package import HeraldModel
package import HeraldRuntime
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
            // Many may wait for the last one: without what no response shows.
            var verdict = outcome.verdict
            if case .failed(let failure, _) = verdict { verdict = .failed(failure, detail: "") }
            var shown = CallbackOutcome(verdict: verdict, duration: outcome.duration)
            shown.control = outcome.control
            self.outcome = shown
        }
    }

    /// With more deliveries, or without room for them, the wait ends at once, as if the time had expired: memory holds the reports of
    /// all of them, and the response lists them.
    static let maxDeliveries = 2_000
    /// For one delivery: its entry, and its outcome until all others are there.
    static let deliveryBytes = 512

    private struct State {
        var deliveries = 0
        /// The bytes of the room.
        var taken: Int
        /// Number of routings and first attempts that have not ended.
        var missing: Int
        var reports: [Report] = []
        var completion: (@Sendable ([Report]?) -> Void)?
    }

    private let state: Mutex<State>
    /// `nil` for any number of deliveries.
    private let room: ByteRoom<AppKey>?
    private let app: AppKey

    /// - Parameters:
    ///   - events: the number of watched events, ≥ 1.
    ///   - routers: the number of those who report how many deliveries each event has.
    ///   - room: has the bytes of the publication, and gets the deliveries; all is given back when the wait ends.
    ///   - taken: the bytes of the publication.
    ///   - completion: called once on one of their threads, with all outcomes, or with `nil` when the time has expired.
    package init(
        events: Int, routers: Int, room: ByteRoom<AppKey>? = nil, taken: Int = 0, app: AppKey = .default,
        completion: @escaping @Sendable ([Report]?) -> Void
    ) {
        self.room = room
        self.app = app
        state = Mutex(State(taken: taken, missing: events * routers, completion: completion))
    }

    /// Whether the wait has ended.
    package var isOver: Bool { state.withLock { $0.completion == nil } }

    /// Reports that one of the events was routed to this number of receiving lanes.
    package func routed(to lanes: Int) {
        let areTooMany = state.withLock { state in
            guard state.completion != nil else { return false }
            state.deliveries += lanes
            if state.deliveries > Self.maxDeliveries { return true }
            let bytes = lanes * Self.deliveryBytes
            guard let room, bytes > 0 else { return false }
            guard room.take(bytes, of: app, besides: state.taken) else { return true }
            state.taken += bytes
            return false
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
            return end(&state)
        }
        completion?(nil)
    }

    private func end(_ state: inout State) -> (@Sendable ([Report]?) -> Void)? {
        if state.taken > 0 { room?.give(back: state.taken, of: app) }
        state.taken = 0
        return state.completion.take()
    }

    private func settle(_ change: (inout State) -> Void) {
        let finished = state.withLock { state -> (@Sendable ([Report]?) -> Void, [Report])? in
            change(&state)
            guard state.missing == 0, let completion = end(&state) else { return nil }
            // The recent events hold the watch, and so does a timer until its time is up.
            defer { state.reports = [] }
            return (completion, state.reports)
        }
        if let (completion, reports) = finished { completion(reports) }
    }
}
