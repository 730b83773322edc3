import Herald

/// What became of one event at one delegate: the answer to "why did this arrive, and where did it not?".
struct DeliveryStory: Sendable {
    enum State: String, Sendable {
        case pending, retrying, delivered, exhausted, dropped
    }

    let delegateID: String
    let url: String?
    let state: State
    let reason: String?
    let attempts: Int
    let firstAttemptAt: Int64?
    let lastAttempt: AttemptRecord?
    let nextAttemptAt: Int64?

    /// All deliveries of an event, in the order of their delegates' registration. A reader's thread.
    static func all(of logged: LoggedEvent, _ hub: Hub, _ reader: any StoreReader) throws -> [DeliveryStory] {
        // Before the store is read: what is settled meanwhile is found there.
        var keys = Set(hub.registry.list(logged.event.app, where: { isPending(logged, $0, hub) }).map(\.key))
        let (stored, waitingRows) = try rows(of: logged.sequence, reader)
        let attempts = Dictionary(grouping: stored, by: \.record.delegate)
        let waiting = Dictionary(waitingRows.map { ($0.delegate, $0) }, uniquingKeysWith: { $1 })
        keys.formUnion(attempts.keys)
        keys.formUnion(waiting.keys)
        return try keys.sorted().compactMap { key in
            let records = (attempts[key] ?? []).map(\.record)
            if let delegate = hub.registry.delegate(key: key) {
                let isFailing = hub.lane(of: key)?.isFailing == true
                return story(delegate.id, delegate.settings.url, records, waiting[key], isFailing: isFailing)
            }
            guard let id = try reader.deletedDelegateID(key) else { return nil }
            return story(id, nil, records, waiting[key], isDeleted: true)
        }
    }

    /// Attempts and waiting deliveries of one moment. A checkpoint may be committed between two reads; whatever it changes
    /// comes with an attempt, so when there is none more, it changed nothing.
    private static func rows(
        of event: Sequence, _ reader: any StoreReader
    ) throws -> ([StoredAttempt], [WaitingDelivery]) {
        var attempts = try reader.attempts(event: event)
        while true {
            let waiting = try reader.waiting(event: event)
            let again = try reader.attempts(event: event)
            if again.count == attempts.count { return (attempts, waiting) }
            attempts = again
        }
    }

    /// The delegate will be told, or was so lately that the store may not know: its lane is not there, or it is and the
    /// checkpoint that says so is not.
    private static func isPending(_ logged: LoggedEvent, _ delegate: WebhookDelegate, _ hub: Hub) -> Bool {
        guard logged.sequence > delegate.start, delegate.settings.wants(logged.event) else { return false }
        if let cursor = hub.lane(of: delegate.key)?.cursor, logged.sequence > cursor { return true }
        return hub.isOnItsWay(logged.sequence, to: delegate.key)
    }

    private static func story(
        _ id: String, _ url: String?, _ records: [AttemptRecord], _ waiting: WaitingDelivery?, isFailing: Bool = false,
        isDeleted: Bool = false
    ) -> DeliveryStory {
        let state: State
        if records.contains(where: \.succeeded) {
            state = .delivered
        } else if let waiting {
            state = waiting.state == .exhausted ? .exhausted : .retrying
        } else {
            state = isDeleted ? .dropped : .pending
        }
        return DeliveryStory(
            delegateID: id, url: url, state: state, reason: reason(state, isFailing: isFailing),
            attempts: records.count, firstAttemptAt: records.first?.startedAt, lastAttempt: records.last,
            nextAttemptAt: state == .retrying && !isFailing ? waiting?.dueAt : nil)
    }

    private static func reason(_ state: State, isFailing: Bool) -> String? {
        switch state {
        case .dropped: "the delegate was deleted"
        case .retrying, .pending:
            isFailing ? "the delegate is failing; one event at a time is tried until one succeeds" : nil
        case .delivered, .exhausted: nil
        }
    }
}

extension WebhookSettings {
    /// Whether an event passes the patterns and the subjects.
    func wants(_ event: Event) -> Bool {
        guard events.contains(where: { $0.matches(event.type) }) else { return false }
        guard !subjects.isEmpty else { return true }
        return event.subject.map(subjects.contains) ?? false
    }
}
