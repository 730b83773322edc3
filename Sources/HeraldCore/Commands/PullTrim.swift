import HeraldModel
import HeraldRuntime
import Synchronization

/// Moves the lanes of pull delegates past events that retention is about to remove, and counts what they miss.
///
/// A lease that has one of these events ends. The acknowledgement of its consumer is refused, and its other events are handed
/// out again.
struct PullTrim: StoreCommand {
    struct Part: Sendable {
        let delegate: DelegateKey
        /// The events up to `through` that the delegate wanted and had not pulled when they were read, ascending.
        let wanted: [LogPosition]
    }

    private(set) var parts: [Part]
    /// The last event that is removed.
    private(set) var through: LogPosition
    private(set) var cause: Removal.Cause
    let announcements: MissedPulls
    /// Called after the commit with each row that can't be read: its delegate keeps its events. The writer's thread.
    var unreadable: @Sendable (StoreError) -> Void = { _ in }

    /// The maximum number of deliveries of a delegate that one transaction ends. What is left keeps its events in the log until
    /// the next one.
    private static let rowsOfDelegate = 1_000
    /// The number of rows after which the delegates that are left wait for the next transaction.
    private static let rowsOfTransaction = 2_000
    /// The cost of a delegate besides its deliveries, in rows.
    private static let partCost = 20

    static var admission: CommandAdmission { .single }

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        var left = Self.rowsOfTransaction
        var done = 0
        for part in parts where left > 0 {
            done += 1
            do throws(StoreError) {
                left -= try trim(part, context, transaction, &plan)
            } catch {
                // A row of one delegate holds up no other.
                guard case .unreadable = error else { throw error }
                plan.answers.append { [unreadable] in unreadable(error) }
            }
        }
        var rest = self
        rest.parts = Array(parts[done...])
        if rest.parts.isEmpty {
            // Announcements that were skipped while this removal waited, such as the last ones of the hub.
            let own = Set(parts.map(\.delegate))
            let due = announcements.due(at: context.clock.monotonic()).filter { !own.contains($0) }
            if due.isEmpty || through == 0 { return }
            rest.parts = due.map { Part(delegate: $0, wanted: []) }
            (rest.through, rest.cause) = (0, .age)
        }
        plan.answers.append { [rest, intake = context.intake] in _ = intake.submit(rest) }
    }

    /// - Returns: the rows that it has taken.
    private func trim(
        _ part: Part, _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Int {
        guard let delegate = context.committed.registry.delegate(key: part.delegate),
            let stored = try transaction.pullState(of: part.delegate, lease: nil)
        else {
            // Deleted: nothing would announce its counts, which would be due every second.
            plan.answers.append { [announcements] in announcements.forget(part.delegate) }
            return 0
        }
        var lane = PullLane(delegate, stored, context, transaction, erased: plan.erased)
        let released = try lane.release(through: through)
        let rows = try transaction.retrying(part.delegate, in: 0...through, limit: Self.rowsOfDelegate)
        lane.checkpoint.ended += rows.map(\.key)
        lane.position = max(stored.lane.position, through)
        let missed = rows.count + part.wanted.count { $0 > stored.lane.position && $0 <= through }
        if missed > 0 { lane.checkpoint.missed = [Removal(.deliveries, cause, count: missed)] }
        lane.change.missed = missed
        let now = context.clock.monotonic()
        let pending = try transaction.unannounced(of: part.delegate) + missed
        let total = announcements.toSay(of: part.delegate, pending, adding: missed, at: now)
        if let total { lane.notify(.fellBehind(events: pending, total: total)) }
        // What waits for its minute outlives the process.
        if missed > 0 || total != nil { lane.checkpoint.unannounced = [part.delegate: total == nil ? pending : 0] }
        try lane.write(&plan)
        plan.answers.append { [announcements] in
            announcements.missed(missed, by: part.delegate, pending, isAnnounced: total != nil, at: now)
        }
        return Self.partCost + released + rows.count
    }
}

/// When the missed deliveries of pull delegates are announced: at most once a minute for each. The store has the counts that wait
/// for their minute. Any thread.
final class MissedPulls: Sendable {
    private struct Missed {
        /// The store has some that were not announced yet.
        var isPending = false
        /// In this series.
        var total = 0
        /// Monotonic nanoseconds.
        var announcedAt: Int64 = .min / 2
    }

    /// Nanoseconds.
    private static let interval: Int64 = 60_000_000_000

    private let missed = Mutex<[DelegateKey: Missed]>([:])

    /// The total to be announced now; `nil` if there is nothing, and within a minute after the last time.
    /// - Parameter pending: what was not announced yet, with `count`. An earlier process, or another one, may have counted a part.
    func toSay(of key: DelegateKey, _ pending: Int, adding count: Int, at now: Int64) -> Int? {
        missed.withLock { missed in
            let known = missed[key] ?? Missed()
            guard pending > 0, now - known.announcedAt >= Self.interval else { return nil }
            return max(pending, known.total + count)
        }
    }

    /// The transaction that counts them is committed.
    /// - Parameter pending: see `toSay`.
    func missed(_ count: Int, by key: DelegateKey, _ pending: Int, isAnnounced: Bool, at now: Int64) {
        missed.withLock { missed in
            var known = missed[key] ?? Missed()
            known.total = max(pending, known.total + count)
            known.isPending = pending > 0 && !isAnnounced
            if isAnnounced { known.announcedAt = now }
            missed[key] = known
        }
    }

    /// The process that counted the missed deliveries of a delegate did not announce them.
    func restore(_ key: DelegateKey) { missed.withLock { $0[key, default: Missed()].isPending = true } }

    func forget(_ key: DelegateKey) { missed.withLock { $0[key] = nil } }

    /// Ends the minute of every delegate.
    func endMinutes() {
        missed.withLock { missed in
            for key in missed.keys { missed[key]?.announcedAt = .min / 2 }
        }
    }

    /// Delegates with counts whose minute is over.
    func due(at now: Int64) -> [DelegateKey] {
        missed.withLock { missed in
            // A series has ended when nothing was missed for a minute.
            missed = missed.filter { $0.value.isPending || now - $0.value.announcedAt < Self.interval }
            return missed.filter { $0.value.isPending && now - $0.value.announcedAt >= Self.interval }.map(\.key)
        }
    }
}
