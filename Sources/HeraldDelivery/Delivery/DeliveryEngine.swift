import HeraldModel
import HeraldRuntime

/// Does the work of a delivery loop between two polls: routes new events to lanes, starts and settles attempts, and
/// makes checkpoints. Confined to the loop's thread; never blocks.
///
/// It acts through its dependencies: a `CallbackSender`, and closures that request a page of the log and submit a
/// checkpoint. So a test can drive it step by step, with its own clock.
///
/// It connects the parts that process a delivery, each of which keeps its own state: `EventDistributor` brings events
/// to the lanes, `AttemptStarter` starts attempts, `AttemptSettler` settles them, `LaneKeeper` adds, changes and
/// removes lanes, `DelegateCalls` makes calls outside the lanes. They share the `LaneTable`, the `LoopLog`, the
/// `DeliveryLedger`, which collects what goes to the store, and the `LoopTimers`.
final class DeliveryEngine: LoopPart {
    struct Ports {
        let sender: any CallbackSender
        let recentEvents: RecentEvents
        let clock: Clock
        /// Requests the page after a position, which arrives as `LoopMessage.page`.
        let readPage: (LogPosition) -> Void
        /// Requests rows of a delegate, which arrive as `LoopMessage.rows`.
        var readRows: (StoredRowsQuery) -> Void = { _ in }
        /// Submits a checkpoint to the writer, which replies with `LoopMessage.checkpointEnded`.
        let submit: (Checkpoint) -> Void
        /// In the range 0..<1.
        let random: () -> Double
        /// Makes a new event id.
        let makeID: () -> String
        /// Attempts start while it lasts.
        var permit = DeliveryPermit()
        /// Shared with the other loops.
        var origins = OriginRates()
        var tracer: (any Tracer)?
        /// Called every second; `nil` if another loop runs the maintenance.
        let runMaintenance: (() -> Void)?
    }

    /// How often maintenance runs, in nanoseconds.
    static let maintenanceInterval: Int64 = 1_000_000_000
    /// Number of events routed before the engine lets the sender work again.
    static let turnBudget = 256

    private let starter: AttemptStarter
    private let calls: DelegateCalls
    private let keeper: LaneKeeper
    private let distributor: EventDistributor
    private let settler: AttemptSettler
    private let loader: RowLoader
    private let shards: ShardKeeper
    private let runMaintenance: (() -> Void)?

    /// - Parameters:
    ///   - settled: the common position of lanes without a row.
    ///   - shards: those that the lanes belong to.
    ///   - limits: what is kept in memory.
    init(
        ports: Ports, settled: LogPosition, shards: Shards = .all, counters: DeliveryCounters = DeliveryCounters(),
        board: LaneSnapshots = LaneSnapshots(), limits: LoopLimits = .init()
    ) {
        let timers = LoopTimers(ports.clock)
        let log = LoopLog(
            settled: settled, limits: limits, recentEvents: ports.recentEvents, timers: timers,
            readPage: ports.readPage)
        let ledger = DeliveryLedger(
            settled: settled, shards: shards, board: board, timers: timers, limits: limits,
            submit: ports.submit)
        let loop = LoopParts(
            lanes: LaneTable(origins: ports.origins), log: log, ledger: ledger, timers: timers,
            awaited: AwaitedAttempts(), counters: counters)
        starter = AttemptStarter(
            loop, sender: ports.sender, permit: ports.permit, limits: limits, tracer: ports.tracer)
        calls = DelegateCalls(loop, starter: starter, makeID: ports.makeID)
        keeper = LaneKeeper(loop, starter: starter, calls: calls, maxWaiting: limits.waitingDeliveries)
        distributor = EventDistributor(loop, starter: starter)
        settler = AttemptSettler(loop, starter: starter, keeper: keeper, random: ports.random)
        loader = RowLoader(loop, starter: starter, distributor: distributor, read: ports.readRows)
        self.shards = ShardKeeper(loop, shards, starter: starter, keeper: keeper, distributor: distributor)
        runMaintenance = ports.runMaintenance
        super.init(loop)
        ledger.isParked = { [unowned starter] in starter.isParked($0) }
        if runMaintenance != nil { timers.insert(.runMaintenance, due: timers.now + Self.maintenanceInterval) }
    }

    // MARK: State

    var board: LaneSnapshots { ledger.board }
    /// Number of active delegates.
    var activeDelegates: Int { lanes.activeDelegates }
    /// Number of open requests.
    var open: Int { starter.open }
    /// There are changes that have not been submitted to the store.
    var hasChanges: Bool { ledger.hasChanges }
    var waitingTimers: Int { timers.count }
    /// A publisher waits for the outcome of a delivery.
    var isAwaited: Bool { !awaited.isEmpty }

