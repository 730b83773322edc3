import HeraldModel
import HeraldRuntime

/// The part of the writer that a write uses inside a transaction. The writer's thread.
package final class WriteContext: Sendable {
    /// As of the last commit.
    let committed: CommittedState
    let ids: ULIDGenerator
    let clock: Clock
    let ages: AgeClock
    /// For the next step of a task.
    let intake: Intake
    let tracer: (any Tracer)?

    init(
        _ committed: CommittedState, ids: ULIDGenerator, clock: Clock, lastMark: LogMark? = nil, intake: Intake,
        tracer: (any Tracer)? = nil
    ) {
        self.committed = committed
        self.ids = ids
        self.clock = clock
        ages = AgeClock(clock, lastMark: lastMark?.time)
        self.intake = intake
        self.tracer = tracer
    }

    /// Adds an event to those of the transaction. The store gets them together, before the log is read, or at the end.
    func append(_ event: Event, _ plan: inout WritePlan) {
        plan.events.append(event)
        if committed.apps.limitsBytes { plan.added[event.app, default: 0] += Int64(event.storedBytes) }
    }

    /// Passes the events added since the last call to the store.
    func append(_ transaction: any StoreTransaction, _ plan: inout WritePlan) throws(StoreError) {
        guard plan.appended < plan.events.count else { return }
        try transaction.append(plan.appended == 0 ? plan.events : Array(plan.events[plan.appended...]))
        plan.appended = plan.events.count
    }
}

extension WriteContext {
    /// The number of delegates that one step removes.
    static let removedDelegates = 32
    /// The number of deliveries of delegates that one step removes.
    private static let removedDeliveries = 500

    /// The removals that one transaction may still make.
    struct RemovalRoom {
        fileprivate var delegates = WriteContext.removedDelegates
        fileprivate var deliveries = WriteContext.removedDeliveries

        var isUsed: Bool { delegates <= 0 || deliveries <= 0 }
    }

    /// Removes delegates, as many as there is room for. The deliveries of one that has many are removed first, in several steps: so a
    /// removal that is interrupted can be repeated.
    /// - Returns: those that were removed. The others take another step.
    func remove(
        _ delegates: [WebhookDelegate], _ room: inout RemovalRoom, _ transaction: any StoreTransaction,
        _ plan: inout WritePlan
    ) throws(StoreError) -> [WebhookDelegate] {
        var removed: [WebhookDelegate] = []
        for delegate in delegates {
            if room.isUsed { break }
            let count = try transaction.removeWaiting(of: delegate.key, limit: room.deliveries)
            room.deliveries -= count
            if room.deliveries <= 0 { break }
            try transaction.removeDelegate(delegate.key, at: clock.wall())
            room.delegates -= 1
            removed.append(delegate)
        }
        if !removed.isEmpty { plan.effects.append(.remove(removed)) }
        return removed
    }
}

/// A change is logged in its own transaction: every change has its entry, and there are no entries without a change.
extension WriteContext {
    /// - Parameters:
    ///   - provenance: `nil` for the process itself, which is not logged.
    ///   - target: the id of what was changed; `nil` for all delegates of the app.
    func record(
        _ provenance: Provenance?, _ app: AppKey, target: String?, _ transaction: any StoreTransaction
    ) throws(StoreError) {
        guard let provenance else { return }
        try transaction.addAudit(AuditEntry(provenance, app: app, target: target, time: clock.wall()))
    }
}

/// A repeated request gets its earlier response.
extension WriteContext {
    /// How long a response is remembered, in milliseconds.
    static let answerLifetime: Int64 = 86_400_000

    /// The earlier response to a request with this key, if there is one. A step of the clock makes no response older.
    func earlier<Outcome>(
        _ idempotency: Idempotency<Outcome>, _ app: AppKey, _ transaction: any StoreTransaction
    ) throws(StoreError) -> WriteResult<Outcome>? {
        let now = ages.now(forAge: Self.answerLifetime)
        guard let answer = try transaction.answer(app: app, key: idempotency.key, now: now) else { return nil }
        return answer.fingerprint == idempotency.fingerprint ? .replayed(answer) : .refused(.keyReused)
    }

    /// Stores the response to an outcome, if it is to be remembered.
    func remember<Outcome>(
        _ outcome: Outcome, _ idempotency: Idempotency<Outcome>, _ app: AppKey, _ transaction: any StoreTransaction
    ) throws(StoreError) {
        guard let answer = idempotency.answer(outcome) else { return }
        try transaction.setAnswer(
            answer, app: app, key: idempotency.key, expiresAt: clock.wall() + Self.answerLifetime)
    }
}
