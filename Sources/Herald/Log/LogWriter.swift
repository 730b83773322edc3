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
    let auth: AuthProjection
    let appState: AppStateProjection
    let registry: Registry
    let ids: ULIDGenerator
    let clock: Clock
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
        var settledByLoop: [Sequence]
        var nextDelegateKey: DelegateKey
        var head: Sequence
        var nextCleaning: Int64 = 0

        init(_ start: Start) {
            settledByLoop = start.settledByLoop
            nextDelegateKey = start.nextDelegateKey
            head = start.head
        }
    }

    /// What a transaction did, to be carried out once it is durable.
    struct Plan {
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
