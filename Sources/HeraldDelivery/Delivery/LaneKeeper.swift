import HeraldModel

/// Adds, changes and removes the lanes of a delivery loop as their delegates change. Confined to one thread.
final class LaneKeeper: LoopPart {
    /// The state of a lane from before a restart.
    struct Restored: Sendable {
        var position: LanePosition?
        var waiting: [WaitingDelivery] = []
        /// Rows that are not in `waiting`, because there are many.
        var backlog: LaneBacklog?
        var decided: Set<LogPosition> = []
        var givenUp: Set<LogPosition> = []
        /// Events whose rows were forgotten.
        var forgotten: Set<LogPosition> = []
        var replays: [Replay] = []
        /// Missed deliveries that were not announced yet.
        var unannounced = 0
    }

    /// Nanoseconds until a lease that has ended is checked once more.
    private static let leaseCheck: Int64 = 60_000_000_000

    /// A lane with more waiting deliveries than this begins with a low rate.
    private static let fewRetries = 10

    private let starter: AttemptStarter
    private let calls: DelegateCalls
    private let maxWaiting: Int
    private var probes = ProbeCalendar()
    /// When the timer of a lease fires, in monotonic nanoseconds.
    private var leaseTimers: [DelegateKey: Int64] = [:]

    init(_ loop: LoopParts, starter: AttemptStarter, calls: DelegateCalls, maxWaiting: Int) {
        self.starter = starter
        self.calls = calls
        self.maxWaiting = maxWaiting
        super.init(loop)
    }

    // MARK: Adding, changing and removing lanes

    /// Adds a lane, or changes its delegate's settings.
    /// - Parameter restored: the state of a delegate from before the start; `nil` if it has just been registered.
    func set(_ delegate: WebhookDelegate, restored: Restored?) {
        if let lane = lanes[delegate.key] {
            let old = lane.delegate
            let outage = lane.flow.breaker.outage
            if old.settings.url != delegate.settings.url { starter.leaveOrigin(lane) }
            lanes.change(lane, to: delegate)
            if let outage { outageChanged(outage, lane.flow.breaker.outage, of: delegate.app) }
            introduce(lane)
            return calls.changed(lane, from: old)
        }
        let restored = restored.map { forgetLine(of: delegate, $0) }
        let lane = restored.map { restore(delegate, $0) } ?? newLane(delegate)
        // One with a row of its own reads the log itself, up to the loop's position.
        lane.isOnDetour = restored != nil && restored?.position == nil && lanes.detour(of: lane.key) != nil
        lanes.insert(lane)
        if lane.isFailing { probes.openLanes += 1 }
        schedule(restored?.waiting ?? [], lane)
        for replay in restored?.replays ?? [] { lane.replays.append(replay) }
        starter.endReplays(lane)
        if let restored {
            ledger.show(lane)
            // A position that is written again includes what the last owner had written ahead of it.
            if restored.position.map({ $0.position < lane.position }) ?? false { ledger.touched(lane) }
        }
        introduce(lane)
        calls.changed(lane, from: nil)
    }

    /// Adds a lane's delegate to the scheduler and the timers.
    private func introduce(_ lane: Lane) {
        if let end = lane.delegate.state.expiresAt {
            let due = timers.now + Self.nanoseconds(until: end, from: timers.exactWall)
            if leaseTimers[lane.key].map({ due < $0 }) ?? true { checkLease(of: lane.key, at: due) }
        }
        if lane.isGone { return end(lane) }
        lanes.listen(lane)
        pauseOrResume(lane)
    }

    /// Forgets the deliveries that were queued for their subject when the process ended, while others were open. The
    /// lane reads their events again, and must not start them before those others. The store has their rows until the next
    /// checkpoint: a request may cancel them, and the lane must then pass their events.
    private func forgetLine(of delegate: WebhookDelegate, _ restored: Restored) -> Restored {
        guard delegate.settings.ordering == .subject else { return restored }
        let cursor = restored.position?.cursor ?? routed(delegate.key)
        var restored = restored
        let again = restored.waiting.filter { $0.isReadAgain(cursor) }.map(\.event)
        restored.waiting.removeAll { $0.isReadAgain(cursor) }
        for event in again + (restored.backlog?.readAgain ?? []) {
            restored.decided.remove(event)
            restored.forgotten.insert(event)
            ledger.end(DeliveryKey(delegate: delegate.key, event: event))
        }
        return restored
    }

