import HeraldModel
import HeraldStore

/// Records deliveries.
extension Writer {
    func write(_ checkpoint: Checkpoint) throws(StoreError) {
        try attempts.add(checkpoint.attempts)
        for delivery in checkpoint.waiting { try waiting.set(delivery) }
        for delivery in checkpoint.ended { try waiting.end.bound(delivery.delegate, delivery.event).run() }
        for lane in checkpoint.lanes { try progress.setLane.bound(lane.delegate, lane.cursor, lane.position).run() }
        for delegate in checkpoint.caughtUp { try progress.removeLane.bound(delegate).run() }
        if let settled = checkpoint.settled { try progress.settle(checkpoint.shards, at: settled) }
        for replay in checkpoint.replays { try progress.moveReplay.bound(replay.id, replay.cursor).run() }
        for replay in checkpoint.endedReplays { try progress.endReplay.bound(replay.id).run() }
        for slot in checkpoint.statistics { try progress.add(slot) }
        for removal in checkpoint.missed { try count(removal) }
        for (delegate, count) in checkpoint.unannounced { try progress.setUnannounced(count, of: delegate) }
    }

    func redeliver(_ deliveries: [WaitingDelivery]) throws(StoreError) {
        var checkpoint = Checkpoint()
        checkpoint.waiting = deliveries
        try write(checkpoint)
    }

    func drop(_ deliveries: [DeliveryKey], at time: Int64) throws(StoreError) {
        let dropped = WaitingDelivery.State.dropped.rawValue
        for delivery in deliveries { try waiting.drop.bound(delivery.delegate, delivery.event, dropped, time).run() }
    }

    func forgetAttempts(of delegate: DelegateKey) { attempts.forget(delegate) }

    func removedAttempts() {}
}
