/// Changes to a memory store that are not visible yet, and what this transaction itself must already see of them.
final class MemoryTransaction: StoreTransaction {
    let store: MemoryStore
    /// In the order in which they were asked for.
    private(set) var changes: [Change] = []
    typealias Change = @Sendable (inout MemoryContents) -> Void

    /// What this transaction would leave: made when somebody has to know, and kept up to date from then on. Making it takes
    /// time that grows with what the store holds, so what happens often does without.
    var copy: MemoryContents?

    var head: LogPosition
    var appended: [MemoryContents.EventName: LoggedEvent] = [:]
    var authStatus: [MemoryContents.UserName: AuthStatus] = [:]
    var answers: [MemoryContents.AnswerName: (answer: StoredAnswer, expiresAt: Int64)] = [:]
    var delegates: [DelegateKey: WebhookDelegate] = [:]
    var removed: Set<DelegateKey> = []

    init(_ store: MemoryStore) {
        self.store = store
        head = store.read { $0.head }
    }

    func apply(_ change: @escaping Change) {
        changes.append(change)
        if var contents = copy.take() {
            change(&contents)
            copy = contents
        }
    }

    /// Makes a change, and tells what comes of it.
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
