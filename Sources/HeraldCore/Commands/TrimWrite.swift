/// What the log need not keep any longer is cut off, a slice in each transaction.
struct TrimWrite: StoreCommand {
    /// Events up to here go.
    let events: LogPosition
    /// Attempts started before this go; milliseconds since 1970 UTC.
    let attempts: Int64
    /// Statistics of slots that began before this go.
    let statistics: Int64

    /// Rows that one transaction deletes at most, so that nobody waits long for it.
    private static let slice = 500
    /// Bytes of the events that one transaction reads for lanes that had still to come to them.
    private static let sliceBytes = 4 << 20

    /// The next look finds what another one would have cut.
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
        try transaction.removeStatistics(before: statistics)
        if first > 0 {
            plan.effects.append(.trimmed(first: first, gone: gone))
            plan.changedBlocks.insert(AppBlock.number(of: first))
        }
        let hasMoreEvents = first > 0 && first <= min(events, plan.head - 1)
        if hasMoreEvents || removed == Self.slice {
            plan.answers.append { [intake = writer.intake] in _ = intake.submit(self) }
        }
    }

    func refuse(_ refusal: WriteRefusal) {}
}
