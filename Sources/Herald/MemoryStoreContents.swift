/// What a memory store holds. A value: whoever has it may do with it what they want.
struct MemoryContents {
    struct EventName: Hashable {
        let app: AppKey
        let id: String
    }
    struct URLName: Hashable {
        let app: AppKey
        let url: String
    }
    struct UserName: Hashable {
        let app: AppKey
        let userID: String
    }
    struct AnswerName: Hashable {
        let app: AppKey
        let key: String
    }

    /// `events[0]` has the sequence 1.
    var events: [Event] = []
    var sequences: [EventName: Sequence] = [:]
    var attempts: [StoredAttempt] = []
    var waiting: [DeliveryKey: WaitingDelivery] = [:]
    var lanes: [DelegateKey: LanePosition] = [:]
    var settled: Sequence = 0
    var delegates: [DelegateKey: WebhookDelegate] = [:]
    var urls: [URLName: DelegateKey] = [:]
    var deletedIDs: [DelegateKey: String] = [:]
    var lastDelegateKey: DelegateKey = 0
    var authStatus: [UserName: AuthStatus] = [:]
    var appStates: [AppKey: AppState] = [:]
    var answers: [AnswerName: (answer: StoredAnswer, expiresAt: Int64)] = [:]

    func event(app: AppKey, id: String) -> LoggedEvent? {
        sequences[EventName(app: app, id: id)].map { LoggedEvent(sequence: $0, event: events[Int($0) - 1]) }
    }

    mutating func write(_ checkpoint: Checkpoint) {
        for record in checkpoint.attempts {
            attempts.append(StoredAttempt(id: Int64(attempts.count) + 1, record: record))
        }
        for delivery in checkpoint.waiting where delegates[delivery.delegate] != nil {
            waiting[DeliveryKey(delegate: delivery.delegate, event: delivery.event)] = delivery
        }
        for key in checkpoint.ended { waiting[key] = nil }
        for lane in checkpoint.lanes where delegates[lane.delegate] != nil { lanes[lane.delegate] = lane }
        for key in checkpoint.caughtUp { lanes[key] = nil }
        settled = checkpoint.settled ?? settled
    }

    mutating func setDelegate(_ delegate: WebhookDelegate) {
        forgetURL(of: delegate.key)
        delegates[delegate.key] = delegate
        urls[URLName(app: delegate.app, url: delegate.settings.url)] = delegate.key
        lastDelegateKey = max(lastDelegateKey, delegate.key)
    }

    private mutating func forgetURL(of key: DelegateKey) {
        guard let delegate = delegates[key] else { return }
        let name = URLName(app: delegate.app, url: delegate.settings.url)
        if urls[name] == key { urls[name] = nil }
    }

    mutating func removeDelegate(_ key: DelegateKey) {
        forgetURL(of: key)
        guard let delegate = delegates.removeValue(forKey: key) else { return }
        deletedIDs[key] = delegate.id
        lanes[key] = nil
        waiting = waiting.filter { $0.key.delegate != key }
    }

    func recovery() -> Recovery {
        var recovery = Recovery()
        recovery.head = Sequence(events.count)
        recovery.settled = settled
        recovery.delegates = delegates.values.sorted { $0.key < $1.key }
        recovery.nextDelegateKey = lastDelegateKey + 1
        recovery.lanes = lanes.values.sorted { $0.delegate < $1.delegate }
        recovery.waiting = waiting.values.filter { $0.state == .retrying }.sorted { $0.dueAt < $1.dueAt }
        let delivered = attempts.lazy.filter(\.record.succeeded)
            .map { DeliveryKey(delegate: $0.record.delegate, event: $0.record.event) }
        recovery.decided = Set(delivered).union(waiting.keys).filter(isBeyondCursor)
            .sorted { ($0.delegate, $0.event) < ($1.delegate, $1.event) }
        recovery.appStates = appStates.values.sorted { $0.app.rawValue < $1.app.rawValue }
        return recovery
    }

    private func isBeyondCursor(_ delivery: DeliveryKey) -> Bool {
        guard delegates[delivery.delegate] != nil else { return false }
        guard let lane = lanes[delivery.delegate] else { return delivery.event > settled }
        return delivery.event > lane.cursor && delivery.event <= lane.position
    }
}
