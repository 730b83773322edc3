import HeraldDelivery
package import HeraldModel
import HeraldRuntime

/// A change of deliveries, with its completion.
package struct DeliveryWrite: Sendable {
    package enum Action: Sendable {
        /// Sends deliveries with a row of their own again, from the first attempt on.
        case redeliver(DeliveryQuery)
        /// Sends one event again: to one delegate, or to all its recipients.
        case redeliverEvent(id: String, delegateID: String?)
        /// Cancels deliveries that wait for a retry.
        case cancel(DeliveryQuery)
        /// Replays the events after one position up to another for a delegate; `nil`: up to the current end.
        case replay(delegateID: String, after: LogPosition, until: LogPosition?)
        /// Ends a replay: nothing more is started for it. Open deliveries continue.
        case endReplay(delegateID: String, replay: Int64)
        /// One step of an erasure: of events, and then of the data of their subject outside the log. The outcome says what is
        /// left, for the next step.
        case erase([LogPosition])
        case eraseSubject(String, after: String)
        /// The first step of an erasure: removes the events of a subject that are not in the log. The next step is the same while
        /// the outcome has some.
        case erasePending(String)
    }

    package enum Outcome: Sendable {
        /// The number of changed deliveries.
        case count(Int)
        /// The number of changed deliveries; the search for others continues after this one.
        case part(Int, DeliveryKey)
        case replay(Replay)
        case erased(Erasure)
        /// Nothing was changed.
        case failed(HubError)

        /// Why nothing was changed; `nil` if it was.
        package var error: HubError? { if case .failed(let error) = self { error } else { nil } }
    }

    /// The maximum number of deliveries that one request changes.
    package static let maxDeliveries = 10_000
    /// With a filter, the maximum number of deliveries of a state that one step reads, and the number of steps of one
    /// request.
    private static let readsOfStep = 256
    private static let maxSteps = 400
    /// The number of deliveries that one step passes over, also of other apps: some milliseconds.
    private static let passedOfStep = 10_000
    /// The number of responses that one step searches.
    private static let answersOfStep = 256
    /// The number of scheduled events that one step removes.
    private static let scheduledOfStep = 100
    /// The maximum number of replays of one delegate.
    package static let maxReplays = 8

    package let app: AppKey
    package private(set) var action: Action
    /// For the audit log; `nil` for the process itself, or if it was logged before.
    package private(set) var provenance: Provenance?
    /// The number of deliveries that earlier steps have changed.
    private var changed = 0
    private var steps = 0
    /// The last delegate to which an earlier step has sent its event again; 0 before.
    private var lastRecipient: DelegateKey = 0
    package let idempotency: Idempotency<Outcome>?
    package let completion: @Sendable (WriteResult<Outcome>) -> Void

    package init(
        app: AppKey = .default, action: Action, provenance: Provenance? = nil,
        idempotency: Idempotency<Outcome>? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.action = action
        self.provenance = provenance
        self.idempotency = idempotency
        self.completion = completion
    }
}

extension DeliveryWrite: RequestCommand {
    package var isStep: Bool {
        switch action {
        case .redeliver, .redeliverEvent, .cancel, .erase, .eraseSubject, .erasePending: true
        case .replay, .endReplay: false
        }
    }

    package func saysErased(_ outcome: Outcome) -> Bool {
        guard case .eraseSubject = action, case .erased(let erasure) = outcome else { return false }
        return erasure.nextAnswer == nil
    }

    package func outcome(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        let outcome = try change(context, transaction, &plan)
        switch outcome {
        case .count(0), .failed: break
        case .part(0, _): break
        case .count, .part, .replay, .erased:
            try context.record(provenance, app, target: target(context.committed.registry), transaction)
        }
        return outcome
    }

    /// The target in the audit log. The subject of an erasure must not be logged.
    private func target(_ registry: Registry) -> String? {
        switch action {
        case .redeliver(let query), .cancel(let query):
            query.delegate.flatMap { registry.delegate(key: $0)?.id }
        case .redeliverEvent(let id, _): id
        case .replay(let delegateID, _, _), .endReplay(let delegateID, _): delegateID
        case .erase, .eraseSubject, .erasePending: nil
        }
    }

