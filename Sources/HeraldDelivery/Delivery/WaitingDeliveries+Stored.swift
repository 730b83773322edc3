import HeraldJSON
import HeraldModel

/// Rows that are only in the store; see `StoredRows`.
extension WaitingDeliveries {
    /// Leaves rows in the store if there are too many in memory: first the longest queues of subjects, then those that are
    /// due last. Call it when a checkpoint is written.
    /// - Parameters:
    ///   - ended: the deliveries that have ended, while the store still has their rows. Called for the first rows that leave.
    ///   - isWritten: whether the store has the row as it is, or its end.
    /// - Returns: the number of rows that left memory.
    mutating func leaveInStore(
        ended: () -> Set<LogPosition> = { [] }, where isWritten: (LogPosition) -> Bool
    ) -> Int {
        if stored?.loading != nil || isReordering || ordering == .strict { return 0 }
        if let pending = stored?.removed.filter({ !isWritten($0) }) { stored?.removed = pending }
        let before = rows.count
        // What is only in the store up to this event is ended. Deliveries that were requested since stay in memory until that is done.
        let last = stored?.ended ?? .min
        if rows.count > limit / 2 {
            if stored == nil { stored = StoredRows(removed: ended()) }
            storeQueues { $0 > last && isWritten($0) }
        }
        storeLate { $0 > last && isWritten($0) }
        let count = before - rows.count
        stored?.count += count
        forgetStoredWhenUnneeded()
        return count
    }

    /// Begins with rows that are only in the store.
    mutating func begin(_ backlog: LaneBacklog) {
        var stored = StoredRows(horizon: .first, removed: Set(backlog.readAgain))
        stored.count = backlog.count - backlog.readAgain.count
        stored.unread = Set(backlog.unread)
        for (subject, line) in backlog.lines {
            lines.begin(subject.text, stored: line.next)
            stored.currents[line.first] = subject.text
        }
        self.stored = stored
    }

    private mutating func storeQueues(_ isWritten: (LogPosition) -> Bool) {
        guard ordering == .subject else { return }
        for event in storableQueues(isWritten) { rows[event] = nil }
    }

    private mutating func storableQueues(_ isWritten: (LogPosition) -> Bool) -> [LogPosition] {
        let rows = rows
        return lines.store(rows.count - limit / 8 * 3) { event in
            rows[event]?.isOpen == false && isWritten(event)
        }
    }

    private mutating func storeLate(_ isWritten: (LogPosition) -> Bool) {
        guard stored != nil else { return }
        var late: [StoredRows.Due] = []
        var leaving: [StoredRows.Due] = []
        for (event, row) in rows where !row.isQueued && !row.isOpen {
            let due = StoredRows.Due(time: row.dueAt, event: event)
            guard isWritten(event) else { continue }
            if let horizon = stored?.horizon, due > horizon { leaving.append(due) } else { late.append(due) }
        }
        let excess = rows.count - leaving.count - limit / 8 * 3
        if rows.count - leaving.count > limit / 2, excess > 0 {
            late.sort()
            let kept = max(0, late.count - excess)
            stored?.horizon = kept > 0 ? late[kept - 1] : .first
            leaving += late[kept...]
        }
        for due in leaving {
            if ordering == .subject, let subject = rows[due.event]?.subject {
                stored?.currents[due.event] = subject
            }
            rows[due.event] = nil
        }
    }

    /// Returns the rows to load from the store next; `nil` if there is enough in memory, or a load is under way.
    mutating func nextLoad() -> StoredRowsQuery.Part? {
        guard let loading = stored, loading.loading == nil else { return nil }
        var load: StoredRowsQuery.Part?
        if let through = loading.ended {
            load = .events(loading.endsFrom...through)
        } else if let (subject, first) = firstWanted() {
            load = .subject(subject, from: first)
        } else if let horizon = loading.horizon {
            let inTime = rows.count {
                !$0.value.isQueued && StoredRows.Due(time: $0.value.dueAt, event: $0.key) <= horizon
            }
            if inTime <= limit / 4, rows.count < limit { load = .due(after: horizon.time, event: horizon.event) }
        }
        stored?.loading = load
        return load
    }

    /// A subject whose queue has to be loaded, and the first event of it that is only in the store.
    private mutating func firstWanted() -> (subject: String, first: LogPosition)? {
        while let subject = stored?.wanted.first {
            if let first = lines.stored(subject.text) { return (subject.text, first) }
            stored?.wanted.remove(subject)
        }
        return nil
    }

    /// The maximum number of rows of one load.
    var loadLimit: Int { max(16, limit / 4) }

