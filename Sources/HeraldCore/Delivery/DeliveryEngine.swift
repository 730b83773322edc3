import HeraldRuntime

/// What a delivery loop does between two polls: routes new events to lanes, starts attempts, settles what has ended, and
/// gathers checkpoints. Everything here runs on the loop's thread, nothing waits.
///
/// It acts through what it is given: a `CallbackSender`, and closures that ask for a page of the log and hand over a
/// checkpoint. So a test drives it step by step, with a clock of its own.
///
/// It puts together the stations of a delivery, each of which keeps its own state: `EventDistributor` brings an event to the
/// lanes, `AttemptStarter` lets them start attempts, `AttemptSettler` ends these, `LaneKeeper` lets lanes come and go,
/// `DelegateCalls` makes calls outside them. They share the `LaneTable`, the `LoopLog`, the `DeliveryLedger` with what goes to
/// the store, and the `LoopTimers`.
final class DeliveryEngine {
    struct Ports {
        let sender: any CallbackSender
        let recentEvents: RecentEvents
        let clock: Clock
        /// Asks for the page after a position; the answer comes as `LoopMessage.page`.
        let readPage: (LogPosition) -> Void
        /// Hands a checkpoint to the writer; the answer comes as `LoopMessage.checkpointEnded`.
        let submit: (Checkpoint) -> Void
        /// Within 0..<1.
        let random: () -> Double
        /// A new id for an event.
        let makeID: () -> String
        /// Called every ten seconds; `nil`: another loop does it.
        let runMaintenance: (() -> Void)?
    }

    /// Events routed before the engine lets the sender work again.
    static let turnBudget = 256

    let counters: DeliveryCounters
    private let timers: LoopTimers
    private let lanes = LaneTable()
    private let log: LoopLog
    private let ledger: DeliveryLedger
    private let awaited = AwaitedAttempts()
    private let starter: AttemptStarter
    private let calls: DelegateCalls
    private let keeper: LaneKeeper
    private let distributor: EventDistributor
    private let settler: AttemptSettler
    private let runMaintenance: (() -> Void)?

    /// - Parameters:
    ///   - settled: the common position of lanes without a row.
    ///   - windowEvents: how many of the last events lanes find here.
    init(
        ports: Ports, settled: LogPosition, counters: DeliveryCounters = DeliveryCounters(),
        board: LaneSnapshots = LaneSnapshots(), windowEvents: Int = 8192
    ) {
        self.counters = counters
        timers = LoopTimers(ports.clock)
        log = LoopLog(
            settled: settled, windowEvents: windowEvents, recentEvents: ports.recentEvents, timers: timers,
            readPage: ports.readPage)
        ledger = DeliveryLedger(settled: settled, board: board, timers: timers, submit: ports.submit)
        starter = AttemptStarter(
            sender: ports.sender, lanes: lanes, log: log, ledger: ledger, timers: timers, awaited: awaited)
        calls = DelegateCalls(starter: starter, ledger: ledger, timers: timers, makeID: ports.makeID)
        keeper = LaneKeeper(
            lanes: lanes, log: log, starter: starter, calls: calls, ledger: ledger, timers: timers, awaited: awaited)
        distributor = EventDistributor(
            lanes: lanes, log: log, starter: starter, ledger: ledger, timers: timers, awaited: awaited,
            counters: counters)
        settler = AttemptSettler(
            starter: starter, keeper: keeper, ledger: ledger, timers: timers, awaited: awaited, counters: counters,
            random: ports.random)
        runMaintenance = ports.runMaintenance
        if runMaintenance != nil { timers.insert(.runMaintenance, due: timers.now + RetentionTask.interval) }
    }

    // MARK: What is seen

    var board: LaneSnapshots { ledger.board }
    /// Delegates that are told of what is posted.
    var activeDelegates: Int { lanes.activeDelegates }
    /// Requests that have not ended.
    var open: Int { starter.open }
    /// Something has not been handed over to the store yet.
    var hasChanges: Bool { ledger.hasChanges }
    var waitingTimers: Int { timers.count }
    /// Somebody waits for the outcome of a delivery.
    var isAwaited: Bool { !awaited.isEmpty }

    func lane(_ key: DelegateKey) -> Lane? { lanes[key] }

    // MARK: A turn

    /// Does what can be done now.
    /// - Returns: when there is something to do next, in monotonic nanoseconds; `nil`: not before the sender reports
    ///   something or wakes.
    func turn() -> Int64? {
        timers.beginTurn()
        starter.ageSlots()
        fireTimers()
        let routedAll = starter.isStopping || distributor.routeNewEvents(limit: Self.turnBudget)
        let startedAll = starter.startPending()
        ledger.gatherStatistics(isLast: starter.isStopping)
        ledger.writeWhenDue(routed: log.routed) { starter.isParked($0) }
        if !routedAll || !startedAll { return timers.now }
        return LoopTimers.earliest(LoopTimers.earliest(timers.nextDue, ledger.due), starter.roomDue)
    }

