package import HeraldModel
package import HeraldRuntime
import Synchronization

/// A thread that delivers. It owns a sender and the lanes hashed to it, and shares no state with the other loops. As a
/// delegate of the multicast it is notified of new events, which it reads from the recent events itself.
package final class DeliveryLoop: EventDelegate {
    package let board = LaneSnapshots()
    package let counters = DeliveryCounters()
    private let sender: any CallbackSender
    private let recentEvents: RecentEvents
    private let limits: LoopLimits
    private let origins: OriginRates
    private let clock: Clock
    private let mailbox: Mailbox<LoopMessage>
    private let wakeup: CoalescingWakeup
    /// Whether the loop has active delegates. Stored before the loop reads the end of the log once more: a publisher whose event
    /// was not there then sees the new value.
    private let hasListeners = Atomic<Bool>(false)
    /// Number of events since the last wake. Used by the writer's thread only.
    private let unseen = Atomic<Int>(0)
    private let thread = Mutex<Thread?>(nil)
    /// Nothing reads the messages any more.
    private let isOver = Atomic<Bool>(false)
    private let hasFlushed = Semaphore()
    private let mayClose = Semaphore()

    package init(
        sender: any CallbackSender, recentEvents: RecentEvents, limits: LoopLimits = .init(),
        origins: OriginRates = OriginRates(), clock: Clock
    ) {
        self.sender = sender
        self.recentEvents = recentEvents
        self.limits = limits
        self.origins = origins
        self.clock = clock
        let wakeup = CoalescingWakeup(sender)
        self.wakeup = wakeup
        mailbox = Mailbox(wake: { wakeup.wake() })
    }

    /// Where a loop requests pages and submits checkpoints. The closures are called on the loop's thread and must not
    /// block; the results may arrive on any thread.
    package struct Services: Sendable {
        let readPage: @Sendable (_ after: LogPosition, _ answer: @escaping @Sendable (EventBatch?) -> Void) -> Void
        let readRows: @Sendable (StoredRowsQuery, _ answer: @escaping @Sendable ([WaitingDelivery]?) -> Void) -> Void
        let submit: @Sendable (Checkpoint, _ answer: @escaping @Sendable (Bool) -> Void) -> Void
        /// Attempts start while it lasts.
        var permit = DeliveryPermit()
        var tracer: (any Tracer)?
        let makeID: @Sendable () -> String
        /// Called periodically; `nil` if another loop runs the maintenance.
        let runMaintenance: (@Sendable () -> Void)?

        package init(
            readPage:
                @escaping @Sendable (_ after: LogPosition, _ answer: @escaping @Sendable (EventBatch?) -> Void) -> Void,
            readRows:
                @escaping @Sendable (StoredRowsQuery, _ answer: @escaping @Sendable ([WaitingDelivery]?) -> Void) ->
                Void, submit: @escaping @Sendable (Checkpoint, _ answer: @escaping @Sendable (Bool) -> Void) -> Void,
            permit: DeliveryPermit = DeliveryPermit(), tracer: (any Tracer)? = nil,
            makeID: @escaping @Sendable () -> String, runMaintenance: (@Sendable () -> Void)?
        ) {
            self.readPage = readPage
            self.readRows = readRows
            self.submit = submit
            self.permit = permit
            self.tracer = tracer
            self.makeID = makeID
            self.runMaintenance = runMaintenance
        }
    }

    /// A lane from before the process started.
    package struct RestoredLane: Sendable {
        let delegate: WebhookDelegate
        var state: LaneKeeper.Restored
    }

    /// - Parameters:
    ///   - settled: the common position of lanes without a row.
    ///   - shards: those that the lanes belong to.
    package func start(
        name: String, settled: LogPosition, shards: Shards = .all, lanes: [RestoredLane], services: Services
    ) throws(SystemError) {
        board.begin(shards, at: settled)
        let started = try Thread(name: name) { [self] in
            run(settled: settled, shards: shards, lanes: lanes, services: services)
        }
        thread.withLock { $0 = started }
    }

    // MARK: Any thread

    /// Whether it has active delegates.
    package var isAwaitingEvents: Bool { hasListeners.load(ordering: .relaxed) }

    /// A loop without active delegates only follows the log. It is woken once for many events, unless a publisher waits
    /// for the outcome of one.
    package func published(_ batch: EventBatch) {
        if !isAwaitingEvents, recentEvents.watches(of: batch).isEmpty {
            unseen.wrappingAdd(batch.events.count, ordering: .relaxed)
            if unseen.load(ordering: .relaxed) < DeliveryEngine.turnBudget { return }
        }
        unseen.store(0, ordering: .relaxed)
        wakeup.wake()
    }

    /// Whether the caller runs on the loop's thread.
    package var isCaller: Bool { thread.withLock { $0?.isCurrent ?? false } }

    package func post(_ message: LoopMessage) {
        mailbox.post(message)
        if isOver.load(ordering: .sequentiallyConsistent) { refuseTests() }
    }

    /// The callers of those that the loop has not read would wait for ever.
    private func refuseTests() {
        for case .test(_, _, let answer) in mailbox.takeAll() { answer(nil) }
    }

    /// Calls `body` once after this time, or when the loop stops, on its thread; it must not wait. While the loop stops, it is called at
    /// once: a body that repeats itself has to end then. After its last messages the loop calls nothing any more. Any thread.
    package func after(nanoseconds: Int64, _ body: @escaping @Sendable () -> Void) {
        // A watch without an event can only expire.
        let timer = DeliveryWatch(events: 1, routers: 1) { _ in body() }
        post(.expire(timer, at: clock.monotonic() + nanoseconds))
    }

    /// Stops the loop when its open requests have ended or the deadline (monotonic nanoseconds) has passed, and its
    /// last checkpoint is written. Returns at once; `waitUntilFlushed` waits.
    package func stop(deadline: Int64) { mailbox.post(.stop(deadline: deadline)) }

    /// Waits for the last checkpoint. Call it once, after `stop`.
    package func waitUntilFlushed() {
        // A loop that was never started has nothing to write.
        if thread.withLock({ $0 != nil }) { hasFlushed.wait() }
    }

    /// Lets the loop close its sender, and waits for its end. Call it when no thread can wake the loop any more.
    package func close() {
        mayClose.signal()
        thread.withLock { $0.take() }?.join()
    }

    // MARK: The loop's thread

    private func run(settled: LogPosition, shards: Shards, lanes: [RestoredLane], services: Services) {
        let mailbox = self.mailbox
        var random = RandomBlock()
        let engine = DeliveryEngine(
            ports: .init(
                sender: sender, recentEvents: recentEvents, clock: clock,
                readPage: { after in services.readPage(after) { mailbox.post(.page(after: after, $0)) } },
                readRows: { query in
                    services.readRows(query) { mailbox.post(.rows(query.delegate, query.part, $0)) }
                },
                submit: { services.submit($0) { mailbox.post(.checkpointEnded($0)) } },
                random: { Double.random(in: 0..<1, using: &random) }, makeID: services.makeID,
                permit: services.permit, origins: origins, tracer: services.tracer,
                runMaintenance: services.runMaintenance),
            settled: settled, shards: shards, counters: counters, board: board, limits: limits)
        for lane in lanes {
            engine.set(lane.delegate, restored: lane.state)
        }
        var state = RunState()
        while true {
            // Before the messages are read, so that any later message ends the poll.
            wakeup.rearm()
            // The end of the log is read before the messages: a change of a delegate that came before one of these events is among
            // them. A later event waits for the next turn, because a change that came before it may not be among them.
            let head = recentEvents.head
            for message in mailbox.takeAll() { handle(message, engine, &state) }
            hasListeners.store(engine.activeDelegates > 0, ordering: .relaxed)
            if state.isOver(open: engine.open, now: clock.monotonic()) { break }
            var next = engine.turn(through: head)
            // A publisher that has seen no listener wakes no loop.
            if recentEvents.head > head { next = clock.monotonic() }
            if let deadline = state.deadline { next = min(next ?? deadline, deadline) }
            sender.fence = engine.abortDue ?? .max
            sender.poll(nanoseconds: next.map { max(0, $0 - clock.monotonic()) }) { engine.finished($0, $1) }
        }
        sender.fence = .max
        flush(engine, &state)
        hasFlushed.signal()
        mayClose.wait()
        // Closing reports an outcome to the callers that wait for one.
        sender.close { engine.finished($0, $1) }
        isOver.store(true, ordering: .sequentiallyConsistent)
        refuseTests()
    }

    /// Writes the last checkpoint. If the store rejects it, its deliveries are made again after the restart.
    private func flush(_ engine: DeliveryEngine, _ state: inout RunState) {
        while true {
            // Before the submit: the reply must wake the poll even if an earlier wake has been consumed.
            wakeup.rearm()
            for message in mailbox.takeAll() { handle(message, engine, &state) }
            if engine.flush() || state.refusals >= 2 { return }
            sender.poll(nanoseconds: nil) { engine.finished($0, $1) }
        }
    }

    private struct RunState {
        /// When to end with attempts still open; `nil` until the loop is stopped.
        var deadline: Int64?
        /// Number of checkpoints that the store has rejected since the stop.
        var refusals = 0

        func isOver(open: Int, now: Int64) -> Bool {
            guard let deadline else { return false }
            return open == 0 || now >= deadline
        }
    }

    private func handle(_ message: LoopMessage, _ engine: DeliveryEngine, _ state: inout RunState) {
        engine.receive(message)
        switch message {
        case .checkpointEnded(false) where state.deadline != nil: state.refusals += 1
        case .stop(let time): state.deadline = time
        default: break
        }
    }
}

