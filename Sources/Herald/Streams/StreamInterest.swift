/// What a stream tells of. Streams that ask for the same share what is found out for one of them.
public struct StreamInterest: Hashable, Sendable {
    public let app: AppKey
    /// Any of them.
    public let events: [EventPattern]
    /// Empty: about anything.
    public let subjects: Set<String>

    public init(app: AppKey = .default, events: [EventPattern] = [.any], subjects: Set<String> = []) {
        self.app = app
        self.events = events
        self.subjects = subjects
    }

    /// Never an event that is addressed to one delegate, or that has been erased.
    func wants(_ event: Event) -> Bool {
        event.app == app && event.audience == nil && !event.isErased
            && (subjects.isEmpty || event.subject.map(subjects.contains) == true)
            && events.contains { $0.matches(event.type) }
    }
}
