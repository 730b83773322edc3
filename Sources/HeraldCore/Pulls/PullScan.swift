import HeraldModel
import HeraldRuntime

/// Finds the events that a pull can hand out: deliveries that are due again, or those after the position of the lane.
///
/// It only reads; the result is a proposal, which the writer accepts if nothing has changed. A reader's thread.
struct PullScan {
    /// An event that is handed out.
    struct Part: Sendable {
        let logged: LoggedEvent
        /// From 1.
        let attempt: Int
    }

    struct Result: Sendable {
        /// `nil` if there is nothing to hand out and nothing to record.
        var proposal: PullWrite.Proposal?
        var parts: [Part] = []
        /// There is more behind.
        var hasMore = false
        /// The position of the lane.
        let start: LogPosition
        /// The log was searched up to here.
        var searched: LogPosition
        /// The end of the log when the scan began.
        let head: LogPosition
        /// When a delivery is due, or a lease ends; milliseconds since 1970 UTC; `nil` if none is waiting.
        var nextDue: Int64?
    }

    let hub: Hub
    let delegate: WebhookDelegate
    /// The maximum number of events, ≥ 1.
    let limit: Int
    let ackSeconds: Int
    /// A lease that the claim acknowledges first: it holds nothing back.
    let acknowledges: String?
    /// Up to here nothing matched in the log since the lane was at the first position.
    var searched: (from: LogPosition, to: LogPosition)?

    /// The bytes of the events that are handed out at once, unless one is larger. Memory has them as often as those of a list.
    private var maxBytes: Int { min(4 << 20, hub.maxListBytes) }
    private static let rowsPerRead = 256
    /// Events of the log that one scan reads: about ten milliseconds.
    private static let maxSearched = 10_240
    /// The steps of the content filter after which one scan examines no further event: 10 ms of processor time.
    private static let maxFilterSteps = 400_000

    func run(_ reader: any StoreReader) throws(StoreError) -> Result? {
        // Read first, so that no event is missed that comes later.
        let head = hub.head
        guard let state = try reader.pullState(of: delegate.key, lease: acknowledges) else { return nil }
        let lane = state.lane
        let now = hub.clock.wall()
        var result = Result(start: lane.position, searched: lane.position, head: head)
        var leases = state.others
        if let lease = state.lease { leases.add(lease) }
        if let end = leases.firstEnd, end <= now {
            // The claim ends it.
            result.proposal = proposal(lane.position, to: lane.position)
            return result
        }
        let isStrict = delegate.settings.ordering == .strict
        // Rows of an open lease are due at its end.
        var acknowledged: Set<LogPosition> = []
        if isStrict {
            if let end = state.others.firstEnd {
                result.nextDue = end
                return result
            }
            acknowledged = Set(state.lease?.entries.filter(\.hasRow).map(\.event) ?? [])
        }
        let stored = try rows(reader, limit: limit + 1 + acknowledged.count)
        let rows = acknowledged.isEmpty ? stored : stored.filter { !acknowledged.contains($0.event) }
        let due = isStrict ? Array(rows.prefix { $0.dueAt <= now }) : rows.filter { $0.dueAt <= now }
        result.nextDue = (rows.map(\.dueAt).filter { $0 > now } + (leases.firstEnd.map { [$0] } ?? [])).min()
        // In order, everything waits for the first delivery that failed.
        if isStrict, !rows.isEmpty, due.isEmpty { return result }
        // Due deliveries come before the log: they get every second pull.
        if !due.isEmpty, isStrict || !hub.committed.pulls.hadRetries(delegate.key) {
            try take(due, lane, &result, reader)
            return result
        }
        let isAll = stored.count <= limit + acknowledged.count
        try search(lane, withRows: isAll ? Set(stored.map(\.event)) : nil, &result, reader)
        if due.isEmpty { return result }
        if result.proposal == nil { try take(due, lane, &result, reader) } else { result.hasMore = true }
        return result
    }

    private func proposal(
        _ from: LogPosition, to: LogPosition, _ entries: [PullLease.Entry] = [], ended: [WaitingDelivery] = []
    ) -> PullWrite.Proposal {
        PullWrite.Proposal(
            from: from, to: to, entries: entries, ended: ended, ackSeconds: ackSeconds, acknowledges: acknowledges)
    }

    // MARK: Retries

    /// The first rows: by their times, or by their events if the order is strict. Fewer than the limit are all.
    private func rows(_ reader: any StoreReader, limit: Int) throws(StoreError) -> [WaitingDelivery] {
        let part: StoredRowsQuery.Part =
            delegate.settings.ordering == .strict ? .events(0...(.max)) : .due(after: .min, event: 0)
        return try reader.rows(StoredRowsQuery(delegate: delegate.key, part: part, limit: limit))
    }

