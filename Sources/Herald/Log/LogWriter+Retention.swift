import Runtime

/// What the log need not keep any longer.
struct RetentionLimits: Sendable {
    /// Events up to here go.
    let events: Sequence
    /// Attempts started before this go; milliseconds since 1970 UTC.
    let attempts: Int64
    /// Statistics of slots that began before this go.
    let statistics: Int64
}

/// The log is marked as it grows, and cut where it is too old or too long, a slice in each transaction.
extension LogWriter {
    /// Rows that one transaction deletes at most, so that nobody waits long for it.
    private static let slice = 500

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
        let first = limits.events > 0 ? try transaction.removeEvents(through: limits.events, limit: Self.slice) : 0
        let attempts = try transaction.removeAttempts(before: limits.attempts, limit: Self.slice)
        try transaction.removeStatistics(before: limits.statistics)
        if first > 0 {
            plan.effects.append(.trimmed(first: first))
            plan.changedBlocks.insert(AppBlock.number(of: first))
        }
        let hasMoreEvents = first > 0 && first <= min(limits.events, plan.head - 1)
        if hasMoreEvents || attempts == Self.slice {
            plan.answers.append { [intake] in intake.submit(limits) }
        }
    }
}
