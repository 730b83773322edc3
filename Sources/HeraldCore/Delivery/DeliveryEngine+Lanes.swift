import HeraldRuntime

/// Lanes come, change and go.
extension DeliveryEngine {
    /// What is known of a lane from before a restart.
    struct Restored {
        var position: LanePosition?
        var waiting: [WaitingDelivery] = []
        var decided: Set<LogPosition> = []
        var replays: [Replay] = []
    }

    /// Adds a lane, or gives it the delegate's new settings.
    /// - Parameter restored: of a delegate from before the start; `nil`: it has just been registered.
    func set(_ delegate: WebhookDelegate, restored: Restored? = nil) {
        now = ports.clock.monotonic()
        if let index = indices[delegate.key], let old = lanes[index]?.delegate {
            if let lane = lanes[index], !lane.isGone { apps.remove(index, old.settings.events, lane.share) }
            count(delegate, 1)
            count(old, -1)
            let wasFailing = lanes[index]?.isFailing == true
            lanes[index]?.change(to: delegate)
            if wasFailing, lanes[index]?.isFailing == false { probes.openLanes -= 1 }
            introduce(index, delegate)
            if asksAnew(delegate, old) {
                lanes[index]?.verifications = 0
                verify(index)
            }
            return
        }
        let restored = restored.map { forgetLine(of: delegate, $0) }
        let index = insert(restored.map { restore(delegate, $0) } ?? newLane(delegate))
        indices[delegate.key] = index
        count(delegate, 1)
        for waiting in (restored?.waiting ?? []).sorted(by: { $0.event < $1.event }) { schedule(waiting, lane: index) }
        lanes[index]?.replays = (restored?.replays ?? []).map(ReplayCursor.init)
        endReplays(index)
        if restored != nil, let lane = lanes[index] { board.update([(delegate.key, boardEntry(lane, index))]) }
        introduce(index, delegate)
        if delegate.status == .pendingVerification { verify(index) }
    }

    private func count(_ delegate: WebhookDelegate, _ change: Int) {
        if delegate.status == .active { activeDelegates += change }
    }

    /// Makes a lane's delegate and its settings known to the router and the timers.
    private func introduce(_ index: Int, _ delegate: WebhookDelegate) {
        if let end = delegate.state.expiresAt {
            let due = now + max(0, end - ports.clock.wall()) * 1_000_000
            if lanes[index]?.leaseTimer.map({ due < $0 }) ?? true {
                lanes[index]?.leaseTimer = due
                timers.insert(.leaseEnds(delegate.key), due: due)
            }
        }
        guard let lane = lanes[index], !lane.isGone else { return end(index) }
        apps.insert(index, delegate.settings.events, lane.share)
        pauseOrResume(index)
    }

    /// Deliveries that stood in line when the process ended, while others were in flight: the lane comes by their events
    /// again, and must not let them go before those.
    private func forgetLine(of delegate: WebhookDelegate, _ restored: Restored) -> Restored {
        guard delegate.settings.ordering == .subject else { return restored }
        let cursor = restored.position?.cursor ?? routed
        var restored = restored
        restored.waiting.removeAll { row in
            guard row.attempts == 0, !row.isReplay, row.event > cursor else { return false }
            restored.decided.remove(row.event)
            checkpoints.end(DeliveryKey(delegate: row.delegate, event: row.event), now: now)
            return true
        }
        return restored
    }

    func restore(_ delegate: WebhookDelegate, _ restored: Restored) -> Lane {
        if restored.position != nil { checkpoints.hasRow(delegate.key) }
        return Lane(
            delegate, next: restored.position.map { $0.cursor + 1 }, position: restored.position?.position ?? routed,
            decided: restored.decided, now: now,
            nextProbe: delegate.state.failingSince == nil ? now : probes.reserve(now, now: now))
    }

    func newLane(_ delegate: WebhookDelegate) -> Lane {
        // The writer gave it a row, in the transaction of its registration.
        checkpoints.hasRow(delegate.key)
        // Events that came after the registration may have been routed before the news of it arrived here.
        return Lane(delegate, next: delegate.start < routed ? delegate.start + 1 : nil, position: delegate.start)
    }