    private func take(
        _ due: [WaitingDelivery], _ lane: LanePosition, _ result: inout Result, _ reader: any StoreReader
    ) throws(StoreError) {
        let run = due[0].isAlone ? Array(due.prefix(1)) : Array(due.prefix { !$0.isAlone }.prefix(limit))
        var entries: [PullLease.Entry] = []
        var ended: [WaitingDelivery] = []
        var (bytes, steps) = (0, 0)
        for row in run {
            if steps >= Self.maxFilterSteps { break }
            let batch = try reader.events(after: row.event - 1, limit: 1, maxBytes: maxBytes)
            let event = batch.first == row.event ? batch.events.first : nil
            guard let found = event, !found.isErased, !found.isDamaged,
                row.isNamed || delegate.selection.wants(found, &steps)
            else {
                ended.append(row.ended(event?.isDamaged == true ? .damaged : .unwanted, at: hub.clock.wall()))
                continue
            }
            if bytes > 0, bytes + found.body.count > maxBytes { break }
            bytes += found.body.count
            entries.append(
                PullLease.Entry(row.event, attempts: row.attempts, uncounted: row.uncounted, hasRow: true))
            result.parts.append(
                Part(logged: LoggedEvent(sequence: row.event, event: found), attempt: row.attempts + 1))
        }
        entries.sort { $0.event < $1.event }
        result.parts.sort { $0.logged.sequence < $1.logged.sequence }
        result.proposal = proposal(lane.position, to: lane.position, entries, ended: ended)
        result.hasMore = entries.count + ended.count < due.count || lane.position < hub.head
    }

    // MARK: The log

    /// - Parameter known: the events that have rows; `nil` if they were not all read.
    private func search(
        _ lane: LanePosition, withRows known: Set<LogPosition>?, _ result: inout Result, _ reader: any StoreReader
    ) throws(StoreError) {
        var position = lane.position
        if let searched, searched.from == lane.position { position = max(position, searched.to) }
        var entries: [PullLease.Entry] = []
        var (bytes, read, steps) = (0, 0, 0)
        search: while read < Self.maxSearched, steps < Self.maxFilterSteps {
            let head = hub.head
            // The events of other apps are passed over, as in `EventFeed`.
            let gap = hub.committed.usage.gap(of: delegate.app, after: position)
            position = gap.end
            if !gap.isFollowed { break }
            // Most delegates want most of what there is: the first read has what the pull can take.
            let rows = read == 0 ? min(limit + 1, Self.rowsPerRead) : Self.rowsPerRead
            let batch = try hub.batch(after: position, limit: rows, .success(reader))
            if batch.events.isEmpty {
                if position >= head { break }
                // Retention has removed all up to there.
                position = head
                continue
            }
            read += batch.events.count
            for (index, event) in batch.events.enumerated() {
                if steps >= Self.maxFilterSteps { break search }
                let sequence = batch.first + LogPosition(index)
                if delegate.selection.wants(event, &steps) {
                    if entries.count == limit || (bytes > 0 && bytes + event.body.count > maxBytes) {
                        result.hasMore = true
                        break search
                    }
                    bytes += event.body.count
                    entries.append(PullLease.Entry(sequence))
                    result.parts.append(Part(logged: LoggedEvent(sequence: sequence, event: event), attempt: 1))
                }
                position = sequence
            }
        }
        result.searched = position
        let isCutOff = read >= Self.maxSearched || steps >= Self.maxFilterSteps
        if isCutOff { result.hasMore = true }
        // An event that was redelivered before it was reached has a row, by which it is handed out.
        var hasOwnRows = false
        if let first = entries.first?.event, let last = entries.last?.event {
            let own: Set<LogPosition>
            if let known {
                own = known
            } else {
                let query = StoredRowsQuery(
                    delegate: delegate.key, part: .events(first...last), limit: Self.maxSearched)
                own = Set(try reader.rows(query).map(\.event))
            }
            hasOwnRows = own.contains { (first...last).contains($0) }
            if hasOwnRows {
                entries.removeAll { own.contains($0.event) }
                result.parts.removeAll { own.contains($0.logged.sequence) }
            }
        }
        // Nothing matched in much of the log: the position is stored, so that the next start need not search again.
        if !entries.isEmpty || hasOwnRows || position - lane.position >= LogPosition(Self.maxSearched)
            || steps >= Self.maxFilterSteps
        {
            result.proposal = proposal(lane.position, to: position, entries)
        }
    }
}

extension WaitingDelivery {
    /// - Parameter time: milliseconds since 1970 UTC.
    fileprivate func ended(_ state: State, at time: Int64) -> WaitingDelivery {
        WaitingDelivery(
            delegate: delegate, event: event, attempts: attempts, dueAt: time, state: state, isReplay: isReplay,
            isNamed: isNamed, uncounted: uncounted)
    }
}
