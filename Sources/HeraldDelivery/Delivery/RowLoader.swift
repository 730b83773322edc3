import HeraldModel

/// Leaves rows of lanes that have many in the store, and loads them when there is room; see `StoredRows`. Confined to one
/// thread.
final class RowLoader: LoopPart {
    private let starter: AttemptStarter
    private let distributor: EventDistributor
    /// Requests rows, which are passed to `arrived`.
    private let read: (StoredRowsQuery) -> Void

    init(
        _ loop: LoopParts, starter: AttemptStarter, distributor: EventDistributor,
        read: @escaping (StoredRowsQuery) -> Void
    ) {
        self.starter = starter
        self.distributor = distributor
        self.read = read
        super.init(loop)
    }

    /// Called when the store has what was collected up to now.
    func checkpointWritten() {
        for key in ledger.crowded {
            guard let lane = lanes[key], lane.waiting.isCrowded else {
                ledger.crowded.remove(key)
                continue
            }
            // The lane must find the row of an event that it has not read, or it would deliver the event by itself, too.
            let unread = lane.next ?? lanes.detour(of: lane).map { $0.position + 1 } ?? .max
            let count = lane.waiting.leaveInStore(
                ended: { ledger.pendingEnds(of: key) },
                where: { $0 < unread && !ledger.isPending(DeliveryKey(delegate: key, event: $0)) })
            if count > 0 {
                timers.forget(count, lanes)
                starter.enqueue(lane)
            }
            load(key)
        }
    }

    /// Requests the next rows of a lane if it has room for them.
    func load(_ key: DelegateKey) {
        guard let lane = lanes[key], let part = lane.waiting.nextLoad() else { return }
        read(StoredRowsQuery(delegate: key, part: part, limit: lane.waiting.loadLimit))
    }

    /// Called when rows have been read; `nil` if they could not be read.
    func arrived(_ key: DelegateKey, _ part: StoredRowsQuery.Part, _ rows: [WaitingDelivery]?) {
        guard let lane = lanes[key], lane.waiting.stored?.loading == part else { return }
        guard let rows else {
            lane.waiting.loadFailed()
            return timers.insert(.loadRows(key), due: timers.now + LoopTimers.pause)
        }
        let plans = lane.waiting.loaded(part, rows)
        ledger.touched(lane)
        // The next ones are read when the ends of these are written.
        if case .events(let range) = part { return end(rows, through: range.upperBound, of: lane) }
        let longest = lane.longestDelay
        for plan in plans { timers.insert(plan.retry, dueAt: plan.dueAt, longest: longest) }
        starter.enqueue(lane)
        load(key)
    }

    /// Ends deliveries that were only in the store.
    /// - Parameter last: the last event of the query. More may be to be ended since.
    private func end(_ rows: [WaitingDelivery], through last: LogPosition, of lane: Lane) {
        let found = rows.count < lane.waiting.loadLimit ? last : rows.last?.event ?? last
        // What is in memory too has been made since, and ends by itself.
        let ended = rows.filter { lane.rows[$0.event] == nil && !lane.waiting.hasEnded($0.event) }
        // By now the delegate may have been resumed.
        let wasGone = lane.waiting.stored?.ended == .max
        lane.waiting.ended(ended.map(\.event), through: found)
        for row in ended {
            let key = DeliveryKey(delegate: lane.key, event: row.event)
            if wasGone {
                ledger.giveUp(
                    key, of: lane, attempts: row.attempts, .dropped, at: timers.exactWall, isReplay: row.isReplay)
            } else {
                ledger.end(key)
            }
            awaited.withdraw(key)
        }
        if !wasGone { distributor.record(missed: ended.count, of: lane.key, .size) }
        starter.enqueue(lane)
    }
}