    func lane(_ key: DelegateKey) -> Lane? { lanes[key] }

    // MARK: A turn

    /// When open attempts have to be aborted; `nil` if there are none.
    var abortDue: Int64? { starter.abortDue }

    /// Does what can be done now.
    /// - Parameter head: later events wait for the next turn.
    /// - Returns: when there is more to do, in monotonic nanoseconds; `nil` if nothing is due before the sender reports
    ///   an outcome or is woken.
    func turn(through head: LogPosition = .max) -> Int64? {
        timers.beginTurn()
        starter.beginTurn()
        starter.ageSlots()
        starter.abortWhenDue()
        fireTimers()
        let routedAll = starter.isStopping || distributor.routeNewEvents(through: head, limit: Self.turnBudget)
        let advancedAll = starter.isStopping || shards.turn()
        let startedAll = starter.startPending()
        ledger.gatherStatistics(isLast: starter.isStopping)
        ledger.writeWhenDue(routed: log.routed)
        if !routedAll || !advancedAll || !startedAll { return timers.now }
        return [timers.nextDue, ledger.due, starter.roomDue, starter.abortDue, shards.due].reduce(
            nil, LoopTimers.earliest)
    }

    private func fireTimers() {
        while let timer = timers.popDue() {
            switch timer {
            case .retry(let retry):
                guard let lane = lanes[retry.delegate] else { continue }
                lane.waiting.hold(retry)
                starter.enqueue(lane)
            case .wake(let key):
                guard let lane = lanes[key] else { continue }
                lane.woke()
                starter.enqueue(lane)
            case .verify(let key): if let lane = lanes[key] { calls.verifyIsDue(lane) }
            case .leaseEnds(let key): keeper.leaseEnds(key)
            case .tellMissed(let key): distributor.tellMissed(key)
            case .loadRows(let key): loader.load(key)
            case .originTurn(let origin): starter.serve(origin)
            case .readAgain(let after): log.readPage(after)
            case .runMaintenance:
                runMaintenance?()
                timers.insert(.runMaintenance, due: timers.now + Self.maintenanceInterval)
            }
        }
        while let watch = timers.popExpired() { awaited.expire(watch) }
    }

    /// Called when a request has ended.
    func finished(_ token: Int, _ outcome: CallbackOutcome) {
        guard let callback = starter.close(token) else { return }
        timers.readClock()
        switch callback.purpose {
        case .delivery(let origin): settler.finished(callback, origin, outcome)
        case .test(let answer):
            // Without room for the request, or at a stop, there is no outcome that says something about the receiver.
            if case .failed(.stopped, _) = outcome.verdict { answer(nil) } else { answer(outcome) }
        case .verification(let challenge, let url): calls.verified(callback.lane, challenge, url, outcome)
        }
    }

    /// Submits what has not been checkpointed. Called until everything is written.
    /// - Returns: whether everything has been written.
    func flush() -> Bool {
        shards.give(isStopping: true)
        return ledger.flush(routed: log.routed) && !shards.isGiving
    }

    // MARK: Messages

    /// Adds a delegate, or changes its settings.
    /// - Parameter restored: the state of a delegate from before the start; `nil` if it has just been registered.
    func set(_ delegate: WebhookDelegate, restored: LaneKeeper.Restored? = nil) {
        timers.readClock()
        keeper.set(delegate, restored: restored)
        if let restored { distributor.restore(unannounced: restored.unannounced, of: delegate.key) }
    }

    func receive(_ message: LoopMessage) {
        timers.readClock()
        if let key = message.delegate, !shards.has(key) { return }
        switch message {
        case .set(let delegate): keeper.set(delegate, restored: nil)
        case .remove(let key):
            keeper.remove([key])
            distributor.forget(key)
        case .redeliver(let delivery):
            ledger.requestArrived()
            redeliver(delivery)
        case .drop(let key):
            ledger.requestArrived()
            drop(key)
        case .known(let change): ledger.known(change: change)
        case .replay(let replay): begin(replay)
        case .endReplay(let id, let delegate): endReplay(id, of: delegate)
        case .erase(let events, let app): erase(events, of: app)
        case .trim(let through, let gone, let cause): distributor.trim(through: through, gone: gone, cause)
        case .page(let after, let page): distributor.pageArrived(after: after, page)
        case .rows(let key, let part, let rows): loader.arrived(key, part, rows)
        case .checkpointEnded(let succeeded):
            ledger.ended(succeeded: succeeded)
            if succeeded {
                loader.checkpointWritten()
                for lane in ledger.idleFailing { keeper.endOutageOfIdle(lane) }
            }
            if succeeded { shards.checkpointWritten() }
        case .test(let delegate, let event, let answer): test(delegate, event, answer)
        case .expire(let watch, let time): expire(watch, at: time)
        case .take(let new, let position, let lanes): shards.take(new, from: position, lanes)
        case .give(let given, let deadline, let done): shards.give(given, deadline: deadline, done)
        case .lose(let lost, let done): shards.lose(lost, done)
        // The turn starts what has waited.
        case .permitted: break
        case .stop: stopStarting()
        }
    }

