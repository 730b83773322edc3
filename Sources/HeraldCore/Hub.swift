package import Delegation
package import HeraldJSON
package import HeraldRuntime
import Synchronization

/// Publishes events to delegates: webhooks, objects of the process, and those who follow the log.
///
/// Publishing is: make the events durable, then call the delegates. Every method may be called from any thread; the
/// documentation of each closure says where it is called. A hub that nothing refers to stops by itself.
public final class Hub: Sendable {
    package let ids = ULIDGenerator()
    package let secret: ServerSecret
    package let clock: Clock
    package let registry: Registry
    package let catalogue: EventTypeCatalogue
    package let keys: KeyRing
    package let apps: AppCatalogue
    package let sessions: SessionStore
    package let usage: LogUsage
    package let auth = AuthProjection()
    package let appState: AppStateProjection
    /// What settings of webhooks may be.
    package let rules: WebhookRules
    private let store: any EventStore
    /// The recent events, the projections of auth status and app state, objects of the process, and the delivery loops, which
    /// call the webhooks.
    private let delegates = MulticastDelegate<any EventDelegate>()
    private let inMemory = Mutex<[InMemoryDelegate]>([])
    let recentEvents: RecentEvents
    private let intake: Intake
    private let writer: LogWriter
    private let readers: ReaderPool
    private let loops: [DeliveryLoop]
    private let retention: RetentionTask
    private let keyUse: KeyUseTask
    private let rates: EventRates
    private let threads: HubThreads

    /// Recovers what the store holds and starts the threads.
    /// - Parameters:
    ///   - makeSender: a sender for each delivery loop.
    ///   - onDurabilityLost: called on the writer's thread when the store can't say what is on disk: the process has to end.
    package init(
        store: any EventStore, configuration: Configuration = Configuration(), clock: Clock = .system,
        onDurabilityLost: @escaping @Sendable (StoreError) -> Void, makeSender: () throws -> any CallbackSender
    ) throws {
        self.store = store
        self.clock = clock
        var recovery = try store.recover()
        recovery.delegates = recovery.delegates.map(\.repaired)
        secret = recovery.secret
        registry = Registry(recovery.delegates)
        catalogue = EventTypeCatalogue(recovery.eventTypes)
        keys = KeyRing(recovery.keys)
        apps = AppCatalogue(recovery.apps, next: recovery.nextAppKey)
        sessions = SessionStore(recovery.sessions)
        appState = AppStateProjection(recovery.appStates)
        recentEvents = RecentEvents(
            head: recovery.head, maxEvents: configuration.maxRecentEvents, maxBytes: configuration.maxRecentBytes)
        usage = LogUsage(recovery, recentEvents)
        intake = try Intake(maxEvents: configuration.maxWaitingEvents, maxBytes: configuration.maxWaitingBytes)
        var loops: [DeliveryLoop] = []
        let firstSender = try makeSender()
        rules = WebhookRules { firstSender.problems(of: &$0) }
        for number in 0..<max(1, configuration.deliveryLoops) {
            let sender = number == 0 ? firstSender : try makeSender()
            loops.append(try DeliveryLoop(sender: sender, recentEvents: recentEvents, clock: clock))
        }
        self.loops = loops
        // What has threads at once comes behind all that can fail.
        readers = try ReaderPool(store: store, threads: max(1, configuration.readers))
        let memory = CommitObserver(
            registry: registry, catalogue: catalogue, keys: keys, apps: apps, sessions: sessions, auth: auth,
            recentEvents: recentEvents,
            usage: usage,
            loops: loops.count,
            tell: { [loops] number, message in loops[number].post(message) })
        writer = LogWriter(
            store: store, intake: intake, delegates: delegates, auth: auth, appState: appState, registry: registry,
            catalogue: catalogue, keys: keys, apps: apps, sessions: sessions, usage: usage, ids: ids, clock: clock,
            hooks: .init(changed: memory.take, onDurabilityLost: onDurabilityLost))
        retention = RetentionTask(
            configuration.retention, readers: readers, intake: intake, clock: clock)
        rates = EventRates(apps, clock: clock)
        keyUse = KeyUseTask(keys, intake: intake, clock: clock)
        threads = HubThreads(
            store: store, intake: intake, writer: writer, readers: readers, loops: loops, clock: clock)
        delegates.addDelegate(recentEvents)
        addDelegate(auth, description: "Auth status: who is logged in")
        addDelegate(appState, description: "App state: the current one")
        try start(recovery)
    }