/// Wakes a sender at most once per turn of its loop: a wake is a system call, and many arrive while the loop is busy.
private final class CoalescingWakeup: Sendable {
    private let sender: any CallbackSender
    private let isAwake = Atomic<Bool>(false)

    init(_ sender: any CallbackSender) { self.sender = sender }

    /// Any thread.
    func wake() {
        if !isAwake.exchange(true, ordering: .acquiringAndReleasing) { sender.wake() }
    }

    /// Called on the loop's thread before it reads its messages: a later wake ends the next sleep.
    func rearm() {
        // An exchange, not a store: it must also observe what was posted before a wake that it overwrites.
        _ = isAwake.exchange(false, ordering: .acquiringAndReleasing)
    }
}

extension LaneRecovery {
    /// The lanes of these shards, in their state before the start.
    /// - Parameter delegates: in any order.
    /// - Returns: the lanes in the order of their keys.
    package func lanes(of shards: Shards, _ delegates: [WebhookDelegate]) -> [DeliveryLoop.RestoredLane] {
        let routed = settled.earliest(of: shards)
        let delegates = delegates.filter { $0.settings.kind == .webhook && shards.contains($0.key) }
        // Those of a store are sorted already.
        var lanes = delegates.sorted { $0.key < $1.key }.map { delegate in
            let own = settled[delegate.key]
            // A lane whose shard is ahead of the router has passed what the router offers it until then.
            let position = own > routed ? LanePosition(delegate: delegate.key, cursor: own, position: own) : nil
            return DeliveryLoop.RestoredLane(delegate: delegate, state: .init(position: position))
        }
        func change(_ key: DelegateKey, _ body: (inout LaneKeeper.Restored) -> Void) {
            let index = lanes.firstIndex(ascending: { $0.delegate.key >= key })
            if index < lanes.count, lanes[index].delegate.key == key { body(&lanes[index].state) }
        }
        for position in self.lanes { change(position.delegate) { $0.position = position } }
        for delivery in waiting { change(delivery.delegate) { $0.waiting.append(delivery) } }
        for (delegate, backlog) in crowded { change(delegate) { $0.backlog = backlog } }
        for delivery in decided { change(delivery.delegate) { $0.decided.insert(delivery.event) } }
        for delivery in givenUp { change(delivery.delegate) { $0.givenUp.insert(delivery.event) } }
        for replay in replays { change(replay.delegate) { $0.replays.append(replay) } }
        for (delegate, count) in unannounced { change(delegate) { $0.unannounced = count } }
        return lanes
    }
}
