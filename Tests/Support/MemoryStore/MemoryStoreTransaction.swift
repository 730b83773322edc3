import HeraldModel

/// Changes to a memory store that are not visible yet, and the state that this transaction sees.
final class MemoryTransaction: StoreTransaction {
    let store: MemoryStore
    /// In the order of the calls.
    private(set) var changes: [Step] = []
    typealias Step = @Sendable (inout MemoryContents) -> Void

    /// The state after this transaction: copied when it is first read, and updated from then on. Copying takes time
    /// linear in the content of the store, so frequent operations avoid it.
    private var copy: MemoryContents?

    /// The store's when this transaction began.
    let version: Int
    private let kind: TransactionKind
    private var last: LogPosition
    private var appended: [NameInApp: LoggedEvent] = [:]
    private var authStatus: [NameInApp: AuthStatus] = [:]
    private var appStates: [AppKey: AppState] = [:]
    private var answers: [NameInApp: (answer: StoredAnswer, expiresAt: Int64)] = [:]
    private var delegates: [DelegateKey: WebhookDelegate] = [:]
    private var removed: Set<DelegateKey> = []

    init(_ store: MemoryStore, _ kind: TransactionKind) {
        self.store = store
        self.kind = kind
        (version, last) = store.read { ($0.version, $0.head) }
    }

    private func apply(_ change: @escaping Step) {
        changes.append(change)
        if var contents = copy.take() {
            change(&contents)
            copy = contents
        }
    }

    /// Makes a change, and returns its result.
    @discardableResult
    func change<Outcome>(_ body: @escaping @Sendable (inout MemoryContents) -> Outcome) -> Outcome {
        var contents = preview()
        copy = nil
        let outcome = body(&contents)
        copy = contents
        changes.append { _ = body(&$0) }
        return outcome
    }

    func preview() -> MemoryContents {
        if let copy { return copy }
        var contents = store.read { $0 }
        for change in changes { change(&contents) }
        return contents
    }
}

extension MemoryTransaction {
    func record(_ changes: [Change], name: Int64) { apply { $0.record(changes, name: name) } }
}

/// Changes of the log.
extension MemoryTransaction {
    var head: LogPosition {
        get throws(StoreError) {
            guard kind == .deciding else { throw .headIsUnknown }
            return last
        }
    }

    func event(app: AppKey, id: String) -> LoggedEvent? {
        if let copy { return copy.event(app: app, id: id) }
        return appended[.init(app: app, name: id)] ?? store.read { $0.event(app: app, id: id) }
    }

    func append(_ events: [Event]) throws(StoreError) {
        for event in events {
            guard self.event(app: event.app, id: event.id) == nil else {
                // It may be there since this transaction has looked for it.
                if kind != .deciding, store.read({ $0.version }) != version { throw .outdated }
                throw .failed(reason: "there is an event \(event.id) already")
            }
            last += 1
            let position = kind == .deciding ? last : 0
            appended[.init(app: event.app, name: event.id)] = LoggedEvent(sequence: position, event: event)
            apply { $0.append(event) }
        }
    }

    func authStatus(app: AppKey, userID: String) -> AuthStatus? {
        let name = NameInApp(app: app, name: userID)
        if let copy { return copy.authStatus[name] }
        return authStatus[name] ?? store.read { $0.authStatus[name] }
    }

    func setAuthStatus(_ status: AuthStatus) {
        let name = NameInApp(app: status.app, name: status.userID)
        authStatus[name] = status
        apply { $0.authStatus[name] = status }
    }

    func appState(_ app: AppKey) -> AppState? {
        if let copy { return copy.appStates[app] }
        return appStates[app] ?? store.read { $0.appStates[app] }
    }

    func setAppState(_ state: AppState) {
        appStates[state.app] = state
        apply { $0.appStates[state.app] = state }
    }

