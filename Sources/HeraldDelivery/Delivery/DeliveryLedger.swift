import HeraldModel

/// Collects what a delivery loop reports: changes go to the store with the next checkpoint, the state of lanes goes to
/// the board. Confined to one thread.
final class DeliveryLedger {
    /// How long statistics are collected, in nanoseconds. A crash loses little more than this.
    static let statisticsInterval: Int64 = 60_000_000_000
    /// The number of statistics in one checkpoint: some 10 milliseconds of the writer's time, which publishers wait for.
    static let statisticsOfCheckpoint = 1_000

    let board: LaneSnapshots
    private let timers: LoopTimers
    /// Submits a checkpoint to the writer.
    private let submit: (Checkpoint) -> Void
    private var checkpoints: CheckpointBuilder
    private var touchedLanes: [Lane] = []
    /// Lanes that may be further behind than the board shows.
    private var unshown: [Lane] = []
    /// Lanes that were failing and had nothing to send at the last checkpoint.
    private(set) var idleFailing: [Lane] = []
    /// Changes that the board shows once the checkpoint is written. Before that, the store lacks the outcome of events
    /// that a lane has passed.
    private var boardChanges: [(lane: Lane, entry: LaneSnapshots.Entry?)] = []
    /// When the statistics are due to be written; `nil` if there are none.
    private var statisticsDue: Int64?
    private var statisticsAreLeaving = false
    /// Only a part of those that were due has left.
    private var statisticsAreLeft = false
    /// The delegates whose lanes have, or had, more rows than are to be in memory.
    var crowded: Set<DelegateKey> = []
    /// Whether a lane waits for a slot.
    var isParked: (Lane) -> Bool = { _ in false }

    init(
        settled: LogPosition, shards: Shards, board: LaneSnapshots, timers: LoopTimers, limits: LoopLimits,
        submit: @escaping (Checkpoint) -> Void
    ) {
        self.board = board
        self.timers = timers
        self.submit = submit
        checkpoints = CheckpointBuilder(
            settled: settled, shards: shards, maxAttempts: limits.attempts, partSize: limits.partSize,
            positionInterval: limits.positionInterval)
        board.begin(shards, at: settled)
    }

    /// No new attempt may start until the writer has taken what is collected.
    var isFull: Bool { checkpoints.isFull }
    var hasChanges: Bool { checkpoints.hasChanges }
    private var now: Int64 { timers.now }

    // MARK: Changes

    func routed(to sequence: LogPosition) {
        checkpoints.routed(to: sequence, now: now)
        // A lane without an entry counts as caught up with the board's position, so the entries come first.
        showUnshown()
        board.routed(to: sequence)
    }

    /// Records that the store has a row for this lane.
    func hasRow(_ key: DelegateKey) { checkpoints.hasRow(key) }

    func touched(_ lane: Lane) {
        let state = lane.next == nil ? LaneSnapshots.State.busy : .behind
        if lane.shown < state {
            lane.shown = state
            unshown.append(lane)
        }
        guard lane.touch() else { return }
        touchedLanes.append(lane)
        checkpoints.touch(now: now)
    }

    /// Records an attempt that has ended.
    func add(_ attempt: AttemptRecord, of event: Event, succeeded: Bool) {
        checkpoints.add(attempt, now: now)
        if statisticsDue == nil { statisticsDue = now + Self.statisticsInterval }
        board.count(attempt.delegate, succeeded: succeeded, duration: attempt.duration, at: timers.wall)
        board.volumes.count(
            delivered: succeeded ? 1 : 0, failed: succeeded ? 0 : 1, of: event.type, app: event.app, at: timers.wall)
    }

    /// Writes the row of a delivery.
    /// - Parameters:
    ///   - uncounted: the attempts that used up no step of the schedule.
    ///   - time: milliseconds since 1970 UTC.
    ///   - isFirst: counts for a row that is only in the store.
    func wait(
        _ lane: Lane, _ event: LogPosition, attempts: Int, uncounted: Int = 0, dueAt time: Int64, isReplay: Bool,
        isNamed: Bool = false, isFirst: Bool = false
    ) {
        lane.waiting.written(event, dueAt: time)
        if lane.waiting.isCrowded { crowded.insert(lane.key) }
        var row = WaitingDelivery(
            delegate: lane.key, event: event, attempts: attempts, dueAt: time, state: .retrying, isReplay: isReplay,
            isNamed: isNamed, uncounted: uncounted)
        row.isFirst = isReplay && (lane.rows[event]?.isFirst ?? isFirst)
        checkpoints.set(row, now: now)
    }