    /// Objects that are called once the hub has stopped. One that is added later may miss the call: it asks `isStopping`.
    package var stopObservers: MulticastDelegate<any StopObserver> { threads.observers }
    /// Whether `stop` was called.
    package var isStopping: Bool { threads.isStopping }

    /// A hub that nobody has stopped is stopped when nobody has it any more: attempts in flight are cut off, and made again
    /// by the next hub on the store.
    deinit { threads.stop(grace: 0) }

    private func start(_ recovery: Recovery) throws {
        // In the registration order of the multicast the loops come last: what is in the process is up to date when a
        // webhook is called.
        for (number, loop) in loops.enumerated() {
            try loop.start(
                name: "deliver-\(number + 1)", settled: recovery.settled,
                lanes: recovery.lanes(of: number, among: loops.count), services: services(forLoop: number))
            delegates.addDelegate(loop)
        }
        try writer.start(
            .init(
                settledByLoop: Array(repeating: recovery.settled, count: loops.count),
                nextDelegateKey: recovery.nextDelegateKey, head: recovery.head, lastMark: recovery.lastMark))
    }

    private func services(forLoop number: Int) -> DeliveryLoop.Services {
        // One of the loops looks after the log's length: it has the timers.
        let runMaintenance: @Sendable () -> Void = { [retention, keyUse] in
            retention.look()
            keyUse.look()
        }
        return DeliveryLoop.Services(
            readPage: { [readers] after, answer in
                let taken = readers.submit { reader in
                    answer(
                        try? reader.get().events(
                            after: after, limit: PageCache.eventsPerPage, maxBytes: PageCache.bytesPerPage))
                }
                if !taken { answer(nil) }
            },
            submit: { [intake] checkpoint, answer in intake.submit(checkpoint, loop: number, answer: answer) },
            makeID: { [ids, clock] in ids.next("evt_", time: clock.wall()) },
            runMaintenance: number == 0 ? runMaintenance : nil)
    }

    // MARK: Delegates in the process

    /// Adds an object that is called with every event from now on, on the writer's thread: see ``EventDelegate``. It is held
    /// weakly, and once however often it is added.
    /// - Parameter description: what it is for, in a few words; shown in the list of delegates.
    public func addDelegate(_ delegate: any EventDelegate, description: String) {
        guard delegates.addDelegate(delegate) else { return }
        let now = clock.wall()
        let entry = InMemoryDelegate(
            id: ids.next("dlg_", time: now), description: description, createdAt: now,
            identity: ObjectIdentifier(delegate), delegate: delegate)
        _ = inMemoryDelegates
        inMemory.withLock { $0.append(entry) }
    }

    /// Removes an object that was added; one that was not is ignored. A call that runs already on the writer's thread may
    /// still end after this.
    public func removeDelegate(_ delegate: any EventDelegate) {
        delegates.removeDelegate(delegate)
        let identity = ObjectIdentifier(delegate)
        inMemory.withLock { $0.removeAll { $0.identity == identity } }
    }

    /// The objects of the process that are told, in the order of their registration.
    package var inMemoryDelegates: [InMemoryDelegate] {
        // To ask whether one lives takes a reference for a moment, and that may turn out to be the last: its deinit, which
        // may want to remove itself, must not run under the lock.
        let entries = inMemory.withLock { $0 }
        let released = Set(entries.lazy.filter { $0.delegate == nil }.map(\.id))
        if released.isEmpty { return entries }
        inMemory.withLock { $0.removeAll { released.contains($0.id) } }
        return entries.filter { !released.contains($0.id) }
    }

