import HeraldModel
import HeraldStore

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
        for removal in checkpoint.missed { try count(removal) }
        for (delegate, count) in checkpoint.unannounced { try progress.setUnannounced(count, of: delegate) }
    }

    func redeliver(_ deliveries: [WaitingDelivery]) throws(StoreError) {
        var checkpoint = Checkpoint()
        checkpoint.waiting = deliveries
        try write(checkpoint)
    }

    func drop(_ deliveries: [DeliveryKey], at time: Int64) throws(StoreError) { try waiting.drop(deliveries, at: time) }

    func forgetAttempts(of delegate: DelegateKey) { attempts.forget(delegate) }

    func removedAttempts() {}
}
