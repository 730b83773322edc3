import Delegation
import HeraldRuntime
import HeraldTestSupport
import Synchronization

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// A store that refuses what it is told to refuse. What was committed before stays. It runs some transactions twice, as
/// stores may.
final class RefusingStore: EventStore {
    let memory: MemoryStore
    private let refuses = Atomic<Bool>(false)
    private let transactions = Atomic<Int>(0)
    private let failures = Mutex<[StoreError]>([])
    /// Why no reader can be made.
    let readError = Mutex<StoreError?>(nil)
    /// Called in each transaction.
    let duringTransaction = Mutex<(@Sendable () -> Void)?>(nil)
    /// The kinds of the transactions, in their order.
    let kinds = Recorder<TransactionKind>()

    /// `nil` if all delegates belong to this process.
    let memoryLeases: MemoryLeases?
    var leases: (any ShardLeases)? { memoryLeases.map { RefusingLeases($0, self) } }

    let clockOffset: Int64

    /// - Parameters:
    ///   - node: by which the delegates are shared with other processes.
    ///   - clockOffset: how far the clock of all processes is ahead of this one's, in milliseconds.
    init(_ memory: MemoryStore = MemoryStore(), node: NodeKey? = nil, clockOffset: Int64 = 0) {
        self.memory = memory
        self.clockOffset = clockOffset
        memoryLeases = node.map { MemoryLeases(memory, $0) }
    }

    /// The next transactions, except those that only record, fail with these errors, in this order. What is unknown is
    /// committed.
    func fail(_ errors: StoreError...) { fail(errors) }
    func fail(_ errors: [StoreError]) { failures.withLock { $0 = errors.reversed() } }

    func refuse(_ value: Bool) { refuses.store(value, ordering: .sequentiallyConsistent) }
    var isRefusing: Bool { refuses.load(ordering: .sequentiallyConsistent) }

    func recover() throws(StoreError) -> Recovery { try memory.recover() }
    func recover(_ shards: Shards, maxRows: Int) throws(StoreError) -> LaneRecovery {
        memory.recover(shards, maxRows: maxRows)
    }
    func transaction(
        _ kind: TransactionKind, _ body: (any StoreTransaction) throws(StoreError) -> Void
    ) throws(StoreError) -> Commit {
        if transactions.wrappingAdd(1, ordering: .relaxed).newValue % 3 == 0 {
            _ = try? memory.transaction(kind) { transaction throws(StoreError) in
                try body(transaction)
                throw .outdated
            }
        }
        kinds.record(kind)
        duringTransaction.withLock { $0 }?()
        let failure = kind == .recording ? nil : failures.withLock { $0.popLast() }
        let commit = try memory.transaction(kind) { transaction throws(StoreError) in
            try body(transaction)
            if let failure, !failure.isUnknown { throw failure }
            if isRefusing { throw .full }
        }
        if let failure { throw failure }
        return commit
    }

    func makeReader() throws(StoreError) -> any StoreReader {
        if isRefusing { throw .inputOutput(reason: "told to") }
        if let error = readError.withLock({ $0 }) { throw error }
        return memory.makeReader()
    }
    func health() throws(StoreError) { if isRefusing { throw .full } }
    var damagedEvents: DamagedEvents { memory.damagedEvents }
    var damagedRows: DamagedRows { memory.damagedRows }
    var isShared: Bool { true }
    func observe(_ notify: @escaping @Sendable () -> Bool) { memory.observe(notify) }
    func close() {}
}

/// Refuses while the store does.
private final class RefusingLeases: ShardLeases {
    private let leases: MemoryLeases
    private unowned let store: RefusingStore

    init(_ leases: MemoryLeases, _ store: RefusingStore) {
        self.leases = leases
        self.store = store
    }

    private func answer() throws(StoreError) { if store.isRefusing { throw .unavailable(reason: "told to") } }

    var node: NodeKey { leases.node }
    var held: Shards { leases.held }
    func heartbeat() throws(StoreError) -> [NodeKey] {
        try answer()
        return leases.heartbeat()
    }
    func take(_ shards: Shards) throws(StoreError) -> (taken: Shards, abandoned: Shards) {
        try answer()
        return leases.take(shards)
    }
    func leave() throws(StoreError) {
        try answer()
        leases.leave()
    }
    func give(_ shards: Shards) throws(StoreError) {
        try answer()
        leases.give(shards)
    }
}

extension StoreError {
    fileprivate var isUnknown: Bool { if case .unknown = self { true } else { false } }
}

/// A sender whose requests stay open until the simulation ends them. `@unchecked`: one thread.
final class SimulatedSender: CallbackSender, @unchecked Sendable {
    let capacity: Int
    private(set) var open: [Callback] = []
    /// Their receivers may have got them.
    private var aborted: [Callback] = []
    private let started: (Callback) -> Void

    init(capacity: Int, started: @escaping (Callback) -> Void) {
        self.capacity = capacity
        self.started = started
    }

