import HeraldRuntime

/// What the log need not keep any longer.
struct RetentionLimits: Sendable {
    /// Events up to here go.
    let events: LogPosition
    /// Attempts started before this go; milliseconds since 1970 UTC.
    let attempts: Int64
    /// Statistics of slots that began before this go.
    let statistics: Int64
}

/// The log is marked as it grows, and cut where it is too old or too long, a slice in each transaction.
extension LogWriter {
    /// Rows that one transaction deletes at most, so that nobody waits long for it.
    private static let slice = 500
    /// Bytes of the events that one transaction reads for lanes that had still to come to them.
    private static let sliceBytes = 4 << 20

    func mark(_ transaction: any StoreTransaction, _ state: State, _ plan: inout Plan) throws(StoreError) {
        let now = clock.wall()
        // A clock that went back makes no mark until it has caught up: marks ascend.
        guard plan.head > state.lastMark.sequence, now >= state.lastMark.time + LogMark.interval else { return }
        let mark = LogMark(sequence: plan.head, time: now)
        try transaction.addMark(mark)
        plan.mark = mark
    }

    func trim(
        _ limits: RetentionLimits, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        var first: LogPosition = 0
        var gone = EventBatch(first: 0, events: [])
        if limits.events > 0 {
            gone = try transaction.undelivered(through: limits.events, limit: Self.slice, maxBytes: Self.sliceBytes)
            let limit = gone.events.isEmpty ? Self.slice : gone.events.count
            first = try transaction.removeEvents(through: limits.events, limit: limit)
        }
        let attempts = try transaction.removeAttempts(before: limits.attempts, limit: Self.slice)
        try transaction.removeStatistics(before: limits.statistics)
        if first > 0 {
            plan.effects.append(.trimmed(first: first, gone: gone))
            plan.changedBlocks.insert(AppBlock.number(of: first))
        }
        let hasMoreEvents = first > 0 && first <= min(limits.events, plan.head - 1)
        if hasMoreEvents || attempts == Self.slice {
            plan.answers.append { [intake] in intake.submit(limits) }
        }
    }
}