    /// Ends a lane. What is open ends by itself; what waits is gone.
    func remove(_ key: DelegateKey) {
        guard let index = indices.removeValue(forKey: key), let lane = lanes[index] else { return }
        if !lane.isGone { apps.remove(index, lane.delegate.settings.events, lane.share) }
        count(lane.delegate, -1)
        if lane.isFailing { probes.openLanes -= 1 }
        parked.remove(index)
        lanes[index] = nil
        freeLanes.append(index)
        apps.leave(index, lane.share)
        checkpoints.forget(key)
        board.remove(key)
        missed[key] = nil
        if !watched.isEmpty { withdraw(where: { $0.delegate == key }) }
        deadTimers += lane.waiting.count
        if deadTimers > 1024 && deadTimers > timers.count / 2 { forgetDeadTimers() }
    }

    func forgetDeadTimers() {
        deadTimers = 0
        timers.removeAll { timer in
            switch timer {
            case .retry(let retry): indices[retry.delegate] == nil
            case .wake(let key), .verify(let key), .leaseEnds(let key), .tellMissed(let key): indices[key] == nil
            case .readAgain, .expire, .runMaintenance: false
            }
        }
    }

    func insert(_ lane: Lane) -> Int {
        var lane = lane
        lane.share = apps.join(lane.delegate.app)
        if lane.isFailing { probes.openLanes += 1 }
        if let index = freeLanes.popLast() {
            lanes[index] = lane
            return index
        }
        lanes.append(lane)
        return lanes.count - 1
    }

    func pauseOrResume(_ index: Int) {
        guard let lane = lanes[index] else { return }
        // A lane that stands still needs a position of its own: the common one goes on without it.
        if !lane.isActive && lane.next == nil { lanes[index]?.fallBehind(from: max(routed, lane.delegate.start) + 1) }
        if !lane.isActive && !watched.isEmpty { withdrawUnopened(lane) }
        touched(index)
        enqueue(index)
    }

    /// A delegate is gone: its deliveries end.
    func end(_ index: Int) {
        guard let lane = lanes[index] else { return }
        let ended = lanes[index]?.end() ?? []
        if !watched.isEmpty { withdrawUnopened(lane) }
        for event in ended {
            checkpoints.giveUp(
                DeliveryKey(delegate: lane.delegate.key, event: event), attempts: lane.waiting[event]?.attempts ?? 0,
                .dropped, at: ports.clock.wall(), isReplay: lane.waiting[event]?.isReplay ?? false, now: now)
        }
        for replay in lane.replays { checkpoints.endReplay(replay.id, now: now) }
        lanes[index]?.replays = []
        touched(index)
    }

    /// A row of the store gets its timer, unless it stands behind another one.
    func schedule(_ waiting: WaitingDelivery, lane index: Int) {
        guard let retry = lanes[index]?.take(waiting) else { return }
        // A stored time is the wall clock's: a clock that jumped must not postpone a retry beyond a day.
        let delay = min(max(0, waiting.dueAt - ports.clock.wall()), 86_400_000 * 2)
        timers.insert(.retry(retry), due: now + delay * 1_000_000)
    }

    // MARK: Leases

    /// Nanoseconds until a lease that has ended is looked at once more.
    private static let leaseLook: Int64 = 60_000_000_000

    func leaseEnds(_ index: Int) {
        lanes[index]?.leaseTimer = nil
        guard let delegate = lanes[index]?.delegate, let end = delegate.state.expiresAt else { return }
        let left = end - ports.clock.wall()
        // The writer looks again: a renewal may be on its way. So does this lane, should it still be there then.
        if left <= 0 { checkpoints.note(DeliveryNotice(delegate.key, .leaseEnded), now: now) }
        let due = now + (left > 0 ? left * 1_000_000 : Self.leaseLook)
        lanes[index]?.leaseTimer = due
        timers.insert(.leaseEnds(delegate.key), due: due)
    }
}
