import HeraldRuntime

/// What people ask for: deliveries again or no more, replays, erasure.
extension DeliveryEngine {
    /// A delivery is to be made again now; the store has a row for it.
    func redeliver(_ delivery: WaitingDelivery) {
        guard let index = indices[delivery.delegate], lanes[index]?.isGone == false else {
            // A delegate that is gone gets nothing more.
            return checkpoints.giveUp(
                DeliveryKey(delegate: delivery.delegate, event: delivery.event), attempts: 0, .dropped,
                at: ports.clock.wall(), isReplay: true, now: now)
        }
        if let retry = lanes[index]?.take(delivery) { lanes[index]?.hold(retry) }
        // Once more: a checkpoint that was made before the news came may have ended the row.
        checkpoints.wait(
            DeliveryKey(delegate: delivery.delegate, event: delivery.event), attempts: delivery.attempts,
            dueAt: delivery.dueAt, isReplay: delivery.isReplay, isNamed: delivery.isNamed, now: now)
        touched(index)
        enqueue(index)
    }

    /// A delivery is not to be tried again; the store's row says so.
    func drop(_ key: DeliveryKey) {
        guard let index = indices[key.delegate], let row = lanes[index]?.waiting[key.event],
            lanes[index]?.drop(key.event) == true
        else { return }
        // Once more: a checkpoint that was made before the news came may have set the row back.
        checkpoints.giveUp(
            key, attempts: row.attempts, .dropped, at: ports.clock.wall(), isReplay: row.isReplay, now: now)
        if !row.isOpen { withdraw(key) }
        touched(index)
        enqueue(index)
    }

    func replay(_ replay: Replay) {
        guard let index = indices[replay.delegate], lanes[index]?.isGone == false else {
            return checkpoints.endReplay(replay.id, now: now)
        }
        lanes[index]?.replays.append(ReplayCursor(replay))
        touched(index)
        endReplays(index)
        enqueue(index)
    }

    /// A replay is to start nothing more; the store has no row for it any longer.
    func endReplay(_ id: Int64, of key: DelegateKey) {
        guard let index = indices[key], let place = lanes[index]?.replays.firstIndex(where: { $0.id == id }) else {
            return
        }
        lanes[index]?.replays[place].end()
        // Only the first has anything open; that one goes when it has ended.
        if place > 0 { lanes[index]?.replays.remove(at: place) }
        touched(index)
        endReplays(index)
        enqueue(index)
    }

    /// What these events say is to be told to nobody any more. One that is on its way arrives.
    func erase(_ events: Set<LogPosition>) {
        erased.insert(events)
        recent.erase(events)
        pages.forget(events)
        view = nil
        for index in lanes.indices {
            guard let lane = lanes[index], !lane.waiting.isEmpty else { continue }
            for (event, row) in lane.waiting where events.contains(event) && lanes[index]?.drop(event) == true {
                let key = DeliveryKey(delegate: lane.delegate.key, event: event)
                checkpoints.end(key, now: now)
                if !row.isOpen { withdraw(key) }
            }
            enqueue(index)
        }
    }
}