    func answer(app: AppKey, key: String, now: Int64) -> StoredAnswer? {
        let name = NameInApp(app: app, name: key)
        let found = copy.map { $0.answers[name] } ?? answers[name] ?? store.read { $0.answers[name] }
        return found.flatMap { $0.expiresAt > now ? $0.answer : nil }
    }

    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) {
        let name = NameInApp(app: app, name: key)
        answers[name] = (answer, expiresAt)
        apply { $0.answers[name] = (answer, expiresAt) }
    }

    func removeExpiredAnswers(now: Int64, limit: Int) -> Int {
        let hasExpired = store.read { contents in contents.answers.values.contains { $0.expiresAt <= now } }
        guard hasExpired else { return 0 }
        return change { contents in
            let expired = Array(contents.answers.lazy.filter { $0.value.expiresAt <= now }.prefix(limit).map(\.key))
            for name in expired { contents.answers[name] = nil }
            return expired.count
        }
    }

    func addMark(_ mark: LogMark) {
        apply { $0.marks.append(mark) }
    }

    func removeEvents(_ range: ClosedRange<LogPosition>, limit: Int) -> RemovedEvents {
        change { $0.removeEvents(range, limit: limit) }
    }

    /// There is no file.
    func giveBack(bytes: Int64) -> Int64 { 0 }

    func count(_ removal: Removal) { apply { $0.count(removal) } }

    /// Not needed: counted on demand.
    func keepBlock(_ block: Int64, _ parts: [AppBlock]) {}

    func countBlock(_ block: Int64) -> [AppBlock] {
        if let copy { return copy.count(block: block) }
        let appended = Array(appended.values)
        return store.read { $0.count(block: block, with: appended) }
    }

    func erase(_ events: [LogPosition], limit: Int) -> Erasure {
        var erasure = change { $0.erase(Set(events.prefix(limit)), limit: limit) }
        let mayHaveMore = max(erasure.attempts, erasure.deliveries) >= limit
        erasure.rest = Array(mayHaveMore ? events[...] : events.dropFirst(limit))
        return erasure
    }

    /// Searches all responses at once.
    func eraseSubject(_ subject: String, app: AppKey, after key: String, limit: Int) -> Erasure {
        change { $0.erase(ErasedSubject(subject), app: app) }
    }
}

/// Changes of deliveries.
extension MemoryTransaction {
    func write(_ checkpoint: Checkpoint) {
        apply { $0.write(checkpoint) }
    }

    func search(_ query: DeliveryQuery) -> DeliveryPage { preview().search(query) }

    func redeliver(_ deliveries: [WaitingDelivery]) { apply { $0.redeliver(deliveries) } }

    func drop(_ deliveries: [DeliveryKey], at time: Int64) { apply { $0.drop(deliveries, at: time) } }

    func recipients(event: LogPosition, after delegate: DelegateKey, limit: Int) -> [DelegateKey] {
        Array(preview().recipients(event: event).filter { $0 > delegate }.prefix(limit))
    }

