import HeraldModel
import HeraldRuntime

/// The periodic maintenance of the store. The writer adds it to the first transaction after each interval. While there are more
/// expired responses than one removes, the interval is a pause, and does not wait for submissions. Publishing does not depend
/// on it.
struct Housekeeping: StoreCommand {
    /// Nanoseconds between two.
    static let interval: Int64 = 1_000_000_000
    /// Nanoseconds between two while there are more expired responses: the writers of other processes get their turn.
    static let pause: Int64 = 10_000_000
    /// Milliseconds after which a step of the clock counts for marks.
    private static let steps: Int64 = 600_000
    /// The maximum number of expired responses that one removes, besides as many as its transaction may store. So removal keeps
    /// up with 50,000 requests per second, and with a writer whose transactions take longer than the pause.
    private static let maxAnswers = 500

    private let lastMark: LogMark
    private let filledBlocks: Range<Int64>
    private let nextAuditTrim: Int64

    init(_ state: LogWriter.State) {
        lastMark = state.lastMark
        filledBlocks = state.filledBlocks
        nextAuditTrim = state.nextAuditTrim
    }

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        let lifetime = context.ages.now(forAge: WriteContext.answerLifetime)
        let limit = Self.maxAnswers + plan.posted.count + plan.answers.count
        plan.hasExpiredAnswers = try transaction.removeExpiredAnswers(now: lifetime, limit: limit) == limit
        plan.nextAuditTrim = try transaction.trimAudit(from: nextAuditTrim)
        plan.filledBlocks = filledBlocks
        // The log is marked as it grows, before and after what this transaction appends, so that events can be found by the
        // time of their acceptance, and cut by age. A step of the clock counts once it has lasted. After the clock went back,
        // there are no marks until it has caught up, because marks ascend.
        let now = context.ages.now(forAge: Self.steps)
        let head = try transaction.head
        guard head > lastMark.sequence, now >= lastMark.time + LogMark.interval else { return }
        let mark = LogMark(sequence: head, time: now)
        try transaction.addMark(LogMark(sequence: head - LogPosition(plan.events.count), time: now - 1))
        try transaction.addMark(mark)
        plan.mark = mark
    }
}