    /// Takes rows that were loaded.
    /// - Returns: the plans for their next attempts, with their times.
    mutating func loaded(_ load: StoredRowsQuery.Part, _ found: [WaitingDelivery]) -> [(retry: Retry, dueAt: Int64)] {
        let isOutdated = stored?.isLoadOutdated == true
        loadFailed()
        // What it has found is loaded again, with the rows before it.
        if isOutdated { return [] }
        let isLast = found.count < loadLimit
        var plans: [(retry: Retry, dueAt: Int64)] = []
        let new = found.filter { rows[$0.event] == nil && stored?.removed.contains($0.event) == false }
        switch load {
        case .events: break
        case .subject(let subject, _):
            stored?.wanted.remove(ExactText(subject))
            // After a change of the ordering there are no queues.
            guard lines.isStored(subject) else { break }
            var queued: [LogPosition] = []
            // A replay may have queued one of them once more, behind all others: it must not come after later ones.
            for event in found.map(\.event) where rows[event]?.isQueued == true {
                if lines.remove(event, subject) { queued.append(event) }
            }
            // An attempt of such a one was planned by its time.
            for delivery in new where stored?.currents[delivery.event] == nil {
                add(delivery)
                rows[delivery.event]?.isQueued = true
                queued.append(delivery.event)
            }
            lines.loaded(subject, queued, next: isLast ? nil : found.last.map { $0.event + 1 })
            release(subject)
        case .due:
            for delivery in new {
                let blocked = stored?.currents.removeValue(forKey: delivery.event)
                if ordering == .subject, !isReordering, blocked == nil, let subject = delivery.subject {
                    // Those of a queue in the store come with the queue.
                    if lines.isStored(subject) { continue }
                    add(delivery)
                    guard enter(subject, delivery.event) else { continue }
                } else {
                    add(delivery, blocking: blocked)
                }
                if replan(delivery.event) != nil, let retry = retry(delivery.event) {
                    plans.append((retry, delivery.dueAt))
                }
            }
            stored?.horizon = isLast ? nil : found.last.map { .init(time: $0.dueAt, event: $0.event) }
        }
        forgetStoredWhenUnneeded()
        return plans
    }

    private mutating func forgetStoredWhenUnneeded() {
        guard let stored, stored.horizon == nil, stored.ended == nil, stored.loading == nil, stored.currents.isEmpty,
            !lines.hasStored
        else { return }
        self.stored = nil
    }

    /// Whether a delivery that is not in memory is loaded with the queue of its subject. A load that is under way may have
    /// missed a row that was just written.
    func isInStoredQueue(_ delivery: WaitingDelivery) -> Bool {
        guard ordering == .subject, let stored, stored.loading == nil, let subject = delivery.subject,
            let first = lines.stored(subject)
        else { return false }
        return first <= delivery.event && stored.currents[delivery.event] == nil && !hasEnded(delivery.event)
    }

    /// Whether a delivery is only in the store, where the lane or a replay must find it: it blocks its subject, or a start has left it
    /// there before the lane had read its event.
    func isFoundInStore(_ event: LogPosition) -> Bool {
        guard !hasAll, let stored else { return false }
        return stored.currents[event] != nil || stored.unread.contains(event)
    }

    /// Whether a delivery has ended although the store may have its row.
    func hasEnded(_ event: LogPosition) -> Bool { stored?.removed.contains(event) ?? false }

    /// - Parameter subject: that it blocks. The store has none once the event is removed.
    private mutating func add(_ delivery: WaitingDelivery, blocking subject: String? = nil) {
        rows[delivery.event] = Row(
            attempts: delivery.attempts, uncounted: delivery.uncounted, isReplay: delivery.isReplay,
            isNamed: delivery.isNamed, isFirst: !delivery.isReplay || delivery.isFirst,
            subject: delivery.subject ?? subject, dueAt: delivery.dueAt)
        stored?.unread.remove(delivery.event)
        stored?.count -= 1
    }

    /// Called when a load has failed.
    mutating func loadFailed() {
        stored?.loading = nil
        stored?.isLoadOutdated = false
    }

    /// Ends the deliveries of these events that are only in the store. The caller ends their rows.
    mutating func endStored(_ isEnded: (LogPosition) -> Bool) {
        guard let currents = stored?.currents else { return }
        for (event, subject) in currents where isEnded(event) {
            stored?.currents[event] = nil
            release(subject)
        }
    }

    /// The rows of all events up to this one are to be ended, those in the store too.
    mutating func end(through event: LogPosition) {
        guard let stored else { return }
        self.stored?.ended = max(stored.ended ?? event, event)
        endStored { $0 <= event }
    }

    /// Records that rows that were found in the store have been ended.
    /// - Parameter last: there are no others up to this event.
    mutating func ended(_ events: [LogPosition], through last: LogPosition) {
        stored?.removed.formUnion(events)
        stored?.unread.subtract(events)
        stored?.count -= events.count
        if let end = stored?.ended, last < end {
            stored?.endsFrom = last + 1
        } else {
            stored?.ended = nil
            stored?.endsFrom = .min
        }
    }

    /// Records that the rows of these events may have been removed from the store.
    mutating func erased(_ events: Set<LogPosition>) {
        if stored == nil { return }
        stored?.removed.formUnion(events)
        stored?.unread.subtract(events)
        endStored { events.contains($0) }
    }
}
