import Runtime

/// Lanes come, change and go.
extension DeliveryEngine {
    /// What is known of a lane from before a restart.
    struct Restored {
        var position: LanePosition?
        var waiting: [WaitingDelivery] = []
        var decided: Set<Sequence> = []
    }

    /// Adds a lane, or gives it the delegate's new settings.
    /// - Parameter restored: of a delegate from before the start; `nil`: it has just been registered.
    func set(_ delegate: WebhookDelegate, restored: Restored? = nil) {
        now = ports.clock.monotonic()
        if let index = indices[delegate.key], let lane = lanes[index] {
            router.remove(index, lane.delegate.settings.events)
            router.insert(index, delegate.settings.events)
            lanes[index] = Lane(lane, changedTo: delegate)
            pauseOrResume(index)
            return
        }
        let index = insert(restored.map { restore(delegate, $0) } ?? newLane(delegate))
        indices[delegate.key] = index
        router.insert(index, delegate.settings.events)
        for waiting in restored?.waiting ?? [] { schedule(waiting) }
        if restored != nil, let lane = lanes[index] { board.update([(delegate.key, LaneBoard.Entry(lane))]) }
        pauseOrResume(index)
    }

    func restore(_ delegate: WebhookDelegate, _ restored: Restored) -> Lane {
        if restored.position != nil { checkpoints.hasRow(delegate.key) }
        return Lane(
            delegate, next: restored.position.map { $0.cursor + 1 }, position: restored.position?.position ?? routed,
            waiting: restored.waiting.count, decided: restored.decided)
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
        router.remove(index, lane.delegate.settings.events)
        lanes[index] = nil
        freeLanes.append(index)
        ready.remove(index)
        checkpoints.forget(key)
        board.remove(key)
        deadTimers += lane.waiting
        if deadTimers > 1024 && deadTimers > timers.count / 2 { forgetDeadTimers() }
    }

    func forgetDeadTimers() {
        deadTimers = 0
        timers.removeAll { timer in
            switch timer {
            case .retry(let retry): indices[retry.delegate] == nil
            case .probe(let key): indices[key] == nil
            case .readAgain: false
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
        // A paused lane needs a position of its own: the common one goes on without it.
        if lane.isPaused && lane.next == nil { lanes[index]?.fallBehind(from: routed + 1) }
        touched(index)
        enqueue(index)
    }

    func schedule(_ waiting: WaitingDelivery) {
        // A stored time is the wall clock's: a clock that jumped must not postpone a retry beyond a day.
        let delay = min(max(0, waiting.dueAt - ports.clock.wall()), 86_400_000 * 2)
        timers.insert(
            .retry(Retry(delegate: waiting.delegate, event: waiting.event, attempts: waiting.attempts)),
            due: now + delay * 1_000_000)
    }
}
