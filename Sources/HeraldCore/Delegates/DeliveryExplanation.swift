/// Whether a webhook would get an event, and if not, why.
package struct DeliveryExplanation: Sendable {
    /// The first condition that fails.
    package enum Refusal: Sendable {
        /// A condition of its selection.
        case selection(EventSelection.Mismatch)
        /// A clause of its content filter.
        case filter(FilterMismatch)
        /// Nothing is sent to it: `pending_verification`, `disabled` or `gone`.
        case status
    }

    package let delegate: WebhookDelegate
    /// `nil` if the event would be sent; for a paused delegate, once it is resumed.
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
