import HeraldModel

/// Removes old events, attempts and statistics, and gives back free space, a slice in each transaction.
struct TrimWrite: StoreCommand {
    /// Positions of events that no delegate is still to get, ascending.
    var events: [ClosedRange<LogPosition>] = []
    /// Why the events are removed.
    var cause = Removal.Cause.age
    /// Attempts up to this id are removed, to save space.
    var attemptsThrough: Int64 = 0
    /// Attempts started before this time are removed; milliseconds since 1970 UTC.
    var attemptsBefore: Int64 = 0
    /// Statistics of slots that began before this time are removed.
    var statisticsBefore: Int64 = 0
    /// The bytes of free space in the file of the database to give back to the file system.
    var giveBack: Int64 = 0
    /// Called once all of it is removed, with `true`, or when a transaction has failed. Must not wait.
    var completion: @Sendable (Bool) -> Void = { _ in }

    /// The maximum number of rows that one transaction deletes of each table, so that it stays short.
    private static let slice = 500
    /// The maximum number of bytes that one transaction gives back: 32 pages, a part of a millisecond.
    private static let giveBackSlice: Int64 = 128 << 10
    /// The cost of a range besides its rows, in rows.
    private static let rangeCost = 20

    var isEmpty: Bool {
        events.isEmpty && attemptsThrough == 0 && attemptsBefore == 0 && statisticsBefore == 0 && giveBack <= 0
    }

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        var rest = self
        rest.events = try removeEvents(context, transaction, &plan)
        if attemptsThrough > 0 {
            let removed = try transaction.removeAttempts(through: attemptsThrough, limit: Self.slice).count
            if removed > 0 { try transaction.count(Removal(.attempts, .size, count: removed)) }
            if removed < Self.slice { rest.attemptsThrough = 0 }
        }
        if attemptsBefore > 0 {
            let removed = try transaction.removeAttempts(before: attemptsBefore, limit: Self.slice)
            if removed > 0 { try transaction.count(Removal(.attempts, .age, count: removed)) }
            if removed < Self.slice { rest.attemptsBefore = 0 }
        }
        if statisticsBefore > 0 {
            let removed = try transaction.removeStatistics(before: statisticsBefore, limit: Self.slice)
            if removed < Self.slice { rest.statisticsBefore = 0 }
        }
        if giveBack > 0 {
            let given = try transaction.giveBack(bytes: min(giveBack, Self.giveBackSlice))
            rest.giveBack = given > 0 ? giveBack - given : 0
        }
        plan.answers.append { [rest, intake = context.intake] in
            if rest.isEmpty { return rest.completion(true) }
            if intake.submit(rest) != nil { rest.completion(false) }
        }
    }

    /// - Returns: the ranges that are left for the next transaction.
    private func removeEvents(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> [ClosedRange<LogPosition>] {
        var rows = Self.slice
        var first: LogPosition = 0
        var count = 0
        var done = 0
        var partial: ClosedRange<LogPosition>?
        let head = try transaction.head
        for range in events where rows > 0 {
            let upper = min(range.upperBound, range.lowerBound + LogPosition(rows) - 1)
            try removeScheduled(replacedIn: range.lowerBound...upper, context, transaction, &plan)
            let removed = try transaction.removeEvents(range.lowerBound...upper, limit: rows)
            first = removed.first
            count += removed.count
            rows -= removed.count + Self.rangeCost
            done += 1
            for block in AppBlock.number(of: range.lowerBound)...AppBlock.number(of: upper)
            where block >= AppBlock.number(of: first) {
                plan.changedBlocks.insert(block)
            }
            if removed.through < min(range.upperBound, head - 1) {
                partial = max(removed.through + 1, range.lowerBound)...range.upperBound
                break
            }
        }
        if count > 0 { try transaction.count(Removal(.events, cause, count: count)) }
        if first > 0 { plan.effects.append(.trimmed(first: first)) }
        return (partial.map { [$0] } ?? []) + events.dropFirst(done)
    }

    /// Removes the scheduled events that these events have replaced: without them they would be published when they are due.
    private func removeScheduled(
        replacedIn range: ClosedRange<LogPosition>, _ context: WriteContext, _ transaction: any StoreTransaction,
        _ plan: inout WritePlan
    ) throws(StoreError) {
        guard context.committed.pending.total > 0 else { return }
        let replaced = try transaction.replacedPending(in: range)
        if replaced.isEmpty { return }
        try transaction.removePending(replaced.map(\.key))
        for (app, events) in Dictionary(grouping: replaced, by: \.app) {
            try context.countPending(
                app, events: -events.count, bytes: -events.reduce(0) { $0 + $1.bytes }, transaction, &plan)
        }
    }

    func refuse(_ refusal: HubError) { completion(false) }
}