    private func fireTimers() {
        while let timer = timers.popDue() {
            switch timer {
            case .retry(let retry):
                guard let lane = lanes[retry.delegate] else { continue }
                lane.hold(retry)
                starter.enqueue(lane)
            case .wake(let key):
                guard let lane = lanes[key] else { continue }
                lane.woke()
                starter.enqueue(lane)
            case .verify(let key): if let lane = lanes[key] { calls.verifyIsDue(lane) }
            case .leaseEnds(let key): keeper.leaseEnds(key)
            case .tellMissed(let key): distributor.tellMissed(key)
            case .readAgain(let after): log.readAgain(after: after)
            case .expire(let watch): awaited.expire(watch)
            case .runMaintenance:
                runMaintenance?()
                timers.insert(.runMaintenance, due: timers.now + RetentionTask.interval)
            }
        }
    }

    /// A request has ended.
    func finished(_ token: Int, _ outcome: CallbackOutcome) {
        guard let callback = starter.close(token) else { return }
        timers.readClock()
        switch callback.purpose {
        case .delivery(let origin): settler.finished(callback, origin, outcome)
        case .test(let answer): answer(outcome)
        case .verification(let challenge, let url): calls.verified(callback.lane, challenge, url, outcome)
        }
    }

    /// Hands over what has not been checkpointed. Called until nothing is left.
    /// - Returns: whether everything has been written.
    func flush() -> Bool { ledger.flush(routed: log.routed) { starter.isParked($0) } }

    // MARK: What others say

    /// Adds a delegate, or gives it its new settings.
    /// - Parameter restored: of a delegate from before the start; `nil`: it has just been registered.
    func set(_ delegate: WebhookDelegate, restored: LaneKeeper.Restored? = nil) {
        timers.readClock()
        keeper.set(delegate, restored: restored)
    }

    func receive(_ message: LoopMessage) {
        timers.readClock()
        switch message {
        case .set(let delegate): keeper.set(delegate, restored: nil)
        case .remove(let key):
            keeper.remove(key)
            distributor.forget(key)
        case .redeliver(let delivery): redeliver(delivery)
        case .drop(let key): drop(key)
        case .replay(let replay): begin(replay)
        case .endReplay(let id, let delegate): endReplay(id, of: delegate)
        case .erase(let events): erase(events)
        case .trim(let first, let gone): distributor.trim(first: first, gone: gone)
        case .page(let after, let page): distributor.pageArrived(after: after, page)
        case .checkpointEnded(let succeeded): ledger.ended(succeeded: succeeded)
        case .test(let key, let answer): calls.test(lanes[key], answer)
        case .expire(let watch, let time): expire(watch, at: time)
        case .stop: stopStarting()
        }
    }

    /// A delivery is to be made again now; the store has a row for it.
    private func redeliver(_ delivery: WaitingDelivery) {
        let key = DeliveryKey(delegate: delivery.delegate, event: delivery.event)
        guard let lane = lanes[delivery.delegate], !lane.isGone else {
            // A delegate that is gone gets nothing more.
            return ledger.giveUp(key, attempts: 0, .dropped, at: timers.exactWall, isReplay: true)
        }
        if let retry = lane.take(delivery) { lane.hold(retry) }
        // Once more: a checkpoint that was made before the news came may have ended the row.
        ledger.wait(
            key, attempts: delivery.attempts, dueAt: delivery.dueAt, isReplay: delivery.isReplay,
            isNamed: delivery.isNamed)
        changed(lane)
    }

    /// A delivery is not to be tried again; the store's row says so.
    private func drop(_ key: DeliveryKey) {
        guard let lane = lanes[key.delegate], let row = lane.drop(key.event) else { return }
        // Once more: a checkpoint that was made before the news came may have set the row back.
        ledger.giveUp(key, attempts: row.attempts, .dropped, at: timers.exactWall, isReplay: row.isReplay)
        if !row.isOpen { awaited.withdraw(key) }
        changed(lane)
    }

    private func changed(_ lane: Lane) {
        ledger.touched(lane)
        starter.endReplays(lane)
        starter.enqueue(lane)
    }

    private func begin(_ replay: Replay) {
        guard let lane = lanes[replay.delegate], !lane.isGone else { return ledger.endReplay(replay.id) }
        lane.withReplays { $0.append(replay) }
        changed(lane)
    }

    /// A replay is to start nothing more; the store has no row for it any longer.
    private func endReplay(_ id: Int64, of key: DelegateKey) {
        guard let lane = lanes[key], lane.withReplays({ $0.end(id) }) else { return }
        changed(lane)
    }

    /// What these events say is to be told to nobody any more. One that is on its way arrives.
    private func erase(_ events: Set<LogPosition>) {
        log.erase(events)
        for lane in lanes.all where !lane.rows.isEmpty {
            for event in lane.rows.keys where events.contains(event) {
                guard let row = lane.drop(event) else { continue }
                let key = DeliveryKey(delegate: lane.key, event: event)
                ledger.end(key)
                if !row.isOpen { awaited.withdraw(key) }
            }
            starter.enqueue(lane)
        }
    }

    /// Nobody waits longer than this for the outcome of deliveries.
    private func expire(_ watch: DeliveryWatch, at time: Int64) {
        if starter.isStopping { return watch.expire() }
        timers.insert(.expire(watch), due: time)
    }

    /// Starts nothing from here on.
    private func stopStarting() {
        starter.stop()
        distributor.announceMissed()
        awaited.expireAll()
        // Watches without an open delivery wait in the timers.
        timers.removeAll { timer in
            if case .expire(let watch) = timer {
                watch.expire()
                return true
            }
            return false
        }
    }
}