    private func change(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        let now = context.clock.wall()
        let registry = context.committed.registry
        if steps == 0, let refusal = action.refusal(app, registry) { return .failed(refusal) }
        switch action {
        case .redeliver(let query):
            let page = try transaction.search(step(of: query))
            // In the order of the log, in which lanes with an order send them.
            let deliveries = page.rows.sorted { $0.key < $1.key }.map { $0.again(at: now) }
            if !deliveries.isEmpty {
                try transaction.redeliver(deliveries)
                plan.effects.append(.redelivered(deliveries))
            }
            return stepped(query, page, &plan)
        case .redeliverEvent(let id, let delegateID):
            return try redeliver(id, to: delegateID, context, transaction, &plan)
        case .cancel(let query):
            var retrying = step(of: query)
            retrying.states = [.retrying]
            let page = try transaction.search(retrying)
            let dropped = page.rows.map(\.key)
            if !dropped.isEmpty {
                try transaction.drop(dropped, at: now)
                plan.effects.append(.dropped(dropped))
            }
            return stepped(query, page, &plan)
        case .replay(let delegateID, let after, let until):
            guard let delegate = registry.delegate(app, id: delegateID) else {
                return .failed(.noDelegate(delegateID))
            }
            guard try transaction.countReplays(delegate.key) < Self.maxReplays else {
                return .failed(.tooMany("\(Self.maxReplays) replays of this delegate have not ended yet."))
            }
            let head = try transaction.head
            let replay = try transaction.addReplay(
                delegate: delegate.key, after: after, until: min(until ?? head, head), at: now)
            plan.effects.append(.replay(replay))
            return .replay(replay)
        case .endReplay(let delegateID, let id):
            guard let delegate = registry.delegate(app, id: delegateID) else {
                return .failed(.noDelegate(delegateID))
            }
            guard try transaction.removeReplay(id, of: delegate.key) else {
                return .failed(.notFound("There is no such replay under way: it has ended, or was never begun."))
            }
            plan.effects.append(.endReplay(id, delegate.key))
            return .count(1)
        case .erase(let events):
            let erasure = try transaction.erase(events, limit: Self.rowsOfStep)
            // Other processes erase what is named here: an event of the next step would be missing in the receipt.
            let erased = Set(events.prefix(Self.rowsOfStep))
            plan.erased.insert(erased, of: app)
            let isLast = erasure.rest.count < events.count
            if !erased.isEmpty { plan.effects.append(.erased(erased, of: app, isLast: isLast)) }
            for (block, bytes) in erasure.freed { plan.freed[block, default: [:]][app, default: 0] += bytes }
            return .erased(erasure)
        case .eraseSubject(let subject, let key):
            let erasure = try transaction.eraseSubject(subject, app: app, after: key, limit: Self.answersOfStep)
            // The user may have logged in again since the first step.
            if key.isEmpty || erasure.authStatuses > 0 { plan.effects.append(.erasedStatuses(app)) }
            return .erased(erasure)
        case .erasePending(let subject): return .erased(try erasePending(subject, context, transaction, &plan))
        }
    }

