package import HeraldJSON

/// The rows of a delegate that are left in the store when its lane begins, because there are many.
package struct LaneBacklog: Sendable {
    /// The deliveries of one subject.
    package struct Line {
        /// It comes before the others.
        package let first: LogPosition
        /// The next one, if there are several.
        package var next: LogPosition?
    }

    package let count: Int
    /// The subjects, if the delegate gets one delivery of each at a time.
    package private(set) var lines: [ExactText: Line] = [:]
    /// Deliveries without an attempt whose events the lane reads again: see `WaitingDelivery.isReadAgain`.
    package private(set) var readAgain: [LogPosition] = []
    /// Redeliveries beyond the position of the lane: it has to find them when it reads their events.
    package private(set) var unread: [LogPosition] = []

    package init(count: Int) { self.count = count }

    /// Reads rows by their events, a page at a time: all of them for the order of subjects, of each of which it keeps at most two
    /// positions, otherwise those beyond the position of the lane.
    /// - Parameter lane: the last event before which the lane has read all, and the position beyond which redeliveries are not
    ///   decided.
    mutating func read(
        _ lane: LanePosition, _ ordering: WebhookSettings.Ordering, _ reader: any StoreReader
    ) throws(StoreError) {
        var first: LogPosition? = ordering == .subject ? .min : lane.position + 1
        while let next = first {
            let page = try reader.rows(
                StoredRowsQuery(delegate: lane.delegate, part: .events(next...(.max)), limit: Self.pageRows))
            for row in page { add(row, lane, ordering) }
            first = page.count == Self.pageRows ? page.last.map { $0.event + 1 } : nil
        }
    }

    private mutating func add(_ row: WaitingDelivery, _ lane: LanePosition, _ ordering: WebhookSettings.Ordering) {
        if row.event > lane.position, row.isReplay, !row.isFirst { unread.append(row.event) }
        guard ordering == .subject else { return }
        if row.isReadAgain(lane.cursor) { return readAgain.append(row.event) }
        guard let subject = row.subject.map(ExactText.init) else { return }
        if lines[subject] == nil {
            lines[subject] = Line(first: row.event)
        } else if lines[subject]?.next == nil {
            lines[subject]?.next = row.event
        }
    }

    private static let pageRows = 1_000
}

extension WaitingDelivery {
    /// Whether it was queued for its subject when the process ended, while others were open. A lane that orders by subject reads
    /// its event again, and must not start it before those others. One by name is kept: the settings may not select its event.
    package func isReadAgain(_ cursor: LogPosition) -> Bool {
        attempts == 0 && (!isReplay || isFirst && !isNamed) && event > cursor
    }
}

extension EventStore {
    /// The lanes of some shards, whose rows are left in the store if they are many.
    /// - Parameter maxRows: as for `recover`.
    package func lanes(
        of shards: Shards, _ delegates: [WebhookDelegate], maxRows: Int
    ) throws(StoreError) -> LaneRecovery {
        var recovery = try recover(shards, maxRows: maxRows)
        // One with strict order reads nothing before all of its rows are loaded.
        let crowded = delegates.filter {
            recovery.crowded[$0.key] != nil && $0.settings.kind == .webhook && $0.settings.ordering != .strict
        }
        if crowded.isEmpty { return recovery }
        let positions = Dictionary(recovery.lanes.map { ($0.delegate, $0) }) { $1 }
        let reader = try makeReader()
        for delegate in crowded {
            let (key, ordering) = (delegate.key, delegate.settings.ordering)
            // Of a lane at the position of its shard, all are decided.
            let settled = LanePosition(delegate: key, cursor: recovery.settled[key], position: .max)
            guard let lane = positions[key] ?? (ordering == .subject ? settled : nil) else { continue }
            try recovery.crowded[key]?.read(lane, ordering, reader)
        }
        return recovery
    }
}
