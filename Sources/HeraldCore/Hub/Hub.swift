package import Delegation
package import HeraldDelivery
package import HeraldJSON
public import HeraldModel
package import HeraldRuntime
import Synchronization

/// Publishes events to delegates: webhooks, objects in the process, and sequences and streams of the log.
///
/// Publishing makes the events durable, and then calls the delegates. Every method can be called on any thread; the
/// documentation of each closure says where it is called. A hub stops when it is deallocated.
public final class Hub: Sendable {
    package let ids = ULIDGenerator()
    package let secret: ServerSecret
    package let clock: Clock
    /// The state of the store in memory.
    package let committed: CommittedState
    /// The rules for settings of webhooks.
    package let rules: WebhookRules
    /// Makes the request for an event and sends it nowhere.
    package let preview: @Sendable (WebhookDelegate, Event) -> RequestPreview
    /// How long events and attempts are kept, and their budgets.
    package let retentionLimits: Retention
    /// `nil` if nothing is traced.
    package let tracer: (any Tracer)?
    /// The size of a page of the log that lanes or streams read from the store.
    let pageBytes: Int
    /// The largest size of the events in one list.
    package let maxListBytes: Int
    private let publicationLimits: PublicationLimits
    let awaitedRoom: ByteRoom<AppKey>
    private let store: any EventStore
    /// The recent events, the projections of auth status and app state, objects in the process, and the delivery loops,
    /// which call the webhooks.
    private let delegates = MulticastDelegate<any EventDelegate>()
    /// Called after changes of pull delegates.
    package let pullObservers = MulticastDelegate<any PullObserver>()
    /// Called when attempts were recorded.
    package let attemptObservers = MulticastDelegate<any AttemptObserver>()
    private let inMemory = Mutex<[InMemoryDelegate]>([])
    let intake: Intake
    private let writer: LogWriter
    private let readers: ReaderPool
    let loops: [DeliveryLoop]
    private let retention: RetentionTask
    private let keyUse: KeyUseTask
    private let volumes: VolumeTask
    /// Moves events that programs have published with SQL into the log.
    package let submissions: SubmissionTask
    private let rates: EventRates
    private let threads: HubThreads
    let node: LocalNode