    private func restore(_ delegate: WebhookDelegate, _ restored: Restored) -> Lane {
        if restored.position != nil { ledger.hasRow(delegate.key) }
        let now = timers.now
        let lane = Lane(
            delegate, next: restored.position.map { $0.cursor + 1 },
            position: restored.position?.position ?? routed(delegate.key), decided: restored.decided, now: now,
            nextProbe: delegate.state.failingSince == nil ? now : reserveProbe(now, of: delegate.app),
            outage: delegate.state.failingSince.map { max(0, timers.exactWall - $0) } ?? 0, maxWaiting: maxWaiting)
        lane.forgotten = restored.forgotten
        for event in restored.givenUp { lane.gaveUp(event) }
        if let backlog = restored.backlog { lane.waiting.begin(backlog) }
        if restored.waiting.count > Self.fewRetries || restored.backlog != nil { lane.flow.resumed(now: now) }
        return lane
    }

    /// Where a lane is that the common position of its shard applies to.
    private func routed(_ key: DelegateKey) -> LogPosition { lanes.detour(of: key)?.position ?? log.routed }

    private func newLane(_ delegate: WebhookDelegate) -> Lane {
        // The writer made its row in the transaction that registered the delegate.
        ledger.hasRow(delegate.key)
        // Events published after the registration may have been routed before its message arrived here.
        return Lane(
            delegate, next: delegate.start < log.routed ? delegate.start + 1 : nil, position: delegate.start,
            maxWaiting: maxWaiting)
    }

    /// The time until a stored time, at most two days. Stored times are wall-clock times: if the clock has jumped, nothing must
    /// be postponed for longer.
    private static func nanoseconds(until time: Int64, from wall: Int64) -> Int64 {
        min(max(0, time - wall), 86_400_000 * 2) * 1_000_000
    }

    /// Sets the timers of rows from before the start, unless they are queued behind others, or remain in the store.
    private func schedule(_ waiting: [WaitingDelivery], _ lane: Lane) {
        let plans = waiting.sorted { $0.event < $1.event }.compactMap { delivery in
            lane.waiting.take(delivery).map { (retry: $0, dueAt: delivery.dueAt) }
        }
        if lane.waiting.isCrowded {
            _ = lane.waiting.leaveInStore { _ in true }
            ledger.crowded.insert(lane.key)
            ledger.touched(lane)
        }
        let longest = lane.longestDelay
        for plan in plans where lane.isPlanned(plan.retry) {
            timers.insert(plan.retry, dueAt: plan.dueAt, longest: longest)
        }
    }

    /// Removes lanes. Open attempts end by themselves; waiting deliveries are dropped.
    func remove(_ keys: Set<DelegateKey>) {
        let gone = keys.filter(lanes.contains)
        if gone.isEmpty { return }
        // In their order: it decides which lane gets a turn first, and a simulated history must repeat.
        for key in gone.sorted() { remove(key) }
        // Once for all of them: with the shards of a session, a node loses all of its lanes.
        ledger.forget(gone)
        awaited.withdraw { gone.contains($0.delegate) }
    }

    private func remove(_ key: DelegateKey) {
        guard let lane = lanes.remove(key) else { return }
        if let outage = lane.flow.breaker.outage { outageChanged(outage, nil, of: lane.delegate.app) }
        starter.forget(lane)
        calls.forget(key)
        leaseTimers[key] = nil
        // Its lease and its requests for consent have timers, too.
        timers.forget(lane.rows.count + 1, lanes)
    }

    /// Starts nothing more for a lane whose shard is given away.
    /// - Parameter position: the common position that the next owner of the shard finds.
    func leave(_ lane: Lane, for position: LogPosition) {
        let own = lanes.detour(of: lane)?.position ?? log.routed
        starter.forget(lane)
        lanes.stop(lane)
        if own > position { lane.fallBehind(from: own + 1) }
        awaited.withdrawUnopened(lane)
        ledger.touched(lane)
    }

