/// Whether a webhook would get an event, and if not, why.
package struct DeliveryExplanation: Sendable {
    /// The first condition that fails.
    package enum Refusal: Sendable {
        /// A condition of its selection.
        case selection(EventSelection.Mismatch)
        /// A clause of its content filter.
        case filter(FilterMismatch)
        /// It was registered after the event, without a replay of earlier ones.
        case start
        /// Nothing is sent to it: `pending_verification`, `disabled` or `gone`.
        case status
    }

    package let delegate: WebhookDelegate
    /// `nil` if the event would be sent; for a paused delegate, once it is resumed.
    package let refusal: Refusal?

    /// - Parameter sequence: of the event in the log; none for an event that is not in it.
    package init(_ delegate: WebhookDelegate, _ view: EventView, at sequence: LogPosition = .max) {
        self.delegate = delegate
        refusal = Self.refusal(delegate, view, sequence)
    }

    private static func refusal(
        _ delegate: WebhookDelegate, _ view: EventView, _ sequence: LogPosition
    ) -> Refusal? {
        if let mismatch = delegate.selection.mismatch(view) {
            guard mismatch == .filter, let clause = delegate.selection.filter?.firstMismatch(view) else {
                return .selection(mismatch)
            }
            return .filter(clause)
        }
        if sequence <= delegate.floor { return .start }
        return delegate.status == .active || delegate.status == .paused ? nil : .status
    }

    /// The first clause that fails, as a JSON pointer into the webhook; `nil` if none does, or if it is no setting.
    package var clause: String? {
        switch refusal {
        case .selection(.type): "/events"
        case .selection(.subject): "/subjects"
        case .selection(.filter): "/filter"
        case .filter(let mismatch): "/filter" + mismatch.pointer
        case .start: "/start"
        case .status: "/status"
        case nil, .selection: nil
        }
    }

    /// Why the webhook does not get the event; or that it gets it later.
    package var reason: String? {
        switch refusal {
        case nil: delegate.status == .paused ? Reason.onceResumed() : nil
        case .selection(.type): Reason.otherType()
        case .selection(.subject): Reason.otherSubject()
        case .selection(.filter): Reason.filtered()
        case .selection(.app): Reason.otherApp()
        case .selection(.erased): Reason.erased()
        case .selection(.damaged): Reason.damaged()
        case .selection(.audience): Reason.otherAudience()
        case .filter(let mismatch): Reason.mismatch(mismatch.expected, mismatch.found)
        case .start: Reason.publishedBefore()
        case .status: Reason.nothingSent(delegate.status.rawValue)
        }
    }
}