    /// Recovers the content of the store and starts the threads.
    /// - Parameters:
    ///   - keysRecovered: called with the access keys, before the first callback is sent.
    ///   - makeSender: creates a sender for each delivery loop.
    ///   - onDurabilityLost: called on the writer's thread when the state of the data on disk is unknown: the process
    ///     has to end.
    package init(
        store: any EventStore, configuration: Configuration = Configuration(), clock: Clock = .system,
        onDurabilityLost: @escaping @Sendable (StoreError) -> Void, keysRecovered: (KeyRing) -> Void = { _ in },
        makeSender: () throws -> any CallbackSender
    ) throws {
        self.store = store
        let sharing = try LocalNode.Sharing(store, clock: clock)
        let clock = sharing.clock
        self.clock = clock
        retentionLimits = configuration.retention
        tracer = configuration.tracer
        pageBytes = configuration.loop.pageBytes
        maxListBytes = configuration.maxListBytes
        publicationLimits = configuration.publicationLimits
        awaitedRoom = ByteRoom(maxBytes: configuration.maxAwaitedBytes)
        var recovery = try store.recover()
        recovery.delegates = recovery.delegates.map(\.repaired)
        secret = recovery.secret
        committed = CommittedState(recovery, configuration.memory)
        keysRecovered(committed.keys)
        let recentEvents = committed.recentEvents
        intake = Intake(maxEvents: configuration.maxWaitingEvents, maxBytes: configuration.maxWaitingBytes)
        let limits = sharing.limits(configuration.loop)
        let origins = OriginRates()
        var loops: [DeliveryLoop] = []
        let firstSender = try makeSender()
        rules = WebhookRules { firstSender.problems(of: &$0) }
        preview = { firstSender.preview(Callback(token: 0, delegate: $0, event: $1, attempt: 1)) }
        for number in 0..<min(max(1, configuration.deliveryLoops), Shards.count) {
            let sender = number == 0 ? firstSender : try makeSender()
            loops.append(
                DeliveryLoop(
                    sender: sender, recentEvents: recentEvents, limits: limits, origins: origins, clock: clock))
        }
        self.loops = loops
        // Created after everything that can fail, because it starts threads.
        let health = StorageHealth()
        readers = try ReaderPool(store: store, threads: max(1, configuration.readers), health: health, clock: clock)
        let attemptRoom = AttemptRoom()
        retention = RetentionTask(
            configuration.retention, readers: readers, intake: intake, committed: committed, attemptRoom: attemptRoom,
            health: health, clock: clock, lastMark: recovery.lastMark,
            send: { [loops] message in for loop in loops { loop.post(message) } })
        let observer = CommitObserver(
            committed: committed, recordedAttempts: { [retention] in retention.recorded(attemptBytes: $0) },
            loops: loops.count, clock: clock, pulls: pullObservers, attempts: attemptObservers,
            send: { [loops] number, message in loops[number].post(message) })
        rates = EventRates(committed.apps, clock: clock)
        volumes = VolumeTask(loops.map(\.board.volumes) + [committed.pulls.volumes], intake: intake, clock: clock)
        node = LocalNode(
            sharing, committed: committed, intake: intake, readers: readers, loops: loops,
            maxRows: configuration.loop.waitingDeliveries / 2, restored: retention.restore)
        submissions = SubmissionTask(
            readers: readers, intake: intake, clock: clock, isResponsible: { [node] in node.runsMaintenance },
            after: { [loops] milliseconds, body in
                loops[0].after(nanoseconds: Int64(milliseconds) * 1_000_000, body)
            })
        writer = LogWriter(
            store: store, intake: intake, delegates: delegates, committed: committed, ids: ids, clock: clock,
            lastMark: recovery.lastMark, attempts: attemptRoom, health: health, tracer: tracer,
            hooks: .init(
                changed: observer.apply,
                followed: { [rates] in rates.follow($0.events) }, published: volumes.count, submitted: submissions.run,
                onDurabilityLost: onDurabilityLost))
        keyUse = KeyUseTask(committed.keys, intake: intake, clock: clock)
        threads = HubThreads(
            store: store, intake: intake, writer: writer, readers: readers, loops: loops, volumes: volumes, node: node,
            clock: clock)
        delegates.addDelegate(recentEvents)
        delegates.addDelegate(retention)
        addDelegate(committed.auth, description: "Auth status: who is logged in")
        addDelegate(committed.appState, description: "App state: the current one")
        try start(recovery)
    }

    /// Objects that are called once the hub has stopped. One that is added later may miss the call: it should check
    /// `isStopping`.
    package var stopObservers: MulticastDelegate<any StopObserver> { threads.observers }
    /// Whether `stop` was called.
    package var isStopping: Bool { threads.isStopping }
    /// Calls `body` once the hub has stopped: the store is closed. At once if it has. Any thread; must not wait.
    package func whenStopped(_ body: @escaping @Sendable () -> Void) { threads.whenStopped(body) }

    /// A hub that was not stopped is stopped when it is deallocated: attempts in flight are aborted, and made again by
    /// the next hub on the store.
    deinit { threads.stop(grace: 0) }

    private func start(_ recovery: Recovery) throws {
        let first = node.shards.held
        let lanes =
            first.isEmpty ? LaneRecovery() : try store.lanes(of: first, recovery.delegates, maxRows: node.maxRows)
        retention.restore(lanes, recovery.delegates)
        // It waits for the loops. If one of them can't start, those before it write their last checkpoints.
        let haveLoops = Semaphore()
        defer { haveLoops.signal() }
        try writer.start(.init(recovery)) { [node, lastChange = recovery.lastChange] in
            haveLoops.wait()
            return node.cluster(after: lastChange)
        }
        // The loops are registered last in the multicast: objects in the process are up to date when a webhook is
        // called.
        for (number, loop) in loops.enumerated() {
            let shards = Shards(ofLoop: number, among: loops.count).intersection(first)
            try loop.start(
                name: "deliver-\(number + 1)",
                settled: shards.isEmpty ? recovery.head : lanes.settled.earliest(of: shards),
                shards: shards,
                lanes: lanes.lanes(of: shards, recovery.delegates), services: services(forLoop: number))
            delegates.addDelegate(loop)
        }
        if let outcomes = node.outcomes { delegates.addDelegate(outcomes) }
        node.lanes.begin()
        store.observe { [weak intake, loops] in
            intake?.catchUp()
            return loops.contains { $0.isAwaitingEvents }
        }
    }

