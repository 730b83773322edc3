import HeraldModel
import HeraldRuntime

/// Schedules events inside a transaction, and publishes those that are due.
extension WriteContext {
    /// The scheduled events of an app, including those of this transaction.
    func pendingCount(of app: AppKey, _ plan: WritePlan) -> PendingCount {
        plan.pending[app] ?? committed.pending.count(of: app)
    }

    /// Changes the count of an app.
    /// - Parameter earliest: when the earliest of the added events is due; `.max` if none was added.
    func countPending(
        _ app: AppKey, events: Int, bytes: Int64, earliest: Int64 = .max, _ transaction: any StoreTransaction,
        _ plan: inout WritePlan
    ) throws(StoreError) {
        var count = pendingCount(of: app, plan)
        count.events = max(0, count.events + Int64(events))
        count.bytes = count.events == 0 ? 0 : max(0, count.bytes + bytes)
        try transaction.setPendingCount(count)
        plan.pending[app] = count
        plan.effects.append(.pending(count, earliest: earliest))
    }

    /// Why no event may be scheduled now.
    func refusal(ofScheduling events: Int, of app: AppKey, _ plan: WritePlan) -> HubError? {
        guard events > 0, pendingCount(of: app, plan).events + Int64(events) > Int64(PendingEvent.maxCount) else {
            return nil
        }
        return .tooManyScheduled(limit: PendingEvent.maxCount)
    }

    /// The events that a publication has scheduled.
    struct Scheduled {
        var events = 0
        var bytes: Int64 = 0
        var earliest: Int64 = .max
    }

    /// Schedules an event, unless its id is in use.
    func schedule(
        _ draft: EventDraft, at dueAt: Int64, _ scheduled: inout Scheduled, _ transaction: any StoreTransaction,
        _ plan: inout WritePlan
    ) throws(StoreError) -> PublishedEvent {
        var event = draft.event
        if draft.mayExist {
            try append(transaction, &plan)
            switch try search(event, transaction) {
            case .found(let first):
                return PublishedEvent(event: first, disposition: .existed, differences: first.differences(from: draft))
            case .isNew(let named): event = named
            }
            // Also while the count of the app says that there are none: a wrong one must not fail the transactions of others.
            if let first = try earlierScheduled(&event, transaction) {
                let differences =
                    first.event.differences(from: draft) + (first.dueAt == dueAt ? [] : ["/deliver_at"])
                return PublishedEvent(
                    event: first.event, disposition: .existed, differences: differences, deliverAt: first.dueAt)
            }
        }
        try transaction.addPending(event, dueAt: dueAt)
        scheduled.events += 1
        scheduled.bytes += Int64(event.storedBytes)
        scheduled.earliest = min(scheduled.earliest, dueAt)
        return PublishedEvent(event: event, disposition: .scheduled, deliverAt: dueAt)
    }

    /// The scheduled event with the source and id of this one. If the id is that of another source, the event gets one that
    /// names its own (see ``EventID``).
    func earlierScheduled(
        _ event: inout Event, _ transaction: any StoreTransaction
    ) throws(StoreError) -> PendingEvent? {
        guard let first = try transaction.pending(app: event.app, id: event.id) else { return nil }
        if first.event.hasSource(of: event) { return first }
        event = event.qualified()
        return try transaction.pending(app: event.app, id: event.id)
    }

    /// Puts an event aside that was committed and can't be published.
    func refuse(
        _ submission: Submission, reason: String, at time: Int64, _ transaction: any StoreTransaction,
        _ plan: inout WritePlan
    ) throws(StoreError) {
        let event = RefusedEvent(submission, reason: reason, refusedAt: time)
        try transaction.addRefused(event)
        // Also the first one since the start, since the process before may have kept some beyond the limit.
        if (committed.refused.count + plan.refused) % RefusedEvent.slack == 0 { try transaction.trimRefused() }
        plan.refused += 1
        plan.effects.append(.refused(event))
    }

    /// Publishes an event that is due. An event whose id was published in the meantime is not published again.
    func publish(
        _ due: DueEvent, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        let event = due.pending.event
        // Of an app that was deleted.
        guard committed.apps[event.app] != nil else { return }
        if event.isDamaged {
            return try refuse(
                Submission(due.pending), reason: Reason.damaged(), at: clock.wall(), transaction, &plan)
        }
        // Ids of events of several sources are searched for again.
        let mayExist = due.isInLog || event.attribute(CloudEventAttribute.source) != nil
        _ = try post(EventDraft(due: event, mayExist: mayExist), transaction, &plan)
    }
}

extension Submission {
    fileprivate init(_ pending: PendingEvent) {
        let event = pending.event
        self.init(
            key: pending.key, app: event.app, id: event.id, type: event.type, subject: event.subject, time: event.time,
            data: Array(event.data), deliverAt: pending.dueAt)
    }
}
