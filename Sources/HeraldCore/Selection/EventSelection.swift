/// Which events a delegate is told of: what a webhook, a stream or an object of the process chooses.
///
/// This is the one rule about it. Lanes ask it for each event that they may send; dry runs, backlogs, the story of an
/// event and lists of pending deliveries ask the same. An event matches when all of these agree, in this order:
///
/// 1. It belongs to its app.
/// 2. It has not been erased, and is not damaged.
/// 3. It is addressed to nobody, or to this delegate. An addressed event is matched like any other beside that.
/// 4. One of ``events`` matches its type.
/// 5. One of ``subjects`` matches its subject, or there are none.
/// 6. ``filter`` matches its content.
///
/// A value without I/O. Matching allocates nothing; only a filter that looks at `data` has it parsed.
public struct EventSelection: Hashable, Sendable {
    /// The first condition that an event does not meet.
    package enum Mismatch: Hashable, Sendable, CaseIterable {
        /// It belongs to another app.
        case app
        /// What it said was erased.
        case erased
        /// Its bytes in the store are not those that were written.
        case damaged
        /// It is addressed to another delegate.
        case audience
        /// No pattern matches its type.
        case type
        /// It is about none of the subjects.
        case subject
        /// The content filter doesn't match; ``ContentFilter/mismatch(_:)`` says which clause of it.
        case filter
    }

    package var app: AppKey
    /// One of them has to match the type.
    public var events: [EventPattern]
    /// Only events about these; empty: any. A `*` at the end of one matches any that begins like it.
    public var subjects: Set<String> {
        get { subjectSelection.patterns }
        set { subjectSelection = SubjectSelection(newValue) }
    }
    /// Only events whose content matches; `nil`: any.
    public var filter: ContentFilter?
    /// Events that are addressed to this delegate match, too; `nil`: none that is addressed.
    let addressee: DelegateKey?
    /// ``subjects``, compiled.
    private(set) var subjectSelection: SubjectSelection

    /// - Parameters:
    ///   - events: any of these types. Herald's own (`herald.…`) only when they are named.
    ///   - subjects: any of these subjects, exact or with `*` at the end for a prefix; empty: any.
    ///   - filter: what the content has to match; `nil`: anything.
    public init(events: [EventPattern] = [.any], subjects: Set<String> = [], filter: ContentFilter? = nil) {
        self.init(app: .default, events: events, subjects: subjects, filter: filter)
    }

    package init(
        app: AppKey, events: [EventPattern] = [.any], subjects: Set<String> = [], filter: ContentFilter? = nil
    ) {
        self.app = app
        self.events = events
        self.filter = filter
        addressee = nil
        subjectSelection = SubjectSelection(subjects)
    }

    /// What a webhook with these settings is told of.
    init(_ settings: WebhookSettings, app: AppKey, addressee: DelegateKey) {
        self.app = app
        self.addressee = addressee
        events = settings.events
        filter = settings.filter
        subjectSelection = SubjectSelection(settings.subjects)
    }

    /// Whether one of the patterns matches a type, whatever the other conditions say.
    package func includes(type: String) -> Bool { events.contains { $0.matches(type) } }

    package func matches(_ view: EventView) -> Bool { mismatch(view) == nil }

    /// The first condition that the event does not meet; `nil`: it matches.
    package func mismatch(_ view: EventView) -> Mismatch? { mismatch(view.event) { view } }

    /// - Parameters:
    ///   - isRouted: the ``Router`` has found the delegate by the event's type: the patterns are not asked again.
    ///   - view: called when a filter looks at the event.
    @inline(__always)
    func matches(_ event: Event, isRouted: Bool = false, _ view: () -> EventView) -> Bool {
        mismatch(event, isRouted: isRouted, view) == nil
    }

    @inline(__always)
    private func mismatch(_ event: Event, isRouted: Bool = false, _ view: () -> EventView) -> Mismatch? {
        if event.app != app { return .app }
        if event.isErased { return .erased }
        if event.isDamaged { return .damaged }
        if let audience = event.audience, audience != addressee { return .audience }
        if !isRouted, !includes(type: event.type) { return .type }
        if !subjectSelection.contains(event.subject) { return .subject }
        if let filter, !filter.matches(view()) { return .filter }
        return nil
    }
}

/// A stream chooses as a webhook does.
extension EventSelection: StreamInterest {
    package func wants(_ event: Event) -> Bool { matches(event) { EventView(event) } }
}