    private func services(forLoop number: Int) -> DeliveryLoop.Services {
        // One of the loops maintains the log's length, because loops have timers.
        let runMaintenance: @Sendable () -> Void = { [retention, keyUse, volumes, node] in
            retention.runWhenDue(isResponsible: node.runsMaintenance)
            keyUse.run()
            volumes.run()
            node.refresh()
        }
        return DeliveryLoop.Services(
            readPage: { [readers, pageBytes] after, answer in
                let taken = readers.submit(app: nil) { reader in
                    let page = readers.found(reader) { reader throws(StoreError) in
                        try reader.events(after: after, limit: PageCache.eventsPerPage, maxBytes: pageBytes)
                    }
                    answer(page)
                }
                if !taken { answer(nil) }
            },
            readRows: { [readers] query, answer in
                let taken = readers.submit(app: nil) { reader in
                    answer(readers.found(reader) { reader throws(StoreError) in try reader.rows(query) })
                }
                if !taken { answer(nil) }
            },
            submit: { [intake] checkpoint, answer in intake.submit(checkpoint, answer: answer) },
            permit: node.permit, tracer: tracer, makeID: { [ids, clock] in ids.next("evt_", time: clock.wall()) },
            runMaintenance: number == 0 ? runMaintenance : nil)
    }

    // MARK: Delegates in the process

    /// Adds an object that is called with every event from now on, on the writer's thread: see ``EventDelegate``. It is
    /// held weakly, and called once even if it is added repeatedly.
    /// - Parameter description: its purpose; shown in the list of delegates.
    public func addDelegate(_ delegate: any EventDelegate, description: String) {
        guard delegates.addDelegate(delegate) else { return }
        let now = clock.wall()
        let entry = InMemoryDelegate(
            id: ids.next("dlg_", time: now), description: description, createdAt: now,
            identity: ObjectIdentifier(delegate), delegate: delegate)
        _ = inMemoryDelegates
        inMemory.withLock { entries in
            // Another thread may have removed it and added it again.
            entries.removeAll { $0.identity == entry.identity }
            entries.append(entry)
        }
        // A removal on another thread may have come before the entry.
        if !delegates.contains(delegate) { inMemory.withLock { $0.removeAll { $0.id == entry.id } } }
    }

    /// Removes an added object; others are ignored. A call in progress on the writer's thread may end after this.
    public func removeDelegate(_ delegate: any EventDelegate) {
        delegates.removeDelegate(delegate)
        let identity = ObjectIdentifier(delegate)
        inMemory.withLock { $0.removeAll { $0.identity == identity } }
    }

    /// The delegates in the process, in the order of their registration.
    package var inMemoryDelegates: [InMemoryDelegate] {
        // Checking that one is alive takes a reference for a moment, which may be the last one: its deinit may remove
        // itself, so it must not run with the lock held.
        let entries = inMemory.withLock { $0 }
        let released = Set(entries.lazy.filter { $0.delegate == nil }.map(\.id))
        if released.isEmpty { return entries }
        inMemory.withLock { $0.removeAll { released.contains($0.id) } }
        return entries.filter { !released.contains($0.id) }
    }

    // MARK: Writing

    /// Makes events durable and calls all delegates. See `Publication` for its completion.
    package func publish(_ publication: Publication) {
        if let refusal = submit(publication, { intake.submit($0) }) { publication.completion(.refused(refusal)) }
    }

    /// Enqueues one of several publications that are available together: the writer may wait for the others until
    /// `flush`, which must follow at once. A common commit is cheaper.
    package func enqueue(_ publication: Publication) {
        if let refusal = submit(publication, { intake.enqueue($0) }) { publication.completion(.refused(refusal)) }
    }