    /// Writes the row of a delivery again that was requested before the lane had read the event, or during its first attempt: from
    /// now on later ones wait for it.
    func becameFirst(_ lane: Lane, _ event: LogPosition) {
        touched(lane)
        guard lane.ordering != .none, let row = lane.rows[event], row.isReplay, row.isFirst else { return }
        wait(
            lane, event, attempts: row.attempts, uncounted: row.uncounted, dueAt: row.dueAt, isReplay: true,
            isNamed: row.isNamed)
    }

    /// - Parameters:
    ///   - lane: the delegate's; `nil` if it was removed.
    ///   - state: a final state.
    ///   - time: milliseconds since 1970 UTC.
    func giveUp(
        _ key: DeliveryKey, of lane: Lane?, attempts: Int, uncounted: Int = 0, _ state: WaitingDelivery.State,
        at time: Int64, isReplay: Bool
    ) {
        let isRead = lane?.gaveUp(key.event) ?? false
        var row = WaitingDelivery(
            delegate: key.delegate, event: key.event, attempts: attempts, dueAt: time, state: state,
            isReplay: isReplay, uncounted: uncounted)
        // The position of the lane is written later. A start before that must not make the delivery after later ones.
        row.isFirst = isReplay && isRead
        checkpoints.set(row, now: now)
    }

    /// Records that a row is no longer needed.
    func end(_ key: DeliveryKey) { checkpoints.end(key, now: now) }

    /// Whether a row, or its end, is in the next checkpoint. Call it when none is being written.
    func isPending(_ key: DeliveryKey) -> Bool { checkpoints.isPending(key) }

    /// The deliveries of a delegate that have ended, while the store still has their rows.
    func pendingEnds(of delegate: DelegateKey) -> Set<LogPosition> { checkpoints.pendingEnds(of: delegate) }

    /// Records that a request for a delivery has arrived: there is no checkpoint until `known(change:)`, which follows.
    func requestArrived() { checkpoints.hasUnknown = true }

    /// Records that what was requested of deliveries is known up to this change.
    func known(change: Int64) { checkpoints.known = change }

    func endReplay(_ id: Int64, of key: DelegateKey) { checkpoints.endReplay(id, of: key, now: now) }

    /// - Parameter url: the address that the notice is about, if it is about one.
    func record(_ key: DelegateKey, _ kind: DeliveryNotice.Kind, url: String? = nil) {
        checkpoints.change(now: now) { $0.notices.append(DeliveryNotice(key, kind, url: url)) }
    }

    /// Records a notice about the receiver at the lane's present address.
    func record(_ lane: Lane, _ kind: DeliveryNotice.Kind) { record(lane.key, kind, url: lane.delegate.settings.url) }

    /// Counts deliveries that will not be made, because their events are removed.
    func missed(_ removal: Removal) { checkpoints.change(now: now) { $0.missed.append(removal) } }

    /// Records how many missed deliveries of a delegate were not announced yet.
    func unannounced(_ count: Int, of key: DelegateKey) {
        checkpoints.change(now: now) { $0.unannounced[key] = count }
    }

    /// Forgets removed lanes.
    func forget(_ keys: Set<DelegateKey>) {
        checkpoints.forget(keys)
        crowded.subtract(keys)
        board.update(keys.map { ($0, nil) })
    }

    // MARK: Board

    /// Shows a lane from before the start.
    func show(_ lane: Lane) { show([(lane, entry(lane))]) }

    /// Shows the lanes that are further behind than the board shows.
    private func showUnshown() {
        if unshown.isEmpty { return }
        for lane in unshown { lane.shown = .caughtUp }
        show(unshown.filter { !$0.isSettled }.map { ($0, entry($0)) })
        unshown.removeAll(keepingCapacity: true)
    }

    private func show(_ changes: [(lane: Lane, entry: LaneSnapshots.Entry?)]) {
        for (lane, entry) in changes { lane.shown = entry?.state ?? .caughtUp }
        board.update(changes.compactMap { $0.lane.isRemoved ? nil : ($0.lane.key, $0.entry) })
    }

    /// - Parameter then: the entry when the checkpoint was made. The lane may have fallen behind during the write.
    private func entry(_ lane: Lane, _ then: LaneSnapshots.Entry?) -> LaneSnapshots.Entry? {
        guard var then, then.cursor != nil else { return lane.isSettled ? then : entry(lane) }
        if then.next == nil { (then.next, then.ahead) = (lane.next, lane.ahead) }
        return then
    }

