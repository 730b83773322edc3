import Delegation
import Runtime
import Synchronization

/// The one thread that writes: it takes whatever waits, commits it as one transaction with one flush, tells the
/// delegates, and answers everybody who waited. The time of a commit is what gathers the next batch: there is no linger.
final class LogWriter: Sendable {
    /// What the writer needs to know from the start.
    struct Start {
        let settledByLoop: [Sequence]
        let nextDelegateKey: DelegateKey
        let head: Sequence
    }

    /// Told on the writer's thread.
    struct Hooks: Sendable {
        /// After a delegate was set or removed durably.
        let changed: @Sendable (RegistryEffect) -> Void
        /// The store can't say what is on disk: the process has to end.
        let lost: @Sendable (StoreError) -> Void
    }

    let counters = WriterCounters()
    private let store: any EventStore
    private let intake: Intake
    private let delegates: MulticastDelegate<any EventDelegate>
    private let auth: AuthProjection
    private let appState: AppStateProjection
    private let registry: Registry
    private let ids: ULIDGenerator
    private let clock: Clock
    private let hooks: Hooks
    private let thread = Mutex<Thread?>(nil)

    init(
        store: any EventStore, intake: Intake, delegates: MulticastDelegate<any EventDelegate>,
        auth: AuthProjection, appState: AppStateProjection, registry: Registry, ids: ULIDGenerator, clock: Clock,
        hooks: Hooks
    ) {
        self.store = store
        self.intake = intake
        self.delegates = delegates
        self.auth = auth
        self.appState = appState
        self.registry = registry
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

    /// Waits until everything that the intake took is committed and answered; after `Intake.end`.
    func join() { thread.withLock { $0.take() }?.join() }

    // MARK: The writer's thread

    /// Commits what waits next; waits until there is something.
    /// - Returns: `false` when the intake has ended.
    func writeNext(_ state: inout State) -> Bool {
        guard let batch = intake.take() else { return false }
        write(batch, &state)
        return true
    }

    struct State {
        fileprivate var settledByLoop: [Sequence]
        fileprivate var nextDelegateKey: DelegateKey
        fileprivate var head: Sequence
        fileprivate var nextCleaning: Int64 = 0

        init(_ start: Start) {
            settledByLoop = start.settledByLoop
            nextDelegateKey = start.nextDelegateKey
            head = start.head
        }
    }

    /// What a transaction did, to be carried out once it is durable.
    private struct Plan {
        var events: [Event] = []
        var first: Sequence?
        var families: FamilyState
        var effect: RegistryEffect?
        var posted: [(publication: Publication, events: [PostedEvent])] = []
        /// To all others, in the order of their submissions.
        var answers: [() -> Void] = []
        var settledByLoop: [Sequence]
    }

    private func write(_ batch: [Intake.Submission], _ state: inout State) {
        var plan = Plan(families: FamilyState(auth, appState), settledByLoop: state.settledByLoop)
        let started = clock.monotonic()
        do {
            try store.transaction { transaction throws(StoreError) in
                plan = Plan(families: FamilyState(auth, appState), settledByLoop: state.settledByLoop)
                for submission in batch { try perform(submission, transaction, state, &plan) }
                try clean(transaction, state)
            }
        } catch {
            fail(batch, error)
            return
        }
        counters.committed(events: plan.events.count, nanoseconds: clock.monotonic() - started)
        state.settledByLoop = plan.settledByLoop
        if clock.wall() >= state.nextCleaning { state.nextCleaning = clock.wall() + Self.cleaningInterval }
        if let first = plan.first {
            let events = EventBatch(first: first, events: plan.events)
            state.head = events.last
            delegates.invokeDelegates { $0.published(events) }
        }
        if let effect = plan.effect {
            if case .set(let delegate) = effect { state.nextDelegateKey = max(state.nextDelegateKey, delegate.key + 1) }
            hooks.changed(effect)
        }
        for (publication, events) in plan.posted { publication.completion(.done(events)) }
        for answer in plan.answers { answer() }
    }

    private func perform(
        _ submission: Intake.Submission, _ transaction: any StoreTransaction, _ state: State, _ plan: inout Plan
    ) throws(StoreError) {
        switch submission {
        case .publish(let publication): try publish(publication, transaction, &plan)
        case .change(let write): try change(write, transaction, state, &plan)
        case .checkpoint(var checkpoint, let loop, let answer):
            if let settled = checkpoint.settled { plan.settledByLoop[loop] = settled }
            checkpoint.settled = plan.settledByLoop.min()
            try transaction.write(checkpoint)
            plan.answers.append { answer(true) }
        case .barrier(let reached): plan.answers.append(reached)
        }
    }

    // MARK: Publishing

    private func publish(
        _ publication: Publication, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        let completion = publication.completion
        if let idempotency = publication.idempotency,
            let result: WriteResult<[PostedEvent]> = try earlier(idempotency.key, publication.app, transaction)
        {
            plan.answers.append { completion(result) }
            return
        }
        var posted: [PostedEvent] = []
        posted.reserveCapacity(publication.drafts.count)
        for draft in publication.drafts { posted.append(try post(draft, transaction, &plan)) }
        if let idempotency = publication.idempotency, let answer = idempotency.answer(posted) {
            try remember(answer, idempotency.key, publication.app, transaction)
        }
        plan.posted.append((publication, posted))
    }

    private func post(
        _ draft: EventDraft, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) -> PostedEvent {
        let event = draft.event
        if draft.mayExist, let first = try transaction.event(app: event.app, id: event.id) {
            return PostedEvent(event: first.event, fate: .existed)
        }
        switch draft.family {
        case .none:
            try append(event, transaction, &plan)
            return PostedEvent(event: event, fate: .accepted)
        case .appState(let state, let onlyIfChanged, let ifMatch):
            let current = plan.families.appState(event.app)
            if let ifMatch, ifMatch != current?.eventID ?? AppState.unknownVersion {
                return PostedEvent(event: event, fate: .preconditionFailed)
            }
            if onlyIfChanged, let current, current.state == state { return PostedEvent(event: event, fate: .unchanged) }
            let completed = AppStateEvents.withPrevious(event, current?.state)
            try append(completed, transaction, &plan)
            let next = AppState(app: event.app, state: state, since: event.time, eventID: event.id)
            plan.families.set(next)
            try transaction.setAppState(next)
            return PostedEvent(event: completed, fate: .accepted)
        case .auth(let userID, let isLoggedIn, let user, let ifMatch):
            var current = plan.families.authStatus(event.app, userID)
            if current == nil { current = try transaction.authStatus(app: event.app, userID: userID) }
            if let ifMatch, ifMatch != current?.version ?? AuthStatus.unknownVersion {
                return PostedEvent(event: event, fate: .preconditionFailed)
            }
            try append(event, transaction, &plan)
            let next = AuthStatus.next(
                after: current, userID: userID, isLoggedIn: isLoggedIn, user: user, event: event)
            plan.families.set(next)
            try transaction.setAuthStatus(next)
            if event.type != AuthEvents.statusChanged, current?.isLoggedIn != isLoggedIn {
                // Not the event's time: a client chose that, and ids count on from the latest one.
                let id = ids.next("evt_", time: clock.wall())
                try append(AuthEvents.statusChanged(next, id: id, cause: event), transaction, &plan)
            }
            return PostedEvent(event: event, fate: .accepted)
        }
    }

    private func append(
        _ event: Event, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        let sequence = try transaction.append(event)
        if plan.first == nil { plan.first = sequence }
        plan.events.append(event)
    }

    // MARK: Changing the registry

    private func change(
        _ write: RegistryWrite, _ transaction: any StoreTransaction, _ state: State, _ plan: inout Plan
    ) throws(StoreError) {
        let completion = write.completion
        if let idempotency = write.idempotency,
            let result: WriteResult<RegistryWrite.Outcome> = try earlier(idempotency.key, write.app, transaction)
        {
            plan.answers.append { completion(result) }
            return
        }
        let head = plan.first.map { $0 + Sequence(plan.events.count) - 1 } ?? state.head
        let now = clock.wall()
        let (outcome, effect) = registry.decide(
            write, .init(key: state.nextDelegateKey, start: head, time: now) { [ids] in ids.next("dlg_", time: now) })
        switch effect {
        case .set(let delegate):
            try transaction.setDelegate(delegate)
            if case .registered = outcome { try transaction.write(Self.firstRow(of: delegate)) }
        case .remove(let delegates):
            for delegate in delegates { try transaction.removeDelegate(delegate.key, at: now) }
        case nil: break
        }
        plan.effect = effect
        if let idempotency = write.idempotency, let answer = idempotency.answer(outcome) {
            try remember(answer, idempotency.key, write.app, transaction)
        }
        plan.answers.append { completion(.done(outcome)) }
    }

    /// A lane has a row until its loop has written a checkpoint that knows it: a common position from before must not
    /// count for it.
    private static func firstRow(of delegate: WebhookDelegate) -> Checkpoint {
        var checkpoint = Checkpoint()
        checkpoint.lanes = [LanePosition(delegate: delegate.key, cursor: delegate.start, position: delegate.start)]
        return checkpoint
    }

    // MARK: Idempotency

    /// What a request with this key was answered before, if it was.
    private func earlier<Outcome>(
        _ key: IdempotencyKey, _ app: AppKey, _ transaction: any StoreTransaction
    ) throws(StoreError) -> WriteResult<Outcome>? {
        guard let answer = try transaction.answer(app: app, key: key.key, now: clock.wall()) else { return nil }
        return answer.fingerprint == key.fingerprint ? .replayed(answer) : .refused(.keyReused)
    }

    private func remember(
        _ answer: StoredAnswer, _ key: IdempotencyKey, _ app: AppKey, _ transaction: any StoreTransaction
    ) throws(StoreError) {
        try transaction.setAnswer(
            answer, app: app, key: key.key, expiresAt: clock.wall() + IdempotencyKey.lifetime)
    }

    /// Forgets answers that expired, a few at a time.
    private func clean(_ transaction: any StoreTransaction, _ state: State) throws(StoreError) {
        let now = clock.wall()
        guard now >= state.nextCleaning else { return }
        try transaction.removeExpiredAnswers(now: now, limit: Self.cleaningLimit)
    }

    /// Milliseconds between two cleanings, and rows that one deletes at most.
    private static let cleaningInterval: Int64 = 1_000
    private static let cleaningLimit = 500

    // MARK: Failing

    private func fail(_ batch: [Intake.Submission], _ error: StoreError) {
        counters.failed()
        // Before anyone is answered: an answer would say more than is known.
        if case .syncFailed = error { hooks.lost(error) }
        for submission in batch {
            switch submission {
            case .publish(let publication): publication.completion(.refused(.store(error)))
            case .change(let write): write.completion(.refused(.store(error)))
            case .checkpoint(_, _, let answer): answer(false)
            case .barrier(let reached): reached()
            }
        }
    }
}

/// What a change of the registry means for the loops.
enum RegistryEffect: Sendable {
    case set(WebhookDelegate)
    case remove([WebhookDelegate])
}
