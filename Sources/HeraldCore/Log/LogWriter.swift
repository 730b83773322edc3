import Delegation
import HeraldRuntime
import Synchronization

/// The one thread that writes: it takes whatever waits, commits it as one transaction with one flush, tells the
/// delegates, and answers everybody who waited. The time of a commit is what gathers the next batch: there is no linger.
package final class LogWriter: Sendable {
    /// What the writer needs to know from the start.
    struct Start {
        let settledByLoop: [LogPosition]
        let nextDelegateKey: DelegateKey
        let head: LogPosition
        let lastMark: LogMark?
    }

    /// Told on the writer's thread.
    struct Hooks: Sendable {
        /// After something was changed durably.
        let changed: @Sendable (WriteEffect) -> Void
        /// The store can't say what is on disk: the process has to end.
        let onDurabilityLost: @Sendable (StoreError) -> Void
    }

    let counters = WriterCounters()
    let health = StorageHealth()
    private let store: any EventStore
    let intake: Intake
    private let delegates: MulticastDelegate<any EventDelegate>
    let auth: AuthProjection
    let appState: AppStateProjection
    let registry: Registry
    let catalogue: EventTypeCatalogue
    let keys: KeyRing
    let apps: AppCatalogue
    let sessions: SessionStore
    let usage: LogUsage
    let ids: ULIDGenerator
    let clock: Clock
    private let hooks: Hooks
    private let thread = Mutex<Thread?>(nil)

    init(
        store: any EventStore, intake: Intake, delegates: MulticastDelegate<any EventDelegate>,
        auth: AuthProjection, appState: AppStateProjection, registry: Registry, catalogue: EventTypeCatalogue,
        keys: KeyRing, apps: AppCatalogue, sessions: SessionStore, usage: LogUsage, ids: ULIDGenerator, clock: Clock,
        hooks: Hooks
    ) {
        self.store = store
        self.intake = intake
        self.delegates = delegates
        self.auth = auth
        self.appState = appState
        self.registry = registry
        self.catalogue = catalogue
        self.keys = keys
        self.apps = apps
        self.sessions = sessions
        self.usage = usage
        self.ids = ids
        self.clock = clock
        self.hooks = hooks
    }

    func start(_ start: Start) throws(SystemError) {
        let started = try Thread(name: "store-writer") { [self] in
            var state = State(start)
            while writeNext(&state) {}
        }
        thread.withLock { $0 = started }
    }

    /// Whether the caller is called by the writer.
    var isCaller: Bool { thread.withLock { $0?.isCurrent ?? false } }

    /// Waits until everything that the intake took is committed and answered; after `Intake.end`.
    func join() { thread.withLock { $0.take() }?.join() }

    // MARK: The writer's thread

    /// Commits what waits next; waits until there is something.
    /// - Returns: `false` when the intake has ended.
    func writeNext(_ state: inout State) -> Bool {
        guard let batch = intake.take(milliseconds: Self.lookMilliseconds) else { return false }
        look(&state)
        if !batch.isEmpty { write(batch, &state) }
        return true
    }

    /// How often it looks after the storage.
    private static let lookMilliseconds: Int32 = 500

    /// Looks whether the files are still there, and finds out by itself whether a storage that failed works again.
    private func look(_ state: inout State) {
        let now = clock.monotonic()
        guard now >= state.nextLook else { return }
        state.nextLook = now + Int64(Self.lookMilliseconds) * 1_000_000
        do throws(StoreError) {
            try store.checkFiles()
        } catch {
            health.lost(error)
        }
        if health.needsProbe(at: now) { write([.command(StorageProbe())], &state) }
    }

    struct State {
        var settledByLoop: [LogPosition]
        var nextDelegateKey: DelegateKey
        var head: LogPosition
        var lastMark: LogMark
        var erased = ErasedEvents()
        var nextCleaning: Int64 = 0
        /// Monotonic nanoseconds.
        var nextLook: Int64 = 0

        init(_ start: Start) {
            settledByLoop = start.settledByLoop
            nextDelegateKey = start.nextDelegateKey
            head = start.head
            lastMark = start.lastMark ?? LogMark(sequence: 0, time: 0)
        }
    }

    /// What a transaction did, to be carried out once it is durable.
    package struct Plan {
        var events: [Event] = []
        /// How many of them the store has already.
        var appended = 0
        var first: LogPosition?
        var families: FamilyState
        var effects: [WriteEffect] = []
        var posted: [(publication: Publication, events: [PublishedEvent])] = []
        /// To all others, in the order of their submissions.
        var answers: [() -> Void] = []
        var settledByLoop: [LogPosition]
        var erased: ErasedEvents
        var mark: LogMark?
        /// What this transaction adds for apps that may store only so much, in bytes.
        var added: [AppKey: Int64] = [:]
        /// Blocks of the log in which something was taken away.
        var changedBlocks: Set<Int64> = []
        var hasAttempts = false
        /// The start of a new delegate.
        let nextDelegateKey: DelegateKey
        private let headBefore: LogPosition

        init(families: FamilyState, _ state: State) {
            self.families = families
            settledByLoop = state.settledByLoop
            erased = state.erased
            nextDelegateKey = state.nextDelegateKey
            headBefore = state.head
        }

        /// The last event of the log, those that this transaction has appended included.
        var head: LogPosition { first.map { $0 + LogPosition(appended) - 1 } ?? headBefore }
    }

    private func write(_ batch: [Intake.Submission], _ state: inout State) {
        // Of what may change, a call would get a copy for each submission.
        let before = state
        var plan = Plan(families: FamilyState(auth, appState), before)
        let started = clock.monotonic()
        let checkpoint: DatabaseCheckpoint
        do {
            checkpoint = try store.transaction { transaction throws(StoreError) in
                plan = Plan(families: FamilyState(auth, appState), before)
                for submission in batch { try perform(submission, transaction, &plan) }
                try append(transaction, &plan)
                try clean(transaction, before)
                try mark(transaction, before, &plan)
                try countBlocks(transaction, &plan)
            }
        } catch {
            fail(batch, error)
            return
        }
        let ended = clock.monotonic()
        counters.committed(events: plan.events.count, nanoseconds: ended - started)
        health.committed(checkpoint, at: ended, wall: clock.wall()) { (try? store.health()) != nil }
        state.settledByLoop = plan.settledByLoop
        state.erased = plan.erased
        if clock.wall() >= state.nextCleaning { state.nextCleaning = clock.wall() + Self.cleaningInterval }
        if let first = plan.first {
            let events = EventBatch(first: first, events: plan.events)
            state.head = events.last
            usage.add(events)
            delegates.invokeDelegates { $0.published(events) }
        }
        if plan.hasAttempts { delegates.invokeDelegates { $0.recordedAttempts() } }
        if let mark = plan.mark { state.lastMark = mark }
        for effect in plan.effects {
            if case .set(let delegate) = effect { state.nextDelegateKey = max(state.nextDelegateKey, delegate.key + 1) }
            hooks.changed(effect)
        }
        for (publication, events) in plan.posted { publication.completion(.done(events)) }
        for answer in plan.answers { answer() }
    }

    private func perform(
        _ submission: Intake.Submission, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        if case .publish(let publication) = submission { return try publish(publication, transaction, &plan) }
        // Whatever else is asked may look at the log, or cut it.
        try append(transaction, &plan)
        switch submission {
        case .publish: break
        case .checkpoint(let reported, let loop, let answer):
            var checkpoint = plan.erased.applied(to: reported)
            if let settled = checkpoint.settled { plan.settledByLoop[loop] = settled }
            checkpoint.settled = plan.settledByLoop.min()
            try transaction.write(checkpoint)
            if !checkpoint.attempts.isEmpty { plan.hasAttempts = true }
            try take(checkpoint.notices, transaction, &plan)
            plan.answers.append { answer(true) }
        case .command(let command): try command.perform(self, transaction, &plan)
        }
    }

    // MARK: Failing

    private func fail(_ batch: [Intake.Submission], _ error: StoreError) {
        counters.failed()
        // Before anyone is answered: an answer would say more than is known.
        if case .syncFailed = error { hooks.onDurabilityLost(error) }
        health.failed(error, refused: batch.count { $0.isRequest }, at: clock.monotonic())
        for submission in batch {
            switch submission {
            case .publish(let publication): publication.completion(.refused(.store(error)))
            case .checkpoint(_, _, let answer): answer(false)
            case .command(let command): command.refuse(.store(error))
            }
        }
    }
}

