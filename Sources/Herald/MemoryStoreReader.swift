/// Reads what is committed to a memory store.
final class MemoryReader: StoreReader {
    private let store: MemoryStore

    init(_ store: MemoryStore) { self.store = store }

    func events(after sequence: Sequence, limit: Int, maxBytes: Int) -> EventBatch {
        store.read { contents in
            var bytes = 0
            let events = contents.events.dropFirst(Int(sequence)).prefix(limit).prefix { event in
                defer { bytes += event.data.count }
                return bytes <= maxBytes
            }
            return EventBatch(first: sequence + 1, events: Array(events))
        }
    }

    func events(_ query: EventQuery) -> [LoggedEvent] {
        store.read { contents in
            let end = min(contents.events.count, Int(query.before ?? .max) - 1)
            let matching = contents.events.enumerated().prefix(max(0, end)).reversed().lazy
                .map { LoggedEvent(sequence: Sequence($0.offset) + 1, event: $0.element) }
                .filter { query.matches($0.event) }
            return Array(matching.prefix(query.limit))
        }
    }

    func event(app: AppKey, id: String) -> LoggedEvent? {
        store.read { $0.event(app: app, id: id) }
    }

    func authStatus(app: AppKey, userID: String) -> AuthStatus? {
        store.read { $0.authStatus[.init(app: app, userID: userID)] }
    }

    func attempts(_ query: AttemptQuery) -> [StoredAttempt] {
        store.read { contents in
            Array(contents.attempts.reversed().lazy.filter { query.matches($0) }.prefix(query.limit))
        }
    }

    func attempts(event: Sequence) -> [StoredAttempt] {
        store.read { contents in contents.attempts.filter { $0.record.event == event } }
    }

    func waiting(event: Sequence) -> [WaitingDelivery] {
        store.read { contents in
            contents.waiting.values.filter { $0.event == event }.sorted { $0.delegate < $1.delegate }
        }
    }

    func lanePositions() -> [LanePosition] {
        store.read { $0.lanes.values.sorted { $0.delegate < $1.delegate } }
    }

    func deletedDelegateID(_ key: DelegateKey) -> String? {
        store.read { $0.deletedIDs[key] }
    }
}

extension EventQuery {
    fileprivate func matches(_ event: Event) -> Bool {
        event.app == app && type.matches(event.type) && (subject == nil || event.subject == subject)
            && event.time >= since ?? .min && event.time <= until ?? .max
    }
}

extension AttemptQuery {
    fileprivate func matches(_ attempt: StoredAttempt) -> Bool {
        attempt.record.delegate == delegate && (event == nil || attempt.record.event == event)
            && (succeeded == nil || attempt.record.succeeded == succeeded) && attempt.id < before ?? .max
    }
}
