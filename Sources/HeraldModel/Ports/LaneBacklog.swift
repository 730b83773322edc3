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

    package init(count: Int) { self.count = count }

    /// Reads all rows by their events, a page at a time, and keeps at most two positions of each subject.
    /// - Parameter cursor: the last event before which the lane has read all.
    mutating func readLines(
        of delegate: DelegateKey, cursor: LogPosition, _ reader: any StoreReader
    ) throws(StoreError) {
        var first: LogPosition? = .min
        while let next = first {
            let page = try reader.rows(
                StoredRowsQuery(delegate: delegate, part: .events(next...(.max)), limit: Self.pageRows))
            for row in page { add(row, cursor) }
            first = page.count == Self.pageRows ? page.last.map { $0.event + 1 } : nil
        }
    }

    private mutating func add(_ row: WaitingDelivery, _ cursor: LogPosition) {
        if row.isReadAgain(cursor) { return readAgain.append(row.event) }
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
        let ordered = delegates.filter { $0.settings.ordering == .subject && recovery.crowded[$0.key] != nil }
        if ordered.isEmpty { return recovery }
        let cursors = Dictionary(recovery.lanes.map { ($0.delegate, $0.cursor) }) { $1 }
        let reader = try makeReader()
        for delegate in ordered {
            let cursor = cursors[delegate.key] ?? recovery.settled[delegate.key]
            try recovery.crowded[delegate.key]?.readLines(of: delegate.key, cursor: cursor, reader)
        }
        return recovery
    }
}