/// A change is logged in its own transaction: every change has its entry, and there are no entries without a change.
extension LogWriter {
    /// - Parameter target: the id of what was changed; `nil` for all delegates of the app.
    func note(
        _ provenance: Provenance?, _ app: AppKey, target: String?, _ transaction: any StoreTransaction
    ) throws(StoreError) {
        guard let provenance else { return }
        try transaction.addAudit(AuditEntry(provenance, app: app, target: target, time: clock.wall()))
    }
}

/// A repeated request gets its earlier response.
extension LogWriter {
    /// The earlier response to a request with this key, if there is one.
    func earlier<Outcome>(
        _ key: IdempotencyKey, _ app: AppKey, _ transaction: any StoreTransaction
    ) throws(StoreError) -> WriteResult<Outcome>? {
        guard let answer = try transaction.answer(app: app, key: key.key, now: clock.wall()) else { return nil }
        return answer.fingerprint == key.fingerprint ? .replayed(answer) : .refused(.keyReused)
    }

    func remember(
        _ answer: StoredAnswer, _ key: IdempotencyKey, _ app: AppKey, _ transaction: any StoreTransaction
    ) throws(StoreError) {
        try transaction.setAnswer(
            answer, app: app, key: key.key, expiresAt: clock.wall() + IdempotencyKey.lifetime)
    }

