/// The lanes of one loop that wait for their turn at a limited origin, in order of arrival; see `OriginRate`. Confined to
/// one thread.
final class OriginQueues: LoopPart {
    private struct Queue {
        var lanes = RoundRobin()
        /// When the timer of the queue fires.
        var due: Int64?
    }

    private var queues: [OriginRates.Key: Queue] = [:]

    /// Takes the turn of a lane that may start an attempt otherwise, or queues the lane. The turn lasts until the lane
    /// starts an attempt.
    /// - Returns: whether the lane may start.
    func mayStart(_ lane: Lane) -> Bool {
        // Probes have intervals of their own.
        guard let origin = lane.origin, origin.isLimited, !lane.isFailing, !lane.hasTurn else { return true }
        if queues[origin.key] == nil {
            guard let due = origin.takeTurn(now: timers.now) else {
                lane.hasTurn = true
                return true
            }
            wake(origin, at: due)
        }
        queues[origin.key, default: Queue()].lanes.append(lane.index)
        lane.waitsForTurn = true
        return false
    }

    /// Gives turns to the first lanes of the queue.
    /// - Parameter start: queues a lane that has a turn, or sets its timer.
    func serve(_ origin: OriginRate, start: (Lane) -> Void) {
        queues[origin.key]?.due = nil
        while let lane = queues[origin.key]?.lanes.first.flatMap(lanes.at) {
            // A lane that can't use the turn returns when it can.
            if lane.isReady(now: timers.now) {
                if origin.isLimited, let due = origin.takeTurn(now: timers.now) { return wake(origin, at: due) }
                lane.hasTurn = true
            }
            _ = queues[origin.key]?.lanes.next()
            lane.waitsForTurn = false
            start(lane)
        }
        queues[origin.key] = nil
    }

    private func wake(_ origin: OriginRate, at due: Int64) {
        guard queues[origin.key]?.due == nil else { return }
        queues[origin.key, default: Queue()].due = due
        timers.insert(.originTurn(origin), due: due)
    }

    /// Called when the lane is removed, or changes its origin.
    func forget(_ lane: Lane) {
        lane.hasTurn = false
        guard lane.waitsForTurn, let origin = lane.origin else { return }
        lane.waitsForTurn = false
        queues[origin.key]?.lanes.remove(lane.index)
    }
}