    func start(_ callback: Callback) {
        open.append(callback)
        started(callback)
    }
    func take(_ index: Int) -> Callback { open.remove(at: index) }
    func poll(nanoseconds: Int64?, finished: (Int, CallbackOutcome) -> Void) {}
    func abort(_ shards: Shards) {
        aborted += open.filter { shards.contains($0.delegate.key) }
        open.removeAll { shards.contains($0.delegate.key) }
    }
    func takeAborted() -> [Callback] {
        defer { aborted = [] }
        return aborted
    }
    func wake() {}
    func close(finished: (Int, CallbackOutcome) -> Void) {}
}

/// The work of a delivery loop's thread, one step at a time. `@unchecked`: one thread.
final class SimulatedLoop: @unchecked Sendable {
    let sender: SimulatedSender
    private(set) var engine: DeliveryEngine!
    var inbox: [LoopMessage] = []
    /// Pages that were asked for.
    var reads: [LogPosition] = []
    /// Rows that were asked for.
    var rowReads: [StoredRowsQuery] = []

    init(
        sender: SimulatedSender, recentEvents: RecentEvents, clock: Clock, recovery: LaneRecovery, head: LogPosition,
        delegates: [WebhookDelegate],
        shards: Shards, size: SimulatedProcess.Size, permit: DeliveryPermit, isShared: Bool,
        random: @escaping () -> Double,
        submit: @escaping (Checkpoint, SimulatedLoop) -> Void
    ) {
        self.sender = sender
        engine = DeliveryEngine(
            ports: .init(
                sender: sender, recentEvents: recentEvents, clock: clock,
                readPage: { [unowned self] in reads.append($0) },
                readRows: { [unowned self] in rowReads.append($0) },
                submit: { [unowned self] in submit($0, self) }, random: random, makeID: { "evt_call" },
                permit: permit, runMaintenance: nil),
            settled: shards.isEmpty ? head : recovery.settled.earliest(of: shards), shards: shards,
            limits: .window(
                size.windowEvents, positionInterval: isShared ? 1_000_000_000 : 0, waiting: size.waiting,
                part: size.part))
        for lane in recovery.lanes(of: shards, delegates) {
            engine.set(lane.delegate, restored: lane.state)
        }
    }

    func readInbox() {
        let messages = inbox
        inbox = []
        for message in messages { engine.receive(message) }
    }
}

/// One life of the process, from its start to its crash or its clean stop. `@unchecked`: one thread.
final class SimulatedProcess: @unchecked Sendable {
    let intake: Intake
    let recentEvents: RecentEvents
    let registry: Registry
    let usage: LogUsage
    private var planner = RetentionPlanner(SimulatedProcess.retention)
    /// Only what the test says is too old.
    private static var retention: Retention {
        var retention = Retention()
        (retention.events, retention.attempts) = (nil, nil)
        return retention
    }
    let counts = ShardCounts([])
    let handover: ShardHandover
    let writer: LogWriter
    var writerState: LogWriter.State
    let cluster: SharedStore
    let freshness: Freshness
    private(set) var loops: [SimulatedLoop] = []
    private let delegates = MulticastDelegate<any EventDelegate>()
    /// Submissions that have not been answered.
    var unanswered = 0
    /// Successes that no committed checkpoint holds yet.
    var unrecorded: [DeliveryKey: Int] = [:]

    struct Size {
        let loops: Int
        let capacity: Int
        let maxRecentEvents: Int
        let windowEvents: Int
        /// Deliveries of one delegate that wait for a retry and are in memory.
        var waiting = LoopLimits().waitingDeliveries
        /// Attempts of a partial checkpoint.
        var part = LoopLimits().partSize

        func with(loops: Int) -> Size {
            Size(
                loops: loops, capacity: capacity, maxRecentEvents: maxRecentEvents, windowEvents: windowEvents,
                waiting: waiting, part: part)
        }
    }