    func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) throws(StoreError) -> Replay {
        let added = change { $0.addReplay(delegate: delegate, after: cursor, until: until, at: time) }
        guard let added else { throw .failed(reason: "delegate \(delegate) was deleted") }
        return added
    }

    func removeReplay(_ id: Int64, of delegate: DelegateKey) -> Bool {
        change { contents in
            guard contents.replays[id]?.delegate == delegate else { return false }
            contents.replays[id] = nil
            return true
        }
    }

    func countReplays(_ delegate: DelegateKey) -> Int {
        preview().replays.values.count { $0.delegate == delegate }
    }

    func removeAttempts(before time: Int64, limit: Int) -> Int {
        change { $0.removeAttempts(before: time, limit: limit) }
    }

    func removeAttempts(through id: Int64, limit: Int) -> RemovedAttempts {
        change { $0.removeAttempts(through: id, limit: limit) }
    }

    func removeStatistics(before time: Int64, limit: Int) -> Int {
        change { contents in
            let past = contents.statistics.values.filter { slot in
                (time - DeliveryStatistics.lateness..<time).contains(slot.start) && slot.start % Volume.hour != 0
            }
            .sorted { ($0.start, $0.delegate) < ($1.start, $1.delegate) }.prefix(limit)
            var checkpoint = Checkpoint()
            for slot in past {
                contents.statistics = contents.statistics.filter { $0.value != slot }
                var hour = DeliveryStatistics(delegate: slot.delegate, start: slot.start - slot.start % Volume.hour)
                hour.add(slot)
                checkpoint.statistics.append(hour)
            }
            contents.write(checkpoint)
            let first = time - DeliveryStatistics.lifetimeOfHours
            let old = contents.statistics.keys.filter { $0.start < first }.prefix(limit)
            for slot in old { contents.statistics[slot] = nil }
            let few = contents.volumes.values.filter { volume in
                (time - DeliveryStatistics.lateness..<time).contains(volume.start) && volume.start % Volume.hour != 0
            }
            .sorted { ($0.start, $0.app.rawValue, $0.type) < ($1.start, $1.app.rawValue, $1.type) }.prefix(limit)
            for volume in few {
                contents.volumes[volume.key] = nil
                let hour = volume.ofHour
                contents.volumes[hour.key, default: Volume(app: hour.app, type: hour.type, start: hour.start)].add(hour)
            }
            let oldest = time + DeliveryStatistics.lifetime - Volume.lifetime
            let volumes = contents.volumes.keys.filter { $0.start < oldest }.prefix(limit)
            for key in volumes { contents.volumes[key] = nil }
            return max(past.count, few.count, old.count, volumes.count)
        }
    }

    func add(_ volumes: [Volume]) {
        apply { contents in
            for volume in volumes {
                contents.volumes[volume.key, default: Volume(app: volume.app, type: volume.type, start: volume.start)]
                    .add(volume)
            }
        }
    }
}

/// Changes of the registry.
extension MemoryTransaction {
    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError) {
        let key = delegate.key
        if removed.contains(key) || store.read({ $0.deletedIDs[key] != nil }) {
            throw .failed(reason: "delegate \(delegate.id) was deleted")
        }
        delegates[key] = delegate
        apply { $0.setDelegate(delegate) }
    }

    func removeDelegate(_ key: DelegateKey, at time: Int64) {
        removed.insert(key)
        apply { $0.removeDelegate(key) }
    }

    func removeWaiting(of key: DelegateKey, limit: Int) -> Int {
        change { $0.removeWaiting(of: key, limit: limit) }
    }

    func setEventType(_ type: EventTypeRecord) {
        apply { $0.eventTypes[.init(app: type.app, name: type.type)] = type }
    }

    func removeEventType(_ type: String, app: AppKey) {
        apply { $0.eventTypes[.init(app: app, name: type)] = nil }
    }
}

/// Changes of access.
extension MemoryTransaction {
    func setKey(_ key: APIKey) { apply { $0.keys[key.id] = key } }

    func removeKey(_ id: String) { apply { $0.keys[id] = nil } }

    func setSession(_ session: Session) { apply { $0.sessions[session.digest] = session } }

    func removeSession(_ digest: [UInt8]) { apply { $0.sessions[digest] = nil } }

    func setApp(_ app: App) { apply { $0.set(app) } }

    func removeApp(_ key: AppKey, at time: Int64) { change { $0.removeApp(key) } }

    func removeValues(of app: AppKey, limit: Int) -> Int { change { $0.removeValues(of: app, limit: limit) } }

    func addAudit(_ entry: AuditEntry) { apply { $0.add(entry) } }

    func trimAudit(from id: Int64) -> Int64 {
        store.read { $0.lastAuditID } < id ? id : change { $0.trimAudit(from: id) }
    }
}