    private func submit(_ publication: Publication, _ take: (Publication) -> HubError?) -> HubError? {
        do throws(HubError) {
            let checked = try publication.checked(publicationLimits)
            return rates.refusal(checked.app, events: checked.drafts.count) ?? take(checked)
        } catch {
            return error
        }
    }

    /// All available publications are enqueued.
    package func flush() { intake.flush() }

    /// Submits a command: a change of the delegates, the deliveries, the event types, the keys or the apps. It
    /// completes on the writer's thread, or at once if it is refused.
    /// - Parameter ticket: lets it wait for room in the queue; `nil`: it is refused if there is none.
    package func submit(_ command: some StoreCommand, _ ticket: WriteTicket? = nil) {
        guard let command = command.checked(by: rules) else { return }
        if let refusal = intake.submit(command, ticket) { command.refuse(refusal) }
    }

    /// Completes a write with `.cancelled`, unless the writer has taken it. Any thread.
    package func withdraw(_ ticket: WriteTicket) { intake.withdraw(ticket) }

    /// Calls `body` once after this time, at most ten years, on a loop's thread; it must not wait. See `DeliveryLoop.after`.
    package func after(milliseconds: Int, _ body: @escaping @Sendable () -> Void) {
        loops[0].after(nanoseconds: Int64(min(milliseconds, 315_360_000_000)) * 1_000_000, body)
    }

    /// Calls a delegate now, outside its lane, with an event that is not logged.
    /// - Parameters:
    ///   - event: `nil` for one of the type `herald.test`.
    ///   - completion: called once, on a loop's thread, or on this one after the end of the loops; must not wait. `nil` if
    ///     the delegate does not exist any more, too many requests are open, or the hub stops.
    package func test(
        _ delegate: WebhookDelegate, _ event: Event? = nil, completion: @escaping @Sendable (CallbackOutcome?) -> Void
    ) {
        loops.owner(of: delegate.key).post(.test(delegate, event, answer: completion))
    }

    // MARK: Reading

    /// Which delegates would get an event, and why the others would not, including those in the process. Examines every
    /// delegate: not for a loop's thread.
    /// - Parameter budget: for all filters together. If it is exhausted, the result is meaningless.
    package func explain(_ event: Event, within budget: inout WorkBudget) -> [DeliveryExplanation] {
        let view = EventView(event, within: budget)
        defer { budget = view.budget }
        var explanations: [DeliveryExplanation] = []
        for delegate in committed.registry.list(event.app) {
            view.spend(20 + 4 * delegate.settings.subjects.count)
            if view.budget.isSpent { break }
            explanations.append(DeliveryExplanation(delegate, view))
        }
        return explanations
    }

    /// Counted attempts of a delegate that are not in the store yet.
    package func currentStatistics(_ key: DelegateKey) -> [DeliveryStatistics] {
        loops.owner(of: key).board.statistics(key)
    }

    /// Counts of events and attempts of this process that are not in the store yet.
    /// - Parameter app: `nil` for those of all apps.
    package func currentVolumes(of app: AppKey?) -> [Volume] { volumes.volumes(of: app) }

    /// Runs `body` on a reader's thread. The apps take turns.
    /// - Parameter app: `nil` for a read of the server itself, or for several apps together.
    /// - Returns: `false` if too many reads are waiting, in all or of this app; `body` is not called then.
    package func read(
        app: AppKey?, _ body: @escaping @Sendable (Result<any StoreReader, StoreError>) -> Void
    ) -> Bool {
        readers.submit(app: app, body)
    }

    /// Reads for the server itself, and reports a failure. A reader's thread.
    /// - Returns: `nil` if the read fails.
    package func found<Value>(
        _ reader: Result<any StoreReader, StoreError>, _ body: (any StoreReader) throws(StoreError) -> Value
    ) -> Value? {
        readers.found(reader, body)
    }

    /// Reports the error of a request if it is a row that can't be read. Any thread.
    func requestFailed(_ error: StoreError) { storage.requestFailed(error, at: clock.monotonic()) }

