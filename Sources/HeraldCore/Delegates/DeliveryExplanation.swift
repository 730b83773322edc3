/// Whether a webhook would be told of an event, and what says no.
public struct DeliveryExplanation: Sendable {
    /// The first thing that says no.
    public enum Refusal: Sendable {
        /// None of its patterns matches the type.
        case events
        /// The event is about none of its subjects.
        case subjects
        /// A clause of its content filter.
        case filter(FilterMismatch)
        /// It is told of nothing: `pending_verification`, `disabled` or `gone`.
        case status
    }

    public let delegate: WebhookDelegate
    /// `nil`: it would be told; a paused one once it is resumed.
    public let refusal: Refusal?

    init(_ delegate: WebhookDelegate, _ view: EventView) {
        self.delegate = delegate
        refusal = Self.refusal(delegate, view)
    }

    private static func refusal(_ delegate: WebhookDelegate, _ view: EventView) -> Refusal? {
        let settings = delegate.settings
        guard settings.events.contains(where: { $0.matches(view.event.type) }) else { return .events }
        guard SubjectSelection(settings.subjects).contains(view.event.subject) else { return .subjects }
        if let mismatch = settings.filter?.mismatch(view) { return .filter(mismatch) }
        return delegate.status == .active || delegate.status == .paused ? nil : .status
    }
}
