import Runtime

/// Lanes come, change and go.
extension DeliveryEngine {
    /// What is known of a lane from before a restart.
    struct Restored {
        var position: LanePosition?
        var waiting: [WaitingDelivery] = []
        var decided: Set<Sequence> = []
        var replays: [Replay] = []
    }

    /// Adds a lane, or gives it the delegate's new settings.
    /// - Parameter restored: of a delegate from before the start; `nil`: it has just been registered.
    func set(_ delegate: WebhookDelegate, restored: Restored? = nil) {
        now = ports.clock.monotonic()
        if let index = indices[delegate.key], let old = lanes[index]?.delegate {
            if old.status != .gone { router.remove(index, old.settings.events) }
            lanes[index]?.change(to: delegate)
            introduce(index, delegate)
            if old.status != delegate.status, delegate.status == .pendingVerification { verify(index) }
            return
        }
        let index = insert(restored.map { restore(delegate, $0) } ?? newLane(delegate))
        indices[delegate.key] = index
        for waiting in (restored?.waiting ?? []).sorted(by: { $0.event < $1.event }) { schedule(waiting, lane: index) }
        lanes[index]?.replays = (restored?.replays ?? []).map(ReplayCursor.init)
        if restored != nil, let lane = lanes[index] { board.update([(delegate.key, LaneBoard.Entry(lane))]) }
        introduce(index, delegate)
        if delegate.status == .pendingVerification { verify(index) }
    }

    /// Makes a lane's delegate and its settings known to the router and the timers.
    private func introduce(_ index: Int, _ delegate: WebhookDelegate) {
        if delegate.status == .gone {
            end(index)
            return
        }
        router.insert(index, delegate.settings.events)
        if let end = delegate.state.expiresAt {
            let due = now + max(0, end - ports.clock.wall()) * 1_000_000
            if lanes[index]?.leaseTimer.map({ due < $0 }) ?? true {
                lanes[index]?.leaseTimer = due
                timers.insert(.leaseEnds(delegate.key), due: due)
            }
        }
        pauseOrResume(index)
    }

    func restore(_ delegate: WebhookDelegate, _ restored: Restored) -> Lane {
        if restored.position != nil { checkpoints.hasRow(delegate.key) }
        return Lane(
            delegate, next: restored.position.map { $0.cursor + 1 }, position: restored.position?.position ?? routed,
            decided: restored.decided, now: now)
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
        if !lane.isGone { router.remove(index, lane.delegate.settings.events) }
        lanes[index] = nil
        freeLanes.append(index)
        ready.remove(index)
        checkpoints.forget(key)
        board.remove(key)
        missed[key] = nil
        deadTimers += lane.waiting.count
        if deadTimers > 1024 && deadTimers > timers.count / 2 { forgetDeadTimers() }
    }

    func forgetDeadTimers() {
        deadTimers = 0
        timers.removeAll { timer in
            switch timer {
            case .retry(let retry): indices[retry.delegate] == nil
            case .wake(let key), .verify(let key), .leaseEnds(let key), .tellMissed(let key): indices[key] == nil
            case .readAgain, .expire, .keepHouse: false
            }
        }
    }

    func insert(_ lane: Lane) -> Int {
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
        if !lane.isActive && lane.next == nil { lanes[index]?.fallBehind(from: routed + 1) }
        touched(index)
        enqueue(index)
    }

    /// A delegate is gone: its deliveries end.
    func end(_ index: Int) {
        guard let lane = lanes[index] else { return }
        let ended = lanes[index]?.end() ?? []
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

    func leaseEnds(_ index: Int) {
        lanes[index]?.leaseTimer = nil
        guard let delegate = lanes[index]?.delegate, let end = delegate.state.expiresAt else { return }
        let left = end - ports.clock.wall()
        // The writer looks again: a renewal may be on its way. If so, its news sets the next timer.
        if left <= 0 { return checkpoints.note(DeliveryNotice(delegate.key, .leaseEnded), now: now) }
        lanes[index]?.leaseTimer = now + left * 1_000_000
        timers.insert(.leaseEnds(delegate.key), due: now + left * 1_000_000)
    }
}