    private func erasePending(
        _ subject: String, _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Erasure {
        var erasure = Erasure()
        let found = try transaction.pending(about: subject, app: app, limit: Self.scheduledOfStep)
        if !found.isEmpty {
            try transaction.removePending(found.map(\.key))
            let bytes = found.reduce(0) { $0 + Int64($1.event.storedBytes) }
            try context.countPending(app, events: -found.count, bytes: -bytes, transaction, &plan)
        }
        erasure.scheduled =
            try found.count + transaction.removeSubmissions(about: subject, app: app, limit: Self.scheduledOfStep)
            + transaction.removeRefused(about: subject, app: app, limit: Self.scheduledOfStep)
        return erasure
    }

    private func redeliver(
        _ id: String, to delegateID: String?, _ context: WriteContext, _ transaction: any StoreTransaction,
        _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        let registry = context.committed.registry
        guard let logged = try transaction.event(app: app, id: id) else {
            // Retention may have removed it since the first step.
            return changed > 0 ? .count(changed) : .failed(.noEvent(id))
        }
        if logged.event.isDamaged { return .failed(.eventDamaged(id: id)) }
        // To none if it is erased.
        let isSent = !logged.event.isErased
        var delegates: [WebhookDelegate] = []
        if let delegateID {
            guard let delegate = registry.delegate(app, id: delegateID) else {
                return .failed(.noDelegate(delegateID))
            }
            if isSent { delegates = [delegate] }
        } else if isSent {
            let recipients = try transaction.recipients(
                event: logged.sequence, after: lastRecipient, limit: Self.rowsOfStep)
            delegates = recipients.compactMap { registry.delegate(key: $0) }
            if recipients.count == Self.rowsOfStep, let last = recipients.last {
                plan.isPartial = true
                plan.lastChanged = DeliveryKey(delegate: last, event: logged.sequence)
            }
        }
        // What a pull delegate has not reached is handed out anyway, if it wants it. Only one that is named gets what it does not want.
        var reached: [WebhookDelegate] = []
        for delegate in delegates {
            if delegate.settings.kind == .pull {
                guard let lane = try transaction.lane(of: delegate.key),
                    logged.sequence <= lane.position
                        || delegateID != nil && !delegate.selection.matches(EventView(logged.event))
                else { continue }
            }
            reached.append(delegate)
        }
        let now = context.clock.wall()
        // Those of the delegates of this step, and earlier ones.
        var unfinished = DeliveryQuery([.retrying])
        unfinished.app = app
        unfinished.event = logged.sequence
        unfinished.before = DeliveryKey(delegate: (reached.last?.key ?? 0) + 1, event: logged.sequence)
        unfinished.limit = Self.rowsOfStep
        let rows = try reached.isEmpty ? [] : transaction.search(unfinished).rows
        // Later ones wait for it in the order of its lane: a start must find this in the row that replaces it.
        let first = Set(rows.filter { $0.again(at: now).isFirst }.map(\.delegate))
        let deliveries = reached.map { delegate -> WaitingDelivery in
            var delivery = WaitingDelivery(
                delegate: delegate.key, event: logged.sequence, attempts: 0, dueAt: now, state: .retrying,
                isReplay: true, isNamed: delegateID != nil, subject: logged.event.subject)
            delivery.isFirst = first.contains(delegate.key)
            return delivery
        }
        try transaction.redeliver(deliveries)
        if !deliveries.isEmpty { plan.effects.append(.redelivered(deliveries)) }
        if plan.isPartial, let last = plan.lastChanged { return .part(changed + deliveries.count, last) }
        return .count(changed + deliveries.count)
    }

    // MARK: Steps

    private func step(of query: DeliveryQuery) -> DeliveryQuery {
        var query = query
        query.app = app
        query.limit = min(limit(of: query), Self.rowsOfStep)
        query.work = Self.readsOfStep
        query.passed = Self.passedOfStep
        return query
    }

    /// The number of deliveries that this step and later ones may change.
    private func limit(of query: DeliveryQuery) -> Int { min(query.limit, Self.maxDeliveries - changed) }

    /// - Parameter page: what this step has changed, and where its search ended.
    private func stepped(_ query: DeliveryQuery, _ page: DeliveryPage, _ plan: inout WritePlan) -> Outcome {
        guard let rest = page.rest else { return .count(changed + page.rows.count) }
        let mayRead = query.filter == nil || steps + 1 < Self.maxSteps
        plan.isPartial = mayRead && limit(of: query) > page.rows.count
        plan.lastChanged = rest
        return .part(changed + page.rows.count, rest)
    }

    package func next(after outcome: Outcome, _ last: DeliveryKey?) -> Self {
        guard case .part(let count, _) = outcome else { return self }
        func rest(of query: DeliveryQuery) -> DeliveryQuery {
            var query = query
            query.before = last
            query.limit -= count - changed
            return query
        }
        var next = self
        switch action {
        case .redeliver(let query): next.action = .redeliver(rest(of: query))
        case .cancel(let query): next.action = .cancel(rest(of: query))
        case .redeliverEvent: next.lastRecipient = last?.delegate ?? lastRecipient
        case .replay, .endReplay, .erase, .eraseSubject, .erasePending: break
        }
        // The first step that changes something is in the audit log.
        if count > 0 { next.provenance = nil }
        next.steps += 1
        next.changed = count
        return next
    }
}

extension DeliveryWrite.Action {
    /// Why the action is refused; `nil` if it is not. A delegate that it names would get nothing after a 410.
    func refusal(_ app: AppKey, _ registry: Registry) -> HubError? {
        let delegate: WebhookDelegate? =
            switch self {
            case .redeliver(let query): query.delegate.flatMap { registry.delegate(key: $0) }
            case .redeliverEvent(id: _, delegateID: let id?), .replay(delegateID: let id, after: _, until: _):
                registry.delegate(app, id: id)
            case .redeliverEvent, .cancel, .endReplay, .erase, .eraseSubject, .erasePending: nil
            }
        guard let delegate, delegate.status == .gone else { return nil }
        return .delegateGone(id: delegate.id)
    }
}