    init(
        _ store: any EventStore, clock: Clock, size: Size, shards: Shards = .all, random: @escaping () -> Double,
        started: @escaping (Callback) -> Void, changed: @escaping @Sendable (WriteEffect) -> Void
    ) throws {
        let recovery = try store.recover()
        let lanes = try store.lanes(of: shards, recovery.delegates, maxRows: size.waiting / 2)
        intake = Intake()
        handover = ShardHandover()
        var limits = CommittedState.Limits()
        limits.maxRecentEvents = size.maxRecentEvents
        let committed = CommittedState(recovery, limits)
        let (registry, recentEvents) = (committed.registry, committed.recentEvents)
        self.registry = registry
        self.recentEvents = recentEvents
        usage = committed.usage
        let inboxes = Inboxes()
        let observer = CommitObserver(
            committed: committed, recordedAttempts: { _ in }, loops: size.loops, clock: clock,
            pulls: MulticastDelegate(), attempts: MulticastDelegate(),
            send: { inboxes.loops[$0].inbox.append($1) })
        writer = LogWriter(
            store: store, intake: intake, delegates: delegates, committed: committed, ids: ULIDGenerator(),
            clock: clock,
            hooks: .init(
                changed: { effect in
                    changed(effect)
                    observer.apply(effect)
                }, followed: { _ in }, onDurabilityLost: { _ in }))
        let permit = DeliveryPermit(isLimited: store.leases != nil)
        let ports = ShardManager.Ports(
            loops: size.loops, send: { inboxes.loops[$0].inbox.append($1) }, delegates: { registry.all }, wake: {},
            permit: permit, counts: counts, handover: handover, maxRows: size.waiting / 2,
            restored: { _, _ in })
        freshness = Freshness(clock)
        cluster = SharedStore(
            after: recovery.lastChange, shards: store.leases.map { ShardManager($0, store, ports, clock: clock) },
            freshness: freshness, clock: clock)
        writerState = LogWriter.State(.init(recovery), cluster, LazyReader(store))
        delegates.addDelegate(recentEvents)
        for number in 0..<size.loops {
            loops.append(
                SimulatedLoop(
                    sender: SimulatedSender(capacity: size.capacity, started: started), recentEvents: recentEvents,
                    clock: clock,
                    recovery: lanes, head: recovery.head, delegates: recovery.delegates,
                    shards: Shards(ofLoop: number, among: size.loops).intersection(shards),
                    size: size, permit: permit, isShared: store.leases != nil,
                    random: random,
                    submit: { [unowned self] checkpoint, loop in submit(checkpoint, loop) }))
        }
        inboxes.loops = loops
        writer.sendKnown(writerState)
    }

    /// `@unchecked`: one thread.
    private final class Inboxes: @unchecked Sendable {
        var loops: [SimulatedLoop] = []
    }

    private func submit(_ checkpoint: Checkpoint, _ loop: SimulatedLoop) {
        unanswered += 1
        intake.submit(checkpoint) { [self] succeeded in
            unanswered -= 1
            if succeeded {
                for attempt in checkpoint.attempts where attempt.succeeded {
                    let key = DeliveryKey(delegate: attempt.delegate, event: attempt.event)
                    unrecorded[key] = unrecorded[key].flatMap { $0 > 1 ? $0 - 1 : nil }
                }
            }
            loop.inbox.append(.checkpointEnded(succeeded))
        }
    }

    func publish(
        _ drafts: [EventDraft], watch: DeliveryWatch? = nil,
        answered: @escaping @Sendable (WriteResult<[PublishedEvent]>) -> Void
    ) {
        unanswered += 1
        let refusal = intake.submit(
            Publication(drafts: drafts, watch: watch) { [self] in
                unanswered -= 1
                answered($0)
            })
        if refusal != nil { unanswered -= 1 }
    }

    func change(
        _ action: RegistryWrite.Action,
        answered: @escaping @Sendable (WriteResult<RegistryWrite.Outcome>) -> Void = { _ in }
    ) {
        unanswered += 1
        let refusal = intake.submit(
            RegistryWrite(action: action) { [self] in
                unanswered -= 1
                answered($0)
            })
        if refusal != nil { unanswered -= 1 }
    }

    func manage(
        _ action: DeliveryWrite.Action,
        answered: @escaping @Sendable (WriteResult<DeliveryWrite.Outcome>) -> Void = { _ in }
    ) {
        unanswered += 1
        let refusal = intake.submit(
            DeliveryWrite(action: action) { [self] in
                unanswered -= 1
                answered($0)
            })
        if refusal != nil { unanswered -= 1 }
    }

    /// Does what retention does next about the events up to a position, which are too old: the loops get a message, or the
    /// writer a command.
    func retain(
        _ position: LogPosition, in reader: any StoreReader, now: Int64
    ) throws -> RetentionPlanner.Step {
        let step = try planner.next(
            .init(
                reader: reader, selection: { [registry] in registry.delegate(key: $0)?.selection },
                stored: usage.total, now: now, end: { now - $0 }), old: position)
        if let ending = step.ending {
            for loop in loops {
                loop.inbox.append(.trim(through: ending.through, gone: ending.gone, ending.cause))
            }
        }
        if var write = step.write {
            unanswered += 1
            write.completion = { [self] _ in unanswered -= 1 }
            if intake.submit(write) != nil { unanswered -= 1 }
        }
        return step
    }

    /// As `ShardManager` does.
    func take(_ shards: Shards, _ lanes: LaneRecovery) {
        for (number, loop) in loops.enumerated() {
            let own = shards.intersection(Shards(ofLoop: number, among: loops.count))
            if own.isEmpty { continue }
            loop.inbox.append(
                .take(own, from: lanes.settled.earliest(of: own), lanes.lanes(of: own, registry.all)))
        }
    }

    func write() {
        if unanswered > 0 { _ = writer.writeNext(&writerState) }
    }
}
