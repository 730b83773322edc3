/// Removes the old part of the log, a slice in each transaction.
struct TrimWrite: StoreCommand {
    /// Events up to this position are removed.
    let events: LogPosition
    /// Attempts started before this time are removed; milliseconds since 1970 UTC.
    let attempts: Int64
    /// Statistics of slots that began before this time are removed.
    let statistics: Int64
    /// Why the events are removed.
    var cause = Removal.Cause.age

    /// The maximum number of rows that one transaction deletes, so that it stays short.
    private static let slice = 500
    /// The maximum size of the events that one transaction reads for lanes that have not reached them.
    private static let sliceBytes = 4 << 20

    /// The next check finds what a skipped one would have removed.
    static var admission: CommandAdmission { .single }

    func perform(
        _ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan
    ) throws(StoreError) {
        var first: LogPosition = 0
        var gone = EventBatch(first: 0, events: [])
        if events > 0 {
            gone = try transaction.undelivered(through: events, limit: Self.slice, maxBytes: Self.sliceBytes)
            let limit = gone.events.isEmpty ? Self.slice : gone.events.count
            first = try transaction.removeEvents(through: events, limit: limit)
        }
        let removed = try transaction.removeAttempts(before: attempts, limit: Self.slice)
        if first > gone.first { try transaction.count(Removal(.events, cause, count: Int(first - gone.first))) }
        if removed > 0 { try transaction.count(Removal(.attempts, .age, count: removed)) }
        try transaction.removeStatistics(before: statistics)
        if first > 0 {
            plan.effects.append(.trimmed(first: first, gone: gone, cause))
            plan.changedBlocks.insert(AppBlock.number(of: first))
        }
        let hasMoreEvents = first > 0 && first <= min(events, plan.head - 1)
        if hasMoreEvents || removed == Self.slice {
            plan.answers.append { [intake = writer.intake] in _ = intake.submit(self) }
        }
    }

    func refuse(_ refusal: WriteRefusal) {}
}