    private func pauseOrResume(_ lane: Lane) {
        if !lane.isActive {
            // A lane that does not advance needs its own position: the common position advances without it.
            lane.fallBehind(from: max(lanes.detour(of: lane)?.position ?? log.routed, lane.delegate.start) + 1)
            awaited.withdrawUnopened(lane)
        }
        ledger.touched(lane)
        starter.enqueue(lane)
    }

    // MARK: Results of attempts

    /// Ends the deliveries of a delegate that is gone.
    private func end(_ lane: Lane) {
        awaited.withdrawUnopened(lane)
        let (waiting, replays) = lane.end()
        timers.forget(waiting.count, lanes)
        for (event, row) in waiting {
            ledger.giveUp(
                DeliveryKey(delegate: lane.key, event: event), of: lane, attempts: row.attempts, .dropped,
                at: timers.exactWall, isReplay: row.isReplay)
        }
        for replay in replays { ledger.endReplay(replay, of: lane.key) }
        lane.waiting.end(through: .max)
        ledger.touched(lane)
    }

    /// Sends nothing until the registry reports the delegate's new status.
    func halt(_ lane: Lane) {
        // Many open requests may say so.
        if lane.isHalted { return }
        lane.halt()
        pauseOrResume(lane)
    }

    /// Reserves the first time from `time` on at which another lane may be probed.
    func reserveProbe(_ time: Int64, of app: AppKey) -> Int64 { probes.reserve(time, of: app, now: timers.now) }

    /// Gives back the time of a probe that is not planned any more, and counts the open breakers.
    /// - Parameter new: `nil` if the outage has ended without an attempt.
    private func outageChanged(_ old: Breaker.Outage, _ new: Breaker.Outage?, of app: AppKey) {
        if new?.nextProbe != old.nextProbe { probes.release(old.nextProbe, of: app, now: timers.now) }
        if new == nil { probes.openLanes -= 1 }
    }

    /// Counts the open breakers.
    func count(_ change: Breaker.Change) {
        switch change {
        case .opened: probes.openLanes += 1
        case .closed: probes.openLanes -= 1
        case .none, .stayedOpen, .lost: break
        }
    }

    /// Ends the outage of a failing lane that has nothing left to probe with: what waited has been removed or ended.
    func endOutageOfIdle(_ lane: Lane) {
        guard let outage = lane.flow.breaker.outage, lane.isIdle, !lane.isRemoved else { return }
        lane.flow.forget()
        outageChanged(outage, nil, of: lane.delegate.app)
        ledger.record(lane.key, .recovered)
        ledger.touched(lane)
    }

    /// Makes a delivery now. The store has a row for it.
    func redeliver(_ delivery: WaitingDelivery, _ lane: Lane) {
        _ = lane.takeGivenUp(delivery.event)
        let isOpen = lane.open > 0 && starter.hasOpenRetry(delivery.key)
        if let retry = lane.waiting.take(delivery, isOpen: isOpen) { lane.holdRequested(retry, now: timers.now) }
        // Writes the row again: an earlier checkpoint may have ended it.
        ledger.wait(
            lane, delivery.event, attempts: delivery.attempts, dueAt: delivery.dueAt, isReplay: delivery.isReplay,
            isNamed: delivery.isNamed, isFirst: delivery.isFirst)
    }

    // MARK: Leases

    /// Called when the timer of a lease fires. A timer of an earlier plan is ignored: each would set another one.
    func leaseEnds(_ key: DelegateKey) {
        guard let lane = lanes[key], let due = leaseTimers[key], due <= timers.now else { return }
        leaseTimers[key] = nil
        guard let end = lane.delegate.state.expiresAt else { return }
        let left = end - timers.exactWall
        // The writer checks again, because a renewal may be under way. So does this lane if it still exists then.
        if left <= 0 { ledger.record(key, .leaseEnded) }
        checkLease(
            of: key,
            at: timers.now + (left > 0 ? Self.nanoseconds(until: end, from: timers.exactWall) : Self.leaseCheck))
    }

    private func checkLease(of key: DelegateKey, at due: Int64) {
        leaseTimers[key] = due
        timers.insert(.leaseEnds(key), due: due)
    }
}
