/// Changes to a memory store that are not visible yet, and what this transaction itself must already see of them.
final class MemoryTransaction: StoreTransaction {
    private let store: MemoryStore
    /// In the order in which they were asked for.
    private(set) var changes: [@Sendable (inout MemoryContents) -> Void] = []

    private var head: Sequence
    private var appended: [MemoryContents.EventName: LoggedEvent] = [:]
    private var authStatus: [MemoryContents.UserName: AuthStatus] = [:]
    private var answers: [MemoryContents.AnswerName: (answer: StoredAnswer, expiresAt: Int64)] = [:]
    private var delegates: [DelegateKey: WebhookDelegate] = [:]
    private var removed: Set<DelegateKey> = []

    init(_ store: MemoryStore) {
        self.store = store
        head = store.read { Sequence($0.events.count) }
    }

    func event(app: AppKey, id: String) -> LoggedEvent? {
        appended[.init(app: app, id: id)] ?? store.read { $0.event(app: app, id: id) }
    }

    func append(_ event: Event) throws(StoreError) -> Sequence {
        let name = MemoryContents.EventName(app: event.app, id: event.id)
        guard self.event(app: event.app, id: event.id) == nil else {
            throw .failed(reason: "there is an event \(event.id) already")
        }
        head += 1
        let sequence = head
        appended[name] = LoggedEvent(sequence: sequence, event: event)
        changes.append {
            $0.events.append(event)
            $0.sequences[name] = sequence
        }
        return sequence
    }

    func authStatus(app: AppKey, userID: String) -> AuthStatus? {
        let name = MemoryContents.UserName(app: app, userID: userID)
        return authStatus[name] ?? store.read { $0.authStatus[name] }
    }

    func setAuthStatus(_ status: AuthStatus) {
        let name = MemoryContents.UserName(app: status.app, userID: status.userID)
        authStatus[name] = status
        changes.append { $0.authStatus[name] = status }
    }

    func setAppState(_ state: AppState) {
        changes.append { $0.appStates[state.app] = state }
    }

    func answer(app: AppKey, key: String, now: Int64) -> StoredAnswer? {
        let name = MemoryContents.AnswerName(app: app, key: key)
        let found = answers[name] ?? store.read { $0.answers[name] }
        return found.flatMap { $0.expiresAt > now ? $0.answer : nil }
    }

    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) {
        let name = MemoryContents.AnswerName(app: app, key: key)
        answers[name] = (answer, expiresAt)
        changes.append { $0.answers[name] = (answer, expiresAt) }
    }

    func removeExpiredAnswers(now: Int64, limit: Int) {
        changes.append { contents in
            let expired = contents.answers.lazy.filter { $0.value.expiresAt <= now }.prefix(limit).map(\.key)
            for name in Array(expired) { contents.answers[name] = nil }
        }
    }

    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError) {
        let key = delegate.key
        if removed.contains(key) || store.read({ $0.deletedIDs[key] != nil }) {
            throw .failed(reason: "delegate \(delegate.id) was deleted")
        }
        if let owner = self.owner(of: delegate.settings.url, app: delegate.app), owner != key {
            throw .failed(reason: "another delegate has the same URL")
        }
        delegates[key] = delegate
        changes.append { $0.setDelegate(delegate) }
    }

    private func owner(of url: String, app: AppKey) -> DelegateKey? {
        let here = delegates.values.first { $0.app == app && $0.settings.url == url && !removed.contains($0.key) }
        if let here { return here.key }
        let name = MemoryContents.URLName(app: app, url: url)
        guard let owner = store.read({ $0.urls[name] }) else { return nil }
        return delegates[owner] == nil && !removed.contains(owner) ? owner : nil
    }

    func removeDelegate(_ key: DelegateKey, at time: Int64) {
        removed.insert(key)
        changes.append { $0.removeDelegate(key) }
    }

    func write(_ checkpoint: Checkpoint) {
        changes.append { $0.write(checkpoint) }
    }
}
