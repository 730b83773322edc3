package import HeraldModel

/// Which past events to send to a webhook again.
package struct ReplayPlan: Sendable {
    package enum Only: String, Sendable, CaseIterable {
        /// All that match, as if they were published again.
        case all
        /// Only those whose delivery has ended without success.
        case failed
    }

    package let from: PositionInput
    package let until: PositionInput
    package let only: Only

    package init(from: PositionInput, until: PositionInput, only: Only) {
        self.from = from
        self.until = until
        self.only = only
    }

    /// The errors that are found without reading the log.
    package var errors: [FieldError] {
        if case .time(let first) = from, case .time(let last) = until, last < first { return [Self.isReversed] }
        return []
    }

    private static let isReversed = FieldError("/until", "is before from")

    /// The write and the number of events to send. A reader's thread.
    /// - Parameter isDryRun: whether what the write would refuse is refused here.
    package func action(
        for delegate: WebhookDelegate, isDryRun: Bool = false, _ hub: Hub, _ reader: any StoreReader
    ) throws -> (action: DeliveryWrite.Action, backlog: Backlog) {
        // Otherwise by the write, after it has searched for the response to an earlier request with the same key.
        if isDryRun { try hub.check(.replay(delegateID: delegate.id, after: 0, until: nil), of: delegate.app) }
        let head = hub.head
        let first = try from.first(in: reader, app: delegate.app, head: head, pointer: "/from")
        let last = try until.last(in: reader, app: delegate.app, head: head, pointer: "/until")
        if last + 1 < first { throw HubError.invalid([Self.isReversed]) }
        guard first <= last else {
            // A write of nothing, so that a repetition of the request gets the same response.
            var nothing = DeliveryQuery(WaitingDelivery.State.ended, to: delegate)
            nothing.events = .max ... .max
            return (.redeliver(nothing), Backlog())
        }
        switch only {
        case .all:
            let backlog = try BacklogCounter(hub, reader).count(delegate, after: first - 1, through: last)
            return (.replay(delegateID: delegate.id, after: first - 1, until: last), backlog)
        case .failed:
            var query = DeliveryQuery(WaitingDelivery.State.ended, to: delegate)
            query.events = first...last
            query.limit = DeliveryWrite.maxDeliveries
            var backlog = Backlog()
            backlog.events = Int64(min(try reader.countDeliveries(query), query.limit))
            return (.redeliver(query), backlog)
        }
    }
}