    /// A delegate of another process gets a lane for the time of the call.
    private func test(
        _ delegate: WebhookDelegate, _ event: Event?, _ answer: @escaping (CallbackOutcome?) -> Void
    ) {
        if shards.has(delegate.key) { return calls.test(lanes[delegate.key], event, answer) }
        let guest = lanes.welcome(delegate)
        calls.test(guest, event) { [lanes] outcome in
            lanes.dismiss(guest)
            answer(outcome)
        }
    }

    /// Makes a delivery again now; the store has a row for it.
    private func redeliver(_ delivery: WaitingDelivery) {
        let known = lanes[delivery.delegate]
        guard let lane = known, !lane.isGone else {
            // A delegate that is gone receives no further deliveries.
            return ledger.giveUp(
                delivery.key, of: known, attempts: 0, .dropped, at: timers.exactWall, isReplay: true)
        }
        // The timer of its last plan may be set for days.
        if lane.rows[delivery.event] != nil { timers.forget(1, lanes) }
        if lane.open > 0 { starter.note(.redelivery, delivery.key) }
        keeper.redeliver(delivery, lane)
        changed(lane)
    }

    /// Drops a delivery, as the store's row already says.
    private func drop(_ key: DeliveryKey) {
        guard let lane = lanes[key.delegate] else { return }
        if lane.open > 0 { starter.note(.cancellation, key) }
        guard let row = lane.waiting.drop(key.event) else {
            if lane.settleForgotten(key.event) {
                // Writes the row again: the next checkpoint, or the one that is being written, ends it.
                ledger.giveUp(key, of: lane, attempts: 0, .dropped, at: timers.exactWall, isReplay: false)
            } else {
                lane.gaveUp(key.event)
            }
            return changed(lane)
        }
        timers.forget(1, lanes)
        // Writes the row again: a checkpoint made before this message arrived may have reset it.
        ledger.giveUp(key, of: lane, attempts: row.attempts, .dropped, at: timers.exactWall, isReplay: row.isReplay)
        if !row.isOpen { awaited.withdraw(key) }
        changed(lane)
    }

    private func changed(_ lane: Lane) {
        ledger.touched(lane)
        starter.endReplays(lane)
        starter.enqueue(lane)
    }

    private func begin(_ replay: Replay) {
        guard let lane = lanes[replay.delegate], !lane.isGone else {
            return ledger.endReplay(replay.id, of: replay.delegate)
        }
        lane.replays.append(replay)
        changed(lane)
    }

    /// Ends a replay, whose row in the store has been removed.
    private func endReplay(_ id: Int64, of key: DelegateKey) {
        guard let lane = lanes[key], lane.replays.end(id) else { return }
        changed(lane)
    }

    /// Stops deliveries of erased events. Open requests are not cancelled. The erasure removes the rows itself, in several steps if they
    /// are many, and counts them.
    private func erase(_ events: Set<LogPosition>, of app: AppKey) {
        log.erase(events, of: app)
        // An erasure has many steps: none of them reads all rows of a lane, or those of other apps. Those of other processes do not
        // name their app.
        for lane in lanes.all where !lane.rows.isEmpty || !lane.waiting.hasAll {
            guard app == .unknown || lane.delegate.app == app else { continue }
            lane.waiting.erased(events)
            if lane.waiting.isCrowded { ledger.touched(lane) }
            for event in events where lane.rows[event] != nil {
                guard let row = lane.waiting.drop(event) else { continue }
                ledger.touched(lane)
                timers.forget(1, lanes)
                if !row.isOpen { awaited.withdraw(DeliveryKey(delegate: lane.key, event: event)) }
            }
            starter.enqueue(lane)
        }
    }

    /// Sets the time after which a publisher no longer waits for the outcome of deliveries.
    private func expire(_ watch: DeliveryWatch, at time: Int64) {
        if starter.isStopping { return watch.expire() }
        timers.insert(watch, due: time) { awaited.expire($0) }
    }

    /// Starts no further attempts or calls.
    private func stopStarting() {
        starter.stop()
        distributor.announceMissed()
        awaited.expireAll()
        // Watches without an open delivery have only a timer, which would keep them waiting.
        for watch in timers.takeWatches() { watch.expire() }
    }
}
