import Delegation
import HeraldDelivery
import HeraldModel
import HeraldRuntime
import Synchronization

/// The one thread that writes: it takes all waiting submissions, commits them as one transaction with one flush,
/// notifies the delegates, and completes the requests. The next batch accumulates during the commit, so no linger time
/// is needed, unless other processes publish too (`CommitPace`).
package final class LogWriter: Sendable {
    /// The state of the store that the writer needs at the start.
    struct Start {
        let nextDelegateKey: DelegateKey
        let head: LogPosition
        let lastMark: LogMark?

        init(_ recovery: Recovery) {
            nextDelegateKey = recovery.nextDelegateKey
            head = recovery.head
            lastMark = recovery.lastMark
        }
    }

    /// Called on the writer's thread.
    struct Hooks: Sendable {
        /// Called after each durable change.
        let changed: @Sendable (WriteEffect) -> Void
        /// Called with the events that another process has appended, as this one learns of them.
        let followed: @Sendable (EventBatch) -> Void
        /// Called with the events that this process has appended, after the commit.
        var published: @Sendable (EventBatch) -> Void = { _ in }
        /// Called when programs have published events with SQL.
        var submitted: @Sendable () -> Void = {}
        /// Called if the store can't determine what is on disk: the process has to end.
        let onDurabilityLost: @Sendable (StoreError) -> Void
    }

    let counters = WriterCounters()
    let health: StorageHealth
    let store: any EventStore
    let intake: Intake
    private let delegates: MulticastDelegate<any EventDelegate>
    let context: WriteContext
    var committed: CommittedState { context.committed }
    var clock: Clock { context.clock }
    let attempts: AttemptRoom
    private let hooks: Hooks
    private let thread = Mutex<Thread?>(nil)

    init(
        store: any EventStore, intake: Intake, delegates: MulticastDelegate<any EventDelegate>,
        committed: CommittedState, ids: ULIDGenerator, clock: Clock, lastMark: LogMark? = nil,
        attempts: AttemptRoom = AttemptRoom(), health: StorageHealth = StorageHealth(), tracer: (any Tracer)? = nil,
        hooks: Hooks
    ) {
        self.store = store
        self.intake = intake
        self.delegates = delegates
        context = WriteContext(committed, ids: ids, clock: clock, lastMark: lastMark, intake: intake, tracer: tracer)
        self.attempts = attempts
        self.health = health
        self.hooks = hooks
    }

    /// - Parameter makeCluster: called on the writer's thread.
    func start(_ start: Start, _ makeCluster: @escaping @Sendable () -> any Cluster) throws(SystemError) {
        let started = try Thread(name: "store-writer", priority: .prompt) { [self] in
            var state = State(start, makeCluster(), LazyReader(store))
            sendKnown(state)
            repeat { health.roundBegins(at: Clock.system.monotonic()) } while writeNext(&state)
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
        let now = clock.monotonic()
        intake.collect(nanoseconds: state.pace.pause(at: now))
        guard let batch = intake.take(milliseconds: milliseconds(state, now), steps: now >= state.steps.next) else {
            // No response may wait any longer.
            copyLog(&state, erasing: true)
            return false
        }
        checkStorage(&state)
        followOthers(&state)
        if state.cluster.hasFoundSubmissions() { hooks.submitted() }
        do { try state.cluster.shareDelegates() } catch { health.sharingFailed(error, at: clock.monotonic()) }
        if batch.isEmpty && !(state.removesAnswers && clock.monotonic() >= state.nextHousekeeping) {
            copyLogOfErasures(&state)
        } else {
            write(batch, &state)
        }
        publishPending(&state)
        return true
    }

    /// How long to wait for submissions.
    private func milliseconds(_ state: State, _ now: Int64) -> Int32 {
        var time = Int64(min(Self.checkMilliseconds, state.cluster.interval))
        if !state.answersOfErasures.isEmpty { time = min(time, max(0, state.nextErasingCopy - now) / 1_000_000 + 1) }
        if now < state.steps.next { time = min(time, (state.steps.next - now) / 1_000_000 + 1) }
        if state.removesAnswers { time = min(time, max(0, state.nextHousekeeping - now) / 1_000_000 + 1) }
        if state.cluster.runsMaintenance, let wait = committed.pending.wait(clock.wall(), now) {
            time = min(time, wait)
        }
        return Int32(clamping: time)
    }

    /// Milliseconds between two checks of the storage.
    private static let checkMilliseconds: Int32 = 500

    /// Checks that the files are still in the folder or the session is open, and probes whether a failed storage works again.
    private func checkStorage(_ state: inout State) {
        let now = clock.monotonic()
        guard now >= state.nextCheck else { return }
        state.nextCheck = now + Int64(Self.checkMilliseconds) * 1_000_000
        var hasNoSession = false
        do throws(StoreError) {
            try store.checkFiles()
        } catch {
            state.cluster.sessionIsLost()
            if case .unavailable = error {
                hasNoSession = true
            } else {
                health.lost(error)
            }
        }
        if state.log.isBehind { follow([], &state) }
        // What is known to fail is probed at intervals only.
        let isNew = hasNoSession && health.canWrite
        if isNew || health.needsProbe(at: now) { write([.command(StorageProbe())], &state) }
    }

    /// Reads what other processes have committed: periodically, or when a request waits for it.
    private func followOthers(_ state: inout State) {
        var failure: StoreError?
        let (isRequested, waiters) = intake.takeCatchUps()
        defer { for waiter in waiters { waiter(failure) } }
        do throws(StoreError) {
            let head = try following(&state) { cluster, reader, apply throws(StoreError) in
                try cluster.beforeRound(isRequested: isRequested, isAwaited: !waiters.isEmpty, reader, apply)
            }
            guard let head else { return }
            state.log.committed(head: head)
            follow([], &state)
        } catch {
            failure = error
            health.followFailed(error, at: clock.monotonic())
            state.lost(error, hooks)
        }
    }

    /// Calls `body` with a function that applies changes of other processes to memory.
    private func following<Value>(
        _ state: inout State,
        _ body: (any Cluster, LazyReader, _ apply: ([Change], ChangedRows) -> Void) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let (cluster, reader) = (state.cluster, state.reader)
        var hasRequests = false
        defer { if hasRequests { sendKnown(state) } }
        return try body(cluster, reader) { changes, rows in
            if apply(changes, rows, &state) { hasRequests = true }
        }
    }

    /// Applies changes of other processes.
    /// - Returns: whether requests for deliveries are among them.
    private func apply(_ changes: [Change], _ rows: ChangedRows, _ state: inout State) -> Bool {
        for change in changes {
            // Their rows may be removed, and their keys are used nevertheless.
            if case .delegate(let key) = change { state.nextDelegateKey = max(state.nextDelegateKey, key + 1) }
            if case .app(let key) = change { committed.apps.reserve(key) }
        }
        var erased: Set<LogPosition> = []
        var removed: [DelegateKey] = []
        var hasRequests = false
        for effect in effects(of: changes, rows) {
            hasRequests = hasRequests || effect.isRequest
            // Before the last step, its rows are those that the erasure counts.
            if case .erased(let events, _, isLast: true) = effect { erased.formUnion(events) }
            if case .remove(let gone) = effect { removed += gone.map(\.key).filter(state.cluster.owns) }
            if countsItself(effect, state) { continue }
            apply(effect, &state)
        }
        // What this process has written of them in the meantime.
        if !erased.isEmpty { _ = intake.submit(ErasureEnd(events: erased.sorted())) }
        if !removed.isEmpty { _ = intake.submit(RemovalEnd(delegates: removed)) }
        return hasRequests
    }

    /// Sends the loops the number of the last change whose requests for deliveries they have received.
    func sendKnown(_ state: State) { hooks.changed(.known(change: state.cluster.lastChange)) }

    func write(_ submissions: consuming [Intake.Submission], _ state: inout State) {
        // One of the processes that share a store runs maintenance, and measures the free space.
        let isHousekeeper = state.cluster.runsMaintenance
        let keepsHouse = isHousekeeper && clock.monotonic() >= state.nextHousekeeping
        let hasStep = submissions.contains(where: \.isStep)
        let hasRequest = hasStep || submissions.contains(where: \.isRequest)
        let excess = !isHousekeeper ? 0 : attempts.excess(adding: submissions.reduce(0) { $0 + $1.attemptBytes })
        var batch = keepsHouse ? submissions + [.command(Housekeeping(state))] : submissions
        // First, so that what is recorded takes the space that becomes free.
        if excess > 0 { batch.insert(.command(AttemptRemoval(bytes: excess)), at: 0) }
        var plan = state.plan()
        let started = clock.monotonic()
        /// The error of a run whose outcome is unknown.
        var unknown: StoreError?
        let commit: Commit
        do {
            commit = try self.commit(&batch, &state, &plan, &unknown)
        } catch {
            // Housekeeping that has failed waits for submissions.
            state.hasExpiredAnswers = false
            // An error of the second run does not mean that the first one was not committed.
            fail(batch, error, telling: unknown ?? error)
            return
        }
        let ended = clock.monotonic()
        if keepsHouse {
            state.hasExpiredAnswers = plan.hasExpiredAnswers
            state.nextHousekeeping = ended + (plan.hasExpiredAnswers ? Housekeeping.pause : Housekeeping.interval)
        }
        record(plan, nanoseconds: ended - started)
        state.pace.committed(plan.events.count, started..<max(started, ended))
        health.committed(at: ended, wall: clock.wall()) { (try? store.health()) != nil }
        // From here on only the plan holds the publications, which their callers free.
        batch = []
        complete(&plan, commit, &state)
        // No other response waits until the log is copied.
        state.answersOfErasures += plan.answersOfErasures
        copyLogOfErasures(&state)
        copyLog(&state, erasing: false)
        if hasStep {
            state.steps.wroteStep(started..<max(started, clock.monotonic()))
        } else if hasRequest {
            state.steps.wroteRequest(at: ended)
        }
    }

    /// Runs a transaction until it is committed or has failed: again when another process has changed what it has read, when it
    /// is not known whether it was committed, and without a submission that has found a row that can't be read.
    /// - Parameters:
    ///   - batch: in the end, the submissions that are not completed yet.
    ///   - unknown: in the end, the error of a run whose outcome is unknown, if there was one.
    private func commit(
        _ batch: inout [Intake.Submission], _ state: inout State, _ plan: inout WritePlan, _ unknown: inout StoreError?
    ) throws(StoreError) -> Commit {
        var kind = batch.reduce(.recording) { max($0, $1.kind) }
        /// The name of a deciding transaction whose outcome is unknown.
        var name: Int64?
        var wasCommitted = false
        var outdated = 0
        while true {
            /// The index of the submission that is being performed. A store may run the body again.
            var current: Int?
            do {
                let commit = try store.transaction(kind) { transaction throws(StoreError) in
                    current = nil
                    if kind == .deciding {
                        // Decisions depend on memory, and from here on no other process changes the store.
                        let hasFound = try following(&state) { cluster, reader, apply throws(StoreError) in
                            try cluster.beforeDeciding(lookingFor: name, reader, apply)
                        }
                        if hasFound { wasCommitted = true }
                        if wasCommitted { return }
                    }
                    // A constant: passing the mutable `state` would copy it for each submission.
                    let before = state
                    plan = before.plan(isRepeated: unknown != nil && name == nil)
                    for (index, submission) in batch.enumerated() {
                        current = index
                        try perform(submission, before.cluster, transaction, &plan)
                    }
                    current = nil
                    try context.append(transaction, &plan)
                    try countBlocks(transaction, before, &plan)
                    if kind == .deciding, let noted = try before.cluster.record(plan.effects, transaction) {
                        plan.head = noted.head
                        plan.name = noted.name
                    }
                }
                guard wasCommitted, let head = plan.head else {
                    if kind == .deciding { state.cluster.hasDecided() }
                    return commit
                }
                // What it has changed is among the changes, with what others have changed since. They don't have its counts.
                plan.effects = plan.effects.filter(\.isCount)
                return Commit(head: head)
            } catch {
                switch error {
                case .outdated where outdated < Self.maxRepeats:
                    outdated += 1
                    if outdated == Self.maxOutdated { kind = .deciding }
                case .unknown where unknown == nil:
                    unknown = error
                    if kind == .deciding { name = plan.name }
                    kind = .deciding
                case .unreadable where unknown == nil:
                    // The storage works: the row concerns this submission only.
                    guard let index = current else { throw error }
                    refuse(batch.remove(at: index), error)
                    health.requestFailed(error, at: clock.monotonic())
                default: throw error
                }
            }
        }
    }

    /// How often a transaction may find what it has read changed. Then it keeps others from changing it.
    private static let maxOutdated = 2
    /// How often a transaction is run again. One that keeps others out can still be in a deadlock with one that only records.
    private static let maxRepeats = 10

    /// Erasures share a copy of the log: the first one is made at once, and the next one a second later, or once it has taken
    /// at most a hundredth of the time.
    private func copyLogOfErasures(_ state: inout State) {
        let started = clock.monotonic()
        guard !state.answersOfErasures.isEmpty, started >= state.nextErasingCopy else { return }
        // A store without such a log has nothing to copy.
        guard copyLog(&state, erasing: true) else { return }
        let ended = clock.monotonic()
        state.nextErasingCopy = ended + min(10_000_000_000, max(1_000_000_000, 100 * (ended - started)))
    }

    /// - Parameter erasing: what was erased leaves the log, and the responses that wait for it are sent.
    /// - Returns: whether the log was copied, or should have been.
    @discardableResult
    private func copyLog(_ state: inout State, erasing: Bool) -> Bool {
        defer {
            if erasing {
                for answer in state.answersOfErasures { answer() }
                state.answersOfErasures = []
            }
        }
        do throws(StoreError) {
            let checkpoint = try store.checkpointIfDue(erasing: erasing)
            health.copied(checkpoint, at: clock.monotonic(), wall: clock.wall()) { (try? store.health()) != nil }
            if !checkpoint.isOfLog { return false }
        } catch {
            if case .syncFailed = error { hooks.onDurabilityLost(error) }
            health.failed(error, refused: 0, at: clock.monotonic())
        }
        return true
    }

    /// Carries out the effects of a transaction, and responds.
    private func complete(_ plan: inout WritePlan, _ commit: Commit, _ state: inout State) {
        if let filled = plan.filledBlocks { state.firstOpenBlock = filled.upperBound }
        state.log.committed(head: commit.head)
        if !plan.watched.isEmpty {
            let first = commit.head - LogPosition(plan.events.count) + 1
            let watches = plan.watched.map { (first + LogPosition($0.key), $0.value) }
            committed.recentEvents.watch(Dictionary(uniqueKeysWithValues: watches))
        }
        follow(plan.events, &state)
        attempts.changed(recorded: plan.attemptBytes, removed: plan.removedAttemptBytes)
        if plan.attemptBytes > 0 { hooks.changed(.recordedAttempts(bytes: plan.attemptBytes)) }
        if let mark = plan.mark { state.lastMark = mark }
        if let next = plan.nextAuditTrim { state.nextAuditTrim = next }
        for effect in plan.effects where !(state.log.isBehind && countsItself(effect, state)) { apply(effect, &state) }
        if plan.effects.contains(where: \.isRequest) { sendKnown(state) }
        Publication.complete(exchange(&plan.posted, with: []))
        for answer in plan.answers { answer() }
    }

    private func apply(_ effect: WriteEffect, _ state: inout State) {
        switch effect {
        case .set(let delegate): state.nextDelegateKey = max(state.nextDelegateKey, delegate.key + 1)
        case .erased(let events, let app, _): state.erased.insert(events, of: app)
        default: break
        }
        hooks.changed(effect)
    }

    /// Notifies the delegates of the events of a commit, after earlier events that they have not received.
    private func follow(_ events: [Event], _ state: inout State) {
        do throws(StoreError) {
            var log = state.log
            defer { state.log = log }
            let ours = log.head - LogPosition(events.count) + 1
            try log.follow(
                events,
                read: { [reader = state.reader] after throws(StoreError) in
                    try reader.get().events(after: after, limit: Intake.batchEvents, maxBytes: Intake.batchBytes)
                },
                notify: { batch in
                    committed.usage.add(batch)
                    if batch.first < ours {
                        state.pace.followed(batch.events.count)
                        hooks.followed(batch)
                    } else {
                        hooks.published(batch)
                    }
                    delegates.invokeDelegates { $0.published(batch) }
                })
            health.followed()
        } catch {
            // They are committed.
            health.followFailed(error, at: clock.monotonic())
            state.lost(error, hooks)
        }
    }

    private func perform(
        _ submission: Intake.Submission, _ cluster: any Cluster, _ transaction: any StoreTransaction,
        _ plan: inout WritePlan
    ) throws(StoreError) {
        if case .publish(let publication) = submission { return try context.publish(publication, transaction, &plan) }
        // Other commands may read the log or truncate it.
        try context.append(transaction, &plan)
        switch submission {
        case .publish: break
        case .checkpoint(let reported, let answer):
            let checkpoint = cluster.own(plan.erased.applied(to: reported), after: plan.effects)
            try transaction.write(checkpoint)
            plan.attemptBytes += submission.attemptBytes
            try context.take(checkpoint.notices, transaction, &plan)
            plan.answers.append { answer(true) }
        case .command(let command): try command.perform(context, transaction, &plan)
        }
    }

    // MARK: Failing

    /// - Parameter reported: the error of the responses.
    private func fail(_ batch: [Intake.Submission], _ error: StoreError, telling reported: StoreError) {
        counters.failed()
        // Before any response, which would claim more than is known.
        if case .syncFailed = error { hooks.onDurabilityLost(error) }
        health.failed(error, refused: batch.count { $0.isRequest }, at: clock.monotonic())
        for submission in batch { refuse(submission, reported) }
    }

    private func refuse(_ submission: Intake.Submission, _ error: StoreError) {
        switch submission {
        case .publish(let publication): publication.completion(.refused(.store(error)))
        case .checkpoint(_, let answer): answer(false)
        case .command(let command): command.refuse(.store(error))
        }
    }
}