    private func entry(_ lane: Lane) -> LaneSnapshots.Entry? {
        LaneSnapshots.Entry(lane, isParked: isParked(lane), now: now, wallOffset: timers.wallOffset)
    }

    // MARK: Checkpoints

    /// When the next write is due, in monotonic nanoseconds.
    var due: Int64? {
        if checkpoints.hasUnknown { return nil }
        return LoopTimers.earliest(
            checkpoints.due, statisticsAreLeaving ? nil : statisticsAreLeft ? now : statisticsDue)
    }

    /// Adds the statistics to the next checkpoint if they are due.
    /// - Parameter isLast: adds all of them, even if they are not due.
    func gatherStatistics(isLast: Bool) {
        let areDue = !statisticsAreLeaving && (statisticsAreLeft || (statisticsDue ?? .max) <= now)
        guard areDue || isLast else { return }
        // What was counted since the first part has its own time.
        if isLast || !statisticsAreLeft { statisticsDue = nil }
        let statistics = board.takeStatistics(limit: isLast ? nil : Self.statisticsOfCheckpoint)
        if statistics.isEmpty { return }
        statisticsAreLeaving = true
        checkpoints.change(now: now) { $0.statistics += statistics }
    }

    /// Submits a checkpoint if one is due.
    /// - Parameter routed: the position of lanes that have no row.
    func writeWhenDue(routed: LogPosition) {
        if let due = checkpoints.due, due <= now, !checkpoints.hasUnknown { write(routed: routed) }
    }

    private func write(routed: LogPosition) {
        if let again = checkpoints.takeFailed() { return submit(again) }
        if let part = checkpoints.takePart() { return submit(part) }
        if let outcomes = checkpoints.takeOutcomes(now: now) { return submit(outcomes) }
        write(settled: routed, of: nil)
    }

    private func write(settled: LogPosition, of given: Shards?) {
        var places: [(DelegateKey, CheckpointBuilder.Place)] = []
        places.reserveCapacity(touchedLanes.count)
        idleFailing = touchedLanes.filter { $0.isFailing && $0.isIdle && !$0.isRemoved }
        for lane in touchedLanes where !lane.isRemoved && lane.untouch() {
            boardChanges.append((lane, entry(lane)))
            places.append((lane.key, lane.isSettled ? .settled : .at(lane.cursor, lane.position)))
            for replay in lane.replays.all {
                checkpoints.replayed(replay.id, of: lane.key, to: replay.cursor, now: now)
            }
        }
        // Without their capacity, which after a start is that of all lanes.
        touchedLanes = []
        submit(checkpoints.take(settled: settled, of: given, lanes: places, now: now))
    }

    /// Called when the writer has finished a checkpoint.
    func ended(succeeded: Bool) {
        guard let written = checkpoints.ended(succeeded: succeeded, now: now), let settled = written.settled
        else { return }
        if statisticsAreLeaving && !checkpoints.hasStatistics {
            statisticsAreLeaving = false
            statisticsAreLeft = board.statisticsWritten()
        }
        show(boardChanges.map { lane, then in (lane, entry(lane, then)) })
        boardChanges = []
        if written.shards == checkpoints.shards { board.settled = settled }
    }

    // MARK: Shards

    /// Records that the lanes of these shards are at the loop's position in the log.
    func add(_ shards: Shards) { checkpoints.shards.formUnion(shards) }

    /// Records that they no longer advance with the loop.
    func remove(_ shards: Shards) { checkpoints.shards.subtract(shards) }

    /// Forgets what was collected of these shards, except attempts, once their lanes are forgotten.
    func lose(_ shards: Shards) { checkpoints.lose(shards) }

    /// Whether no other checkpoint must be written first.
    var mayWriteLast: Bool { !checkpoints.isWriting && !checkpoints.hasFailed && !checkpoints.hasUnknown }

    /// Submits a checkpoint of all that has changed, with the position of shards that are given away.
    /// - Returns: `false` if another one must be written first.
    func writeLast(of shards: Shards, at position: LogPosition) -> Bool {
        guard mayWriteLast else { return false }
        // The next owner adds to them.
        gatherStatistics(isLast: true)
        write(settled: position, of: shards)
        return true
    }

    /// Submits what has not been checkpointed. Called until everything is written.
    /// - Returns: whether everything has been written.
    func flush(routed: LogPosition) -> Bool {
        if checkpoints.isWriting || checkpoints.hasUnknown { return false }
        gatherStatistics(isLast: true)
        guard checkpoints.hasChanges else { return true }
        write(routed: routed)
        return false
    }
}
