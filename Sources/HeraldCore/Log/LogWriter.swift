import Delegation
import HeraldRuntime
import Synchronization

/// The one thread that writes: it takes all waiting submissions, commits them as one transaction with one flush,
/// notifies the delegates, and completes the requests. The next batch accumulates during the commit, so no linger time
/// is needed.
package final class LogWriter: Sendable {
    /// The state of the store that the writer needs at the start.
    struct Start {
        let nextDelegateKey: DelegateKey
        let head: LogPosition
        let lastMark: LogMark?
    }

    /// Called on the writer's thread.
    struct Hooks: Sendable {
        /// Called after each durable change.
        let changed: @Sendable (WriteEffect) -> Void
        /// Called if the store can't determine what is on disk: the process has to end.
        let onDurabilityLost: @Sendable (StoreError) -> Void
    }

    let counters = WriterCounters()
    let health = StorageHealth()
    private let store: any EventStore
    let intake: Intake
    private let delegates: MulticastDelegate<any EventDelegate>
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
        registry: Registry, catalogue: EventTypeCatalogue,
        keys: KeyRing, apps: AppCatalogue, sessions: SessionStore, usage: LogUsage, ids: ULIDGenerator, clock: Clock,
        hooks: Hooks
    ) {
        self.store = store
        self.intake = intake
        self.delegates = delegates
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
        let started = try Thread(name: "store-writer", priority: .prompt) { [self] in
            var state = State(start)
            while writeNext(&state) {}
        }
        thread.withLock { $0 = started }
    }

    /// Whether the caller runs on the writer's thread.
    var isCaller: Bool { thread.withLock { $0?.isCurrent ?? false } }

    /// Waits until all accepted submissions are committed and completed. Call it after `Intake.end`.
    func join() { thread.withLock { $0.take() }?.join() }

    // MARK: The writer's thread

    /// Commits the next submissions; waits until there are some.
    /// - Returns: `false` after the end of the intake.
    func writeNext(_ state: inout State) -> Bool {
        guard let batch = intake.take(milliseconds: Self.lookMilliseconds) else { return false }
        look(&state)
        if !batch.isEmpty { write(batch, &state) }
        return true
    }

    /// Milliseconds between two checks of the storage.
    private static let lookMilliseconds: Int32 = 500

    /// Checks that the files are still in the folder, and probes whether a failed storage works again.
    private func look(_ state: inout State) {
        let now = clock.monotonic()
        guard now >= state.nextLook else { return }
        state.nextLook = now + Int64(Self.lookMilliseconds) * 1_000_000
        do throws(StoreError) {
            try store.checkFiles()
        } catch {
            health.lost(error)
        }
        if state.log.isBehind { follow([], &state) }
        if health.needsProbe(at: now) { write([.command(StorageProbe())], &state) }
    }

    struct State {
        var nextDelegateKey: DelegateKey
        var log: LogFollower
        var lastMark: LogMark
        var erased = ErasedEvents()
        /// The first block of the log whose counts are not stored yet.
        var firstOpenBlock: Int64
        /// Monotonic nanoseconds.
        var nextHousekeeping: Int64 = 0
        /// Monotonic nanoseconds.
        var nextLook: Int64 = 0

        init(_ start: Start) {
            nextDelegateKey = start.nextDelegateKey
            log = LogFollower(head: start.head)
            firstOpenBlock = AppBlock.number(of: start.head + 1)
            lastMark = start.lastMark ?? LogMark(sequence: 0, time: 0)
        }

        /// The blocks that are full and not stored yet.
        var filledBlocks: Range<Int64> { firstOpenBlock..<AppBlock.number(of: log.told + 1) }
    }

    /// The effects of a transaction, to be carried out once it is durable.
    package struct Plan {
        var events: [Event] = []
        /// How many of the events are appended to the store already.
        var appended = 0
        var effects: [WriteEffect] = []
        var posted: [(publication: Publication, events: [PublishedEvent])] = []
        /// The responses to all other submissions, in their order.
        var answers: [() -> Void] = []
        var erased: ErasedEvents
        var mark: LogMark?
        /// The bytes that this transaction adds for apps with a storage limit.
        var added: [AppKey: Int64] = [:]
        /// The blocks of the log from which something was removed.
        var changedBlocks: Set<Int64> = []
        /// The blocks that were filled by earlier transactions: their counts are due to be stored.
        var filledBlocks: Range<Int64>?
        /// What the attempts take that this transaction records.
        var attemptBytes = 0
        /// Something is erased, and has to leave the write-ahead log before the response.
        var erases = false
        /// The key of the next new delegate.
        let nextDelegateKey: DelegateKey
        /// Every event may be in the log already: it is not known whether this transaction was committed before.
        let isRepeated: Bool

        init(_ state: State, isRepeated: Bool = false) {
            erased = state.erased
            nextDelegateKey = state.nextDelegateKey
            self.isRepeated = isRepeated
        }
    }

    private func write(_ submissions: [Intake.Submission], _ state: inout State) {
        let keepsHouse = clock.monotonic() >= state.nextHousekeeping
        let batch = keepsHouse ? submissions + [.command(Housekeeping(state))] : submissions
        // A constant: passing the mutable `state` would copy it for each submission.
        let before = state
        var plan = Plan(before)
        let started = clock.monotonic()
        let commit: Commit
        do {
            commit = try self.commit(batch, before, &plan)
        } catch {
            fail(batch, error)
            return
        }
        let ended = clock.monotonic()
        if keepsHouse { state.nextHousekeeping = ended + Housekeeping.interval }
        counters.committed(events: plan.events.count, nanoseconds: ended - started)
        health.committed(at: ended, wall: clock.wall()) { (try? store.health()) != nil }
        // No other response waits until the log is copied.
        if plan.erases { copyLog() }
        complete(plan, commit, &state)
        if !plan.erases { copyLog() }
    }

    /// Runs a transaction until it is committed or has failed: again when another process has changed what it has read, and
    /// when it is not known whether it was committed.
    private func commit(
        _ batch: [Intake.Submission], _ before: State, _ plan: inout Plan
    ) throws(StoreError) -> Commit {
        var kind = batch.reduce(.recording) { max($0, $1.kind) }
        var isRepeated = false
        var outdated = 0
        while true {
            do {
                return try store.transaction(kind) { transaction throws(StoreError) in
                    plan = Plan(before, isRepeated: isRepeated)
                    for submission in batch { try perform(submission, transaction, &plan) }
                    try append(transaction, &plan)
                    try countBlocks(transaction, before, &plan)
                }
            } catch {
                switch error {
                case .outdated where kind != .deciding:
                    outdated += 1
                    if outdated == Self.maxOutdated { kind = .deciding }
                case .unknown where !isRepeated:
                    isRepeated = true
                    kind = .deciding
                default: throw error
                }
            }
        }
    }

    /// How often a transaction may find what it has read changed. Then it keeps others from changing it.
    private static let maxOutdated = 2

    private func copyLog() {
        do throws(StoreError) {
            let checkpoint = try store.checkpointIfDue()
            health.copied(checkpoint, at: clock.monotonic(), wall: clock.wall()) { (try? store.health()) != nil }
        } catch {
            if case .syncFailed = error { hooks.onDurabilityLost(error) }
            health.failed(error, refused: 0, at: clock.monotonic())
        }
    }

    /// Carries out the effects of a transaction, and responds.
    private func complete(_ plan: Plan, _ commit: Commit, _ state: inout State) {
        state.erased = plan.erased
        if let filled = plan.filledBlocks { state.firstOpenBlock = filled.upperBound }
        state.log.committed(head: commit.head)
        follow(plan.events, &state)
        if plan.attemptBytes > 0 {
            hooks.changed(.recordedAttempts(bytes: plan.attemptBytes))
            delegates.invokeDelegates { $0.recordedAttempts() }
        }
        if let mark = plan.mark { state.lastMark = mark }
        for effect in plan.effects {
            if case .set(let delegate) = effect { state.nextDelegateKey = max(state.nextDelegateKey, delegate.key + 1) }
            hooks.changed(effect)
        }
        for (publication, events) in plan.posted { publication.completion(.done(events)) }
        for answer in plan.answers { answer() }
    }

    /// Tells the delegates of the events of a commit, after those before them that they have not been told of.
    private func follow(_ events: [Event], _ state: inout State) {
        do throws(StoreError) {
            try state.log.follow(
                events,
                read: { [store] after throws(StoreError) in
                    try store.makeReader().events(
                        after: after, limit: Intake.batchEvents, maxBytes: Intake.batchBytes)
                },
                tell: { batch in
                    usage.add(batch)
                    delegates.invokeDelegates { $0.published(batch) }
                })
        } catch {
            // They are committed. They are read from the store later, unless it lacks some.
            if case .failed = error { hooks.onDurabilityLost(error) }
        }
    }

    private func perform(
        _ submission: Intake.Submission, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        if case .publish(let publication) = submission { return try publish(publication, transaction, &plan) }
        // Other commands may read the log or truncate it.
        try append(transaction, &plan)
        switch submission {
        case .publish: break
        case .checkpoint(let reported, let answer):
            let checkpoint = plan.erased.applied(to: reported)
            try transaction.write(checkpoint)
            plan.attemptBytes += checkpoint.attempts.reduce(0) { $0 + $1.storedBytes }
            try take(checkpoint.notices, transaction, &plan)
            plan.answers.append { answer(true) }
        case .command(let command): try command.perform(self, transaction, &plan)
        }
    }

    // MARK: Failing

    private func fail(_ batch: [Intake.Submission], _ error: StoreError) {
        counters.failed()
        // Before any response, which would claim more than is known.
        if case .syncFailed = error { hooks.onDurabilityLost(error) }
        health.failed(error, refused: batch.count { $0.isRequest }, at: clock.monotonic())
        for submission in batch {
            switch submission {
            case .publish(let publication): publication.completion(.refused(.store(error)))
            case .checkpoint(_, let answer): answer(false)
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

    /// The last step of a transaction that removed something from blocks, or keeps house: stores the counts of these
    /// blocks for the next start.
    private func countBlocks(
        _ transaction: any StoreTransaction, _ state: State, _ plan: inout Plan
    ) throws(StoreError) {
        for block in plan.changedBlocks.sorted() {
            plan.effects.append(.counted(block: block, try transaction.countBlock(block)))
        }
        // All or none, so that a start finds what is missing behind the last one.
        if !plan.changedBlocks.isEmpty { plan.filledBlocks = state.filledBlocks }
        for block in plan.filledBlocks ?? 0..<0 where !plan.changedBlocks.contains(block) {
            try transaction.keepBlock(block, usage.parts(of: block))
        }
    }
}
