import HeraldModel

/// Takes shards into a delivery loop and gives them away, while it runs. Confined to one thread.
///
/// What it takes begins where the last owner has left it, on a detour, and joins the other lanes when it has reached them. What it
/// gives starts nothing more. When the attempts that are open have ended, one checkpoint has all results, and the
/// position from which the next owner continues.
final class ShardKeeper: LoopPart {
    /// Number of events that a detour routes before the engine lets the sender work again. More than the loop routes itself, so
    /// that a detour ends.
    private static let turnBudget = 2 * DeliveryEngine.turnBudget

    /// Shards that are being given away.
    private struct Leaving {
        let detour: Detour
        /// Lanes that had open attempts at the last check.
        var busy: [Lane]
        /// When open attempts are no longer waited for, in monotonic nanoseconds.
        let deadline: Int64
        /// The last checkpoint is being written.
        var isWriting = false
        let done: @Sendable () -> Void

        var shards: Shards { detour.shards }
    }

    private let starter: AttemptStarter
    private let keeper: LaneKeeper
    private let distributor: EventDistributor
    private var taken: [Detour] = []
    private var leaving: [Leaving] = []
    /// The shards of the loop, without those that it is releasing.
    private(set) var shards: Shards

    init(
        _ loop: LoopParts, _ shards: Shards, starter: AttemptStarter, keeper: LaneKeeper, distributor: EventDistributor
    ) {
        self.shards = shards
        self.starter = starter
        self.keeper = keeper
        self.distributor = distributor
        super.init(loop)
    }

    var isGiving: Bool { !leaving.isEmpty }

    /// Whether the loop has the lane of this delegate.
    func has(_ key: DelegateKey) -> Bool { shards.contains(key) || lanes.contains(key) }

    /// When there is something to do, in monotonic nanoseconds; `nil` if nothing is due, or nothing can be done: the end of a
    /// checkpoint wakes the loop.
    var due: Int64? {
        if starter.isStopping || !ledger.mayWriteLast { return nil }
        return leaving.lazy.filter { !$0.isWriting }.map(\.deadline).min()
    }

    /// - Returns: whether nothing is left that could be done now.
    func turn() -> Bool {
        var isDone = true
        if !taken.isEmpty {
            for detour in taken where !advance(detour) { isDone = false }
            show()
        }
        give(isStopping: false)
        return isDone
    }

    // MARK: Taking

    /// - Parameter restored: all lanes of these shards, as their last owner has left them.
    func take(_ new: Shards, from position: LogPosition, _ restored: [DeliveryLoop.RestoredLane]) {
        // It may be ahead of the loop, which has not heard of the newest events yet.
        let detour = Detour(new, at: position)
        shards.formUnion(new)
        taken.append(detour)
        lanes.begin(detour)
        for lane in restored {
            keeper.set(lane.delegate, restored: lane.state)
            distributor.restore(unannounced: lane.state.unannounced, of: lane.delegate.key)
        }
        show()
    }

    /// Shows which lanes the loop has, and where those are that are not at its position in the log.
    private func show() {
        let elsewhere = taken + leaving.map(\.detour)
        ledger.board.show(
            elsewhere.reduce(shards) { $0.union($1.shards) },
            elsewhere: elsewhere.map { .init(shards: $0.shards, position: $0.position) })
    }

    /// - Returns: whether it has joined the other lanes, or waits for them or for a page of the log.
    private func advance(_ detour: Detour) -> Bool {
        if detour.position > log.routed { return true }
        var budget = Self.turnBudget
        while detour.position < log.routed {
            guard budget > 0 else { return false }
            guard let event = log.event(at: detour.position + 1) else {
                log.read(detour.position + 1, for: EventDistributor.detourKey, of: nil)
                return true
            }
            detour.position += 1
            distributor.route(event, detour)
            budget -= 1
        }
        taken.removeAll { $0 === detour }
        lanes.end(detour)
        ledger.add(detour.shards)
        return true
    }

    // MARK: Giving

    /// - Parameters:
    ///   - deadline: when open attempts are no longer waited for, in monotonic nanoseconds.
    ///   - done: called when the store has all results of these shards; at once if the loop does not have them.
    func give(_ given: Shards, deadline: Int64, _ done: @escaping @Sendable () -> Void) {
        let given = given.intersection(shards)
        guard !given.isEmpty else { return done() }
        shards.subtract(given)
        ledger.remove(given)
        let parts = taken.filter { !$0.shards.isDisjoint(with: given) }
        let isOnDetours = parts.reduce(Shards()) { $0.union($1.shards) }.isSuperset(of: given)
        // Lanes ahead of this position get a row.
        let position = (parts.map(\.position) + (isOnDetours ? [] : [log.routed])).min() ?? log.routed
        let detour = Detour(given, at: position)
        var busy: [Lane] = []
        for lane in lanes.all where given.contains(lane.key) {
            keeper.leave(lane, for: position)
            if lane.open > 0 { busy.append(lane) }
        }
        for part in parts { part.shards.subtract(given) }
        taken.removeAll { $0.shards.isEmpty }
        lanes.begin(detour)
        leaving.append(Leaving(detour: detour, busy: busy, deadline: deadline, done: done))
        show()
    }

    /// Writes the last checkpoint of shards that are being given away and whose attempts have ended.
    /// - Parameter isStopping: open attempts are no longer waited for.
    func give(isStopping: Bool) {
        if leaving.isEmpty || leaving.contains(where: \.isWriting) { return }
        var ready: [Int] = []
        for index in leaving.indices {
            leaving[index].busy.removeAll { $0.open == 0 || $0.isRemoved }
            if leaving[index].busy.isEmpty || isStopping || timers.now >= leaving[index].deadline {
                ready.append(index)
            }
        }
        guard let position = ready.first.map({ leaving[$0].detour.position }) else { return }
        // One checkpoint has one position.
        ready.removeAll { leaving[$0].detour.position != position }
        let shards = ready.reduce(Shards()) { $0.union(leaving[$1].shards) }
        guard ledger.writeLast(of: shards, at: position) else { return }
        for index in ready { leaving[index].isWriting = true }
    }

    /// Called when a checkpoint is written.
    func checkpointWritten() {
        let written = leaving.filter(\.isWriting)
        if written.isEmpty { return }
        leaving.removeAll(where: \.isWriting)
        forget(written.reduce(Shards()) { $0.union($1.shards) })
        show()
        for given in written { given.done() }
    }

    private func forget(_ gone: Shards) {
        let left = lanes.all.filter { gone.contains($0.key) }
        for lane in left {
            // The outcomes of attempts that are still open are ignored.
            lane.disown()
            distributor.forget(lane.key)
        }
        keeper.remove(Set(left.map(\.key)))
        timers.forget(gone)
        lanes.endDetours(of: gone)
    }

    // MARK: Losing

    /// - Parameters:
    ///   - lost: shards that others may have: what is open is aborted, and nothing is written.
    ///   - done: called when the loop has nothing of them any more.
    func lose(_ lost: Shards, _ done: @escaping @Sendable () -> Void) {
        shards.subtract(lost)
        starter.abort(lost)
        forget(lost)
        ledger.lose(lost)
        for detour in taken { detour.shards.subtract(lost) }
        taken.removeAll { $0.shards.isEmpty }
        for given in leaving { given.detour.shards.subtract(lost) }
        // Also while its checkpoint is written: at the end of that, the shards may have returned.
        leaving.removeAll { given in
            guard given.shards.isEmpty else { return false }
            given.done()
            return true
        }
        show()
        done()
    }
}
