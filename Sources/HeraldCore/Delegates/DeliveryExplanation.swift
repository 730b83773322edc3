/// Whether a webhook would be told of an event, and what says no.
package struct DeliveryExplanation: Sendable {
    /// The first thing that says no.
    package enum Refusal: Sendable {
        /// A condition of its selection.
        case selection(EventSelection.Mismatch)
        /// A clause of its content filter.
        case filter(FilterMismatch)
        /// It is told of nothing: `pending_verification`, `disabled` or `gone`.
        case status
    }

    package let delegate: WebhookDelegate
    /// `nil`: it would be told; a paused one once it is resumed.
    package let refusal: Refusal?

    init(_ delegate: WebhookDelegate, _ view: EventView) {
        self.delegate = delegate
        refusal = Self.refusal(delegate, view)
    }

    private static func refusal(_ delegate: WebhookDelegate, _ view: EventView) -> Refusal? {
        if let mismatch = delegate.selection.mismatch(view) {
            guard mismatch == .filter, let clause = delegate.selection.filter?.firstMismatch(view) else {
                return .selection(mismatch)
            }
            return .filter(clause)
        }
        return delegate.status == .active || delegate.status == .paused ? nil : .status
    }
}
