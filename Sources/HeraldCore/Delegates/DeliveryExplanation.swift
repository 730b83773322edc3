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
    init(_ delegate: WebhookDelegate, _ view: EventView, at sequence: LogPosition = .max) {
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
        if sequence <= delegate.start { return .start }
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
        case nil: delegate.status == .paused ? "once it is resumed" : nil
        case .selection(.type): "none of its patterns matches the type"
        case .selection(.subject): "the event is about none of its subjects"
        case .selection(.filter): "it does not match the event"
        case .selection(.app): "the event belongs to another app"
        case .selection(.erased): "the event has been erased"
        case .selection(.damaged): "the event is damaged in the database"
        case .selection(.audience): "the event is addressed to another delegate"
        case .filter(let mismatch): "expected \(mismatch.expected), found \(mismatch.found)"
        case .start: "the event was published before it was registered"
        case .status: "it is \(delegate.status.rawValue): nothing is sent"
        }
    }
}
