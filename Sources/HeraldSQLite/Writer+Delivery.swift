import HeraldCore

/// Records deliveries.
extension Writer {
    func write(_ checkpoint: Checkpoint) throws(StoreError) {
        try attempts.add(checkpoint.attempts)
        for delivery in checkpoint.waiting { try waiting.set(delivery) }
        for delivery in checkpoint.ended { try waiting.end(delivery) }
        for lane in checkpoint.lanes { try progress.set(lane) }
        for delegate in checkpoint.caughtUp { try progress.removeLane(delegate) }
        if let settled = checkpoint.settled { try progress.settle(checkpoint.shards, at: settled) }
        for replay in checkpoint.replays { try progress.moveReplay(replay.id, to: replay.cursor) }
        for replay in checkpoint.endedReplays { try progress.endReplay(replay.id) }
        for slot in checkpoint.statistics { try progress.add(slot) }
        for removal in checkpoint.missed { try removals.add(removal) }
        for (delegate, count) in checkpoint.unannounced { try removals.setUnannounced(count, of: delegate) }
    }

    func redeliver(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [WaitingDelivery] {
        try waiting.redeliver(query, at: time)
    }

    func redeliver(_ deliveries: [WaitingDelivery]) throws(StoreError) {
        var checkpoint = Checkpoint()
        checkpoint.waiting = deliveries
        try write(checkpoint)
    }

    func drop(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [DeliveryKey] {
        try waiting.drop(query, at: time)
    }

    func recipients(event: LogPosition) throws(StoreError) -> [DelegateKey] { try attempts.recipients(event: event) }

    func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) throws(StoreError) -> Replay {
        try progress.addReplay(delegate: delegate, after: cursor, until: until, at: time)
    }

    func removeReplay(_ id: Int64, of delegate: DelegateKey) throws(StoreError) -> Bool {
        try progress.removeReplay(id, of: delegate)
    }

    func countReplays(_ delegate: DelegateKey) throws(StoreError) -> Int { try progress.countReplays(delegate) }

    func removeAttempts(before time: Int64, limit: Int) throws(StoreError) -> Int {
        try attempts.remove(before: time, limit: limit)
    }

    func removeAttempts(through id: Int64, limit: Int) throws(StoreError) -> RemovedAttempts {
        try attempts.remove(through: id, limit: limit)
    }

    func removeStatistics(before time: Int64, limit: Int) throws(StoreError) -> Int {
        try progress.removeStatistics(before: time, limit: limit)
    }
}