    // MARK: Writing

    /// Makes events durable and tells everyone. See `Publication` for who is answered when.
    package func publish(_ publication: Publication) {
        if let refusal = submit(publication, { intake.submit($0) }) { publication.completion(.refused(refusal)) }
    }

    /// The same for one of several publications that are at hand: the writer may wait for the others until `flush`, which
    /// has to follow at once. What is committed together costs less.
    package func enqueue(_ publication: Publication) {
        if let refusal = submit(publication, { intake.enqueue($0) }) { publication.completion(.refused(refusal)) }
    }

    private func submit(_ publication: Publication, _ take: (Publication) -> WriteRefusal?) -> WriteRefusal? {
        do throws(WriteRefusal) {
            let checked = try publication.checked()
            return rates.refusal(checked.app, events: checked.drafts.count) ?? take(checked)
        } catch {
            return error
        }
    }

    /// All publications that were at hand are gathered.
    package func flush() { intake.flush() }

    /// Has the writer perform a command: a change of the delegates, the deliveries, the event types, the keys or the apps. It
    /// answers who waits for it, on the writer's thread, or at once when it is refused.
    package func submit(_ command: some StoreCommand) {
        guard let command = command.checked(by: rules) else { return }
        if let refusal = intake.submit(command) { command.refuse(refusal) }
    }

    // The same for apps that embed a hub, which do not see `StoreCommand`.

    /// Registers, changes or removes webhooks. What the rules don't allow comes to `Outcome.invalid`.
    package func change(_ write: RegistryWrite) { submit(write) }
    /// Makes deliveries again, ends or replays them, or erases events.
    package func manage(_ write: DeliveryWrite) { submit(write) }
    /// Describes an event type, or forgets its description.
    package func describe(_ write: EventTypeWrite) { submit(write) }
    /// Makes, replaces or revokes keys.
    package func administer(_ write: AccessWrite) { submit(write) }
    /// Makes, changes or removes apps.
    package func change(_ write: AppWrite) { submit(write) }

    /// Waits for the outcome of the first attempts of events that are about to be published; hand the result to
    /// `EventInput.Context`.
    /// - Parameters:
    ///   - events: how many will carry it, ≥ 1.
    ///   - seconds: how long to wait.
    ///   - completion: called once on some thread: with all outcomes, or with `nil` when the time is up; must not wait.
    package func watch(
        events: Int, seconds: Int, completion: @escaping @Sendable ([DeliveryWatch.Report]?) -> Void
    ) -> DeliveryWatch {
        let watch = DeliveryWatch(events: events, loops: loops.count, completion: completion)
        // Ten years at most: more would be no number of nanoseconds.
        let end = clock.monotonic() + Int64(min(max(seconds, 0), 315_360_000)) * 1_000_000_000
        for loop in loops { loop.post(.expire(watch, at: end)) }
        return watch
    }

    /// Calls `body` once when the time is up, on a loop's thread; it must not wait.
    package func after(seconds: Int, _ body: @escaping @Sendable () -> Void) {
        // A watch that no event carries can only expire.
        _ = watch(events: 1, seconds: seconds) { _ in body() }
    }

    /// Calls a delegate now, outside its lane, with an event of the type `herald.test` that is in no log.
    /// - Parameter completion: called once on a loop's thread, must not wait; `nil`: the delegate is gone, or too much is
    ///   open already.
    package func test(_ delegate: WebhookDelegate, completion: @escaping @Sendable (CallbackOutcome?) -> Void) {
        loops.owner(of: delegate.key).post(.test(delegate.key, answer: completion))
    }

    // MARK: Reading

    /// Who would be told of an event, and why the others would not; those in the process included. Looks at every
    /// delegate: not for a loop's thread.
    /// - Parameter budget: for all filters together. When it is spent, the answer means nothing.
    package func explain(_ event: Event, within budget: inout WorkBudget) -> [DeliveryExplanation] {
        let view = EventView(event, within: budget)
        defer { budget = view.budget }
        var explanations: [DeliveryExplanation] = []
        for delegate in registry.list(event.app) {
            view.spend(20 + 4 * delegate.settings.subjects.count)
            if view.budget.isSpent { break }
            explanations.append(DeliveryExplanation(delegate, view))
        }
        return explanations
    }

