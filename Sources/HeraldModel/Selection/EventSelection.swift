/// The events that a delegate gets: the conditions of a webhook, a stream or an object in the process.
///
/// This is the only place with the matching rules. Lanes evaluate them for each event before sending; dry runs,
/// backlogs, the story of an event and lists of pending deliveries use the same. An event matches if all of these
/// conditions hold, in this order:
///
/// 1. It belongs to its app.
/// 2. It has not been erased, and is not damaged.
/// 3. It is not addressed, or it is addressed to this delegate. An addressed event must also meet the other conditions.
/// 4. One of ``events`` matches its type.
/// 5. One of ``subjects`` matches its subject, or there are none.
/// 6. ``filter`` matches its content.
///
/// A value without I/O. Matching allocates nothing, unless a filter examines `data`, which is parsed then.
public struct EventSelection: Hashable, Sendable {
    /// The first condition that an event does not meet.
    package enum Mismatch: Hashable, Sendable, CaseIterable {
        /// It belongs to another app.
        case app
        /// Its content was erased.
        case erased
        /// Its bytes in the store are not those that were written.
        case damaged
        /// It is addressed to another delegate.
        case audience
        /// No pattern matches its type.
        case type
        /// No subject matches.
        case subject
        /// The content filter does not match; ``ContentFilter/mismatch(_:)`` names the clause.
        case filter
    }

    package var app: AppKey
    /// One of them must match the type.
    public var events: [EventPattern]
    /// Only events with these subjects; empty for all. A `*` at the end of one matches all subjects with this prefix.
    public var subjects: Set<String> {
        get { subjectSelection.patterns }
        set { subjectSelection = SubjectSelection(newValue) }
    }
    /// Only events whose content matches; `nil` for all.
    public var filter: ContentFilter?
    /// Events that are addressed to this delegate match, too; `nil` for none.
    let addressee: DelegateKey?
    /// ``subjects``, compiled.
    package private(set) var subjectSelection: SubjectSelection

    /// - Parameters:
    ///   - events: one of them must match the type. Herald's own events (`herald.…`) must be named.
    ///   - subjects: one of them must match, exactly or with `*` at the end for a prefix; empty for all.
    ///   - filter: must match the content; `nil` for all.
    public init(events: [EventPattern] = [.any], subjects: Set<String> = [], filter: ContentFilter? = nil) {
        self.init(app: .default, events: events, subjects: subjects, filter: filter)
    }

    package init(
        app: AppKey, events: [EventPattern] = [.any], subjects: Set<String> = [], filter: ContentFilter? = nil
    ) {
        self.init(app: app, events: events, SubjectSelection(subjects), filter: filter, addressee: nil)
    }

    /// - Parameter addressee: gets what is addressed to it; `nil` for none.
    package init(
        app: AppKey, events: [EventPattern], _ subjects: SubjectSelection, filter: ContentFilter? = nil,
        addressee: DelegateKey? = nil
    ) {
        self.app = app
        self.events = events
        self.filter = filter
        self.addressee = addressee
        subjectSelection = subjects
    }

    /// The errors, with the field names of the HTTP API.
    package var problems: [FieldError] { Self.problems(ofEvents: events, subjects: subjects.sorted()) }

    /// Whether one of the patterns matches a type, ignoring the other conditions.
    package func includes(type: String) -> Bool { events.contains { $0.matches(type) } }

    package func matches(_ view: EventView) -> Bool { mismatch(view) == nil }

    /// The first condition that fails; `nil` if the event matches.
    package func mismatch(_ view: EventView) -> Mismatch? { mismatch(view.event) { view } }

    /// - Parameters:
    ///   - isRouted: the ``Router`` has matched the event's type, so that the patterns are not evaluated again.
    ///   - view: called when a filter examines the event.
    @inline(__always)
    package func matches(_ event: Event, isRouted: Bool = false, _ view: () -> EventView) -> Bool {
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
