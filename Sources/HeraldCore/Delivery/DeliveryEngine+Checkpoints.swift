import HeraldRuntime

/// What has changed goes to the store.
extension DeliveryEngine {
    func touched(_ index: Int) {
        guard lanes[index]?.isTouched == false else { return }
        lanes[index]?.isTouched = true
        touchedLanes.append(index)
        checkpoints.touch(now: now)
    }

    /// What people see of a lane.
    func boardEntry(_ lane: Lane, _ index: Int) -> LaneSnapshots.Entry? {
        LaneSnapshots.Entry(lane, isParked: parked.contains(index), now: now, wallOffset: wallOffset)
    }

    /// Statistics are gathered for this long, in nanoseconds: a crash loses no more of them.
    static let statisticsInterval: Int64 = 60_000_000_000

    func submitCheckpoint() {
        if let again = checkpoints.takeFailed() {
            ports.submit(again)
            return
        }
        if let part = checkpoints.takePart() { return ports.submit(part) }
        var places: [(DelegateKey, CheckpointBuilder.Place)] = []
        places.reserveCapacity(touchedLanes.count)
        for index in touchedLanes where lanes[index]?.isTouched == true {
            lanes[index]?.isTouched = false
            guard let lane = lanes[index] else { continue }
            boardChanges.append((lane.delegate.key, boardEntry(lane, index)))
            places.append((lane.delegate.key, lane.isSettled ? .settled : .at(lane.cursor, lane.position)))
            for replay in lane.replays { checkpoints.replayed(replay.id, to: replay.cursor, now: now) }
        }
        touchedLanes.removeAll(keepingCapacity: true)
        ports.submit(checkpoints.take(settled: routed, lanes: places))
    }

    /// What was counted goes with the next checkpoint, when it is time.
    func gatherStatistics() {
        guard let due = statisticsDue, now >= due || isStopping, !statisticsAreLeaving else { return }
        statisticsDue = nil
        statisticsAreLeaving = true
        checkpoints.add(board.takeStatistics(), now: now)
    }

    func checkpointEnded(succeeded: Bool) {
        if let settled = checkpoints.ended(succeeded: succeeded, now: ports.clock.monotonic()) {
            if statisticsAreLeaving && !checkpoints.hasStatistics {
                statisticsAreLeaving = false
                board.statisticsWritten()
            }
            board.update(boardChanges.filter { indices[$0.key] != nil })
            boardChanges.removeAll(keepingCapacity: true)
            board.settled = settled
        }
    }

    /// Starts nothing from here on.
    func stopStarting() {
        isStopping = true
        announceMissed()
        for watch in watched.values { watch.expire() }
        watched = [:]
        // Watches without an open delivery wait in the timers.
        timers.removeAll { timer in
            if case .expire(let watch) = timer {
                watch.expire()
                return true
            }
            return false
        }
    }

    /// Hands over what has not been checkpointed. Called until nothing is left.
    /// - Returns: whether everything has been written.
    func flush() -> Bool {
        if checkpoints.isWriting { return false }
        gatherStatistics()
        guard checkpoints.hasChanges else { return true }
        submitCheckpoint()
        return false
    }
}