    /// What has been counted of a delegate's attempts and is not in the store yet.
    package func currentStatistics(_ key: DelegateKey) -> [DeliveryStatistics] {
        loops.owner(of: key).board.statistics(key)
    }

    /// Runs `body` on a reader's thread.
    /// - Returns: `false` when too many reads wait; `body` is not called then.
    package func read(_ body: @escaping @Sendable (Result<any StoreReader, StoreError>) -> Void) -> Bool {
        readers.submit(body)
    }

    /// Whether the storage works: what the last commits came to, and whether the disk has room. While it does not, publications
    /// are refused; it is tried again by itself. Any thread; cheap.
    /// - Throws: what is wrong.
    public func health() throws(StoreError) {
        try storage.check()
        try store.health()
    }

    package var storage: StorageHealth { writer.health }

    /// The events that the store has found to be damaged.
    package var damagedEvents: DamagedEvents { store.damagedEvents }

    /// The log after a position, as far as memory has it; `nil`: the store does. Any thread.
    package func recentEvents(after sequence: LogPosition, limit: Int) -> EventBatch? {
        switch recentEvents.slice(after: sequence, limit: limit) {
        case .events(let batch): batch
        case .end: EventBatch(first: sequence + 1, events: [])
        case .gone: nil
        }
    }

    /// The position of the last event of the log; 0 before the first. Any thread.
    package var head: LogPosition { recentEvents.head }

    /// Where a webhook's lane stands, when there is something to tell.
    package func lane(of key: DelegateKey) -> LaneSnapshots.Entry? { loops.owner(of: key).board.entry(key) }

    /// Whether what became of an event may not be in the store yet, for a webhook whose lane has nothing to tell.
    package func isOnItsWay(_ sequence: LogPosition, to key: DelegateKey) -> Bool {
        sequence > loops.owner(of: key).board.settled
    }

    package var writerCounters: WriterCounters { writer.counters }
    package var deliveryCounters: [DeliveryCounters] { loops.map(\.counters) }
    package var laneBoards: [LaneSnapshots] { loops.map(\.board) }
    package var intakeDepth: IntakeDepth { intake.depth }
    /// Reads that wait for a reader's thread.
    package var readsWaiting: Int { readers.waiting }

    // MARK: Stopping, in this order

    /// Publishers are refused from here on; who waits is still answered.
    package func refusePublications() {
        keyUse.write()
        intake.refusePublications()
    }

    /// Returns when everything that was submitted before is committed and answered.
    /// - Throws: `HubWaitError.onWriterThread` where it would wait for itself: in what the writer calls, which are delegates of
    ///   the process and completions of writes.
    package func drain() throws(HubWaitError) {
        if writer.isCaller { throw .onWriterThread }
        let done: Semaphore
        do throws(SystemError) {
            done = try Semaphore()
        } catch {
            throw .system(error)
        }
        submit(Barrier { done.signal() })
        done.wait()
    }

    /// Calls `body` once everything that was submitted before is committed and answered: on the writer's thread, or at once
    /// after the end. It must not wait. Any thread.
    package func afterDraining(_ body: @escaping @Sendable () -> Void) { submit(Barrier(reached: body)) }

    /// Finishes what is in flight, writes the last checkpoint, and closes the store. The last call.
    ///
    /// Waits until that is done; where one of the hub's own threads calls, which are those of delegates and completions, it
    /// returns at once and the rest is done behind it.
    /// - Parameter grace: nanoseconds that attempts in flight get.
    package func stop(grace: Int64) {
        refusePublications()
        threads.stop(grace: grace)
    }
}

extension [DeliveryLoop] {
    /// The loop that owns a delegate's lane.
    fileprivate func owner(of key: DelegateKey) -> DeliveryLoop { self[Recovery.loop(of: key, among: count)] }
}