    /// Removes expired responses, a few at a time.
    private func clean(_ transaction: any StoreTransaction, _ state: State) throws(StoreError) {
        let now = clock.wall()
        guard now >= state.nextCleaning else { return }
        try transaction.removeExpiredAnswers(now: now, limit: Self.cleaningLimit)
    }

    /// Milliseconds between two removals, and the maximum number of rows that one deletes.
    private static let cleaningInterval: Int64 = 1_000
    private static let cleaningLimit = 500
}

/// The log is marked as it grows, so that it can be cut by age.
extension LogWriter {
    private func mark(_ transaction: any StoreTransaction, _ state: State, _ plan: inout Plan) throws(StoreError) {
        let now = clock.wall()
        // After the clock went back, there are no marks until it has caught up, because marks ascend.
        guard plan.head > state.lastMark.sequence, now >= state.lastMark.time + LogMark.interval else { return }
        let mark = LogMark(sequence: plan.head, time: now)
        try transaction.addMark(mark)
        plan.mark = mark
    }
}

/// Counting the stored events of each app, inside a transaction.
extension LogWriter {
    /// Why an app may not store more, including the bytes that this transaction adds.
    func refusal(of publication: Publication, _ plan: Plan) -> WriteRefusal? {
        guard apps.limitsBytes, let limit = apps[publication.app]?.settings.maxStoredBytes else { return nil }
        let more = publication.drafts.reduce(0) { $0 + $1.event.storedBytes }
        let used = usage.total(of: publication.app).bytes + plan.added[publication.app, default: 0]
        return used + Int64(more) > limit ? .quotaExceeded(limit: limit) : nil
    }

    /// The last step of a transaction: stores the counts of the blocks that it has filled, or removed something from,
    /// for the next start.
    private func countBlocks(_ transaction: any StoreTransaction, _ plan: inout Plan) throws(StoreError) {
        for block in plan.changedBlocks.sorted() {
            plan.effects.append(.counted(block: block, try transaction.countBlock(block)))
        }
        guard let first = plan.first else { return }
        let filled = AppBlock.number(of: first)..<AppBlock.number(of: plan.head + 1)
        for block in filled where !plan.changedBlocks.contains(block) {
            let parts = usage.parts(of: block, with: EventBatch(first: first, events: plan.events))
            try transaction.keepBlock(block, parts)
        }
    }
}