    /// Runs `body` on a reader's thread and waits for its result. For a thread that may wait: none of the hub's, and none that
    /// serves connections.
    /// - Throws: `.busy` if too many reads wait, `.store`.
    package func readAndWait<Value: Sendable>(
        app: AppKey?, _ body: @escaping @Sendable (any StoreReader) throws(StoreError) -> Value
    ) throws(HubError) -> Value {
        let done = Semaphore()
        let result = Mutex<Result<Value, StoreError>?>(nil)
        let isTaken = read(app: app) { reader in
            let outcome = Result { () throws(StoreError) in try body(try reader.get()) }
            result.withLock { $0 = outcome }
            done.signal()
        }
        guard isTaken else { throw .busy }
        done.wait()
        switch result.withLock({ $0 }) {
        case .success(let value): return value
        case .failure(let error): throw .store(error)
        case nil: throw .busy
        }
    }

    /// Throws if the last commit failed, the disk is almost full, or the store has not responded lately. While that
    /// lasts, publications are refused, or wait; it is tried again by itself. Any thread; cheap.
    /// - Throws: `HubError.stopping` from the beginning of a stop on, `.store` with what is wrong.
    public func health() throws(HubError) {
        if isStopping { throw .stopping }
        do throws(StoreError) {
            try storage.check()
            try store.health()
            if !isCurrent { throw .unavailable(reason: "it does not respond") }
        } catch {
            throw .store(error)
        }
    }

    package var storage: StorageHealth { writer.health }

    /// The threads that write and deliver.
    package var pulses: [Pulse] { threads.pulses }

    /// The events that the store has found to be damaged.
    package var damagedEvents: DamagedEvents { store.damagedEvents }

    /// The rows that the store has left out or replaced.
    package var damagedRows: DamagedRows { store.damagedRows }

    /// The recent events after a position; `nil` if they are only in the store. Any thread.
    package func recentEvents(after sequence: LogPosition, limit: Int) -> EventBatch? {
        switch committed.recentEvents.slice(after: sequence, limit: limit) {
        case .events(let batch): batch
        case .end: EventBatch(first: sequence + 1, events: [])
        case .gone: nil
        }
    }

    /// The position of the last event of the log; 0 before the first. Any thread.
    package var head: LogPosition { committed.recentEvents.head }

    package var writerCounters: WriterCounters { writer.counters }
    package var deliveryCounters: [DeliveryCounters] { loops.map(\.counters) }
    package var laneBoards: [LaneSnapshots] { loops.map(\.board) }
    package var intakeDepth: IntakeDepth { intake.depth }
    /// The number of reads that wait for a reader's thread.
    package var readsWaiting: Int { readers.waiting }

    // MARK: Stopping, in this order

    /// Refuses publications from here on; waiting ones still complete.
    package func refusePublications() {
        keyUse.write()
        volumes.write()
        intake.refusePublications()
    }

    /// Returns when everything that was submitted before is committed and completed.
    /// - Throws: `HubWaitError.onWriterThread` if it would wait for itself: on the writer's thread, which calls
    ///   delegates in the process and completions of writes.
    package func drain() throws(HubWaitError) {
        if writer.isCaller { throw .onWriterThread }
        threads.drain()
    }

    /// Calls `body` when everything that was submitted before is committed and completed: on the writer's thread, or at
    /// once after the end. It must not wait. Any thread.
    package func afterDraining(_ body: @escaping @Sendable () -> Void) { submit(Barrier(reached: body)) }

    /// Completes open work, writes the last checkpoint, and closes the store. Must be the last call.
    ///
    /// Waits until that is done. If one of the hub's own threads calls it (from a delegate or a completion), it returns
    /// at once and the rest is done afterwards.
    /// - Parameter grace: the time for attempts in flight, in nanoseconds.
    package func stop(grace: Int64) {
        refusePublications()
        retention.stop()
        threads.stop(grace: grace)
    }
}

extension [DeliveryLoop] {
    /// The loop that owns a delegate's lane.
    func owner(of key: DelegateKey) -> DeliveryLoop { self[Shards.loop(of: key, among: count)] }
}
