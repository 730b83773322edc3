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
        /// Erases events, and the data of the subject outside the log.
        case erase([LogPosition], subject: String?)
    }

    package enum Outcome: Sendable {
        /// The number of changed deliveries.
        case count(Int)
        case replay(Replay)
        case erased(Erasure)
        /// A description of what was not found.
        case notFound(String)
        /// The event with this id is damaged in the store: there is nothing to send.
        case damaged(String)
        /// A description of the limit.
        case tooMany(String)
    }

    /// The maximum number of deliveries that one request changes.
    package static let maxDeliveries = 10_000
    /// The maximum number of events that one request erases.
    package static let maxErased = 500
    /// The maximum number of replays of one delegate.
    package static let maxReplays = 8

    package let app: AppKey
    package let action: Action
    /// For the audit log; `nil` for the process itself, or if it was logged before.
    package let provenance: Provenance?
    package let idempotency: Idempotency<Outcome>?
    /// Called once on the writer's thread (or at once if it is refused); must not wait.
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
    package func outcome(
        _ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan
    ) throws(StoreError) -> Outcome {
        let outcome = try change(writer, transaction, &plan)
        switch outcome {
        case .count(0), .notFound, .tooMany, .damaged: break
        case .count, .replay, .erased:
            try writer.note(provenance, app, target: target(writer.registry), transaction)
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
        case .erase: nil
        }
    }

    private func change(
        _ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan
    ) throws(StoreError) -> Outcome {
        let now = writer.clock.wall()
        let registry = writer.registry
        switch action {
        case .redeliver(let query):
            let deliveries = try transaction.redeliver(bounded(query), at: now)
            if !deliveries.isEmpty { plan.effects.append(.redelivered(deliveries)) }
            return .count(deliveries.count)
        case .redeliverEvent(let id, let delegateID):
            return try redeliver(id, to: delegateID, writer, transaction, &plan)
        case .cancel(let query):
            var query = bounded(query)
            query.states = [.retrying]
            let dropped = try transaction.drop(query, at: now)
            if !dropped.isEmpty { plan.effects.append(.dropped(dropped)) }
            return .count(dropped.count)
        case .replay(let delegateID, let after, let until):
            guard let delegate = registry.delegate(app, id: delegateID) else {
                return .notFound("There is no webhook with the id \(delegateID).")
            }
            guard try transaction.countReplays(delegate.key) < Self.maxReplays else {
                return .tooMany("\(Self.maxReplays) replays of this webhook have not ended yet.")
            }
            let head = try transaction.head
            let replay = try transaction.addReplay(
                delegate: delegate.key, after: after, until: min(until ?? head, head), at: now)
            plan.effects.append(.replay(replay))
            return .replay(replay)
        case .endReplay(let delegateID, let id):
            guard let delegate = registry.delegate(app, id: delegateID) else {
                return .notFound("There is no webhook with the id \(delegateID).")
            }
            guard try transaction.removeReplay(id, of: delegate.key) else {
                return .notFound("There is no such replay under way: it has ended, or was never begun.")
            }
            plan.effects.append(.endReplay(id, delegate.key))
            return .count(1)
        case .erase(let events, let subject):
            var erasure = events.isEmpty ? Erasure() : try transaction.erase(events)
            if let subject {
                let more = try transaction.eraseSubject(subject, app: app)
                erasure.authStatuses += more.authStatuses
                erasure.answers += more.answers
                plan.effects.append(.erasedStatuses(app))
            }
            plan.erases = true
            plan.erased.insert(Set(events))
            plan.changedBlocks.formUnion(events.map { AppBlock.number(of: $0) })
            if !events.isEmpty { plan.effects.append(.erased(Set(events))) }
            return .erased(erasure)
        }
    }

    private func redeliver(
        _ id: String, to delegateID: String?, _ writer: LogWriter, _ transaction: any StoreTransaction,
        _ plan: inout LogWriter.Plan
    ) throws(StoreError) -> Outcome {
        let registry = writer.registry
        guard let logged = try transaction.event(app: app, id: id) else {
            return .notFound("There is no event with the id \(id).")
        }
        if logged.event.isDamaged { return .damaged(id) }
        var delegates: [WebhookDelegate] = []
        if let delegateID {
            guard let delegate = registry.delegate(app, id: delegateID) else {
                return .notFound("There is no webhook with the id \(delegateID).")
            }
            delegates = [delegate]
        } else {
            delegates = try transaction.recipients(event: logged.sequence).compactMap { registry.delegate(key: $0) }
        }
        let now = writer.clock.wall()
        let deliveries = delegates.map { delegate in
            WaitingDelivery(
                delegate: delegate.key, event: logged.sequence, attempts: 0, dueAt: now, state: .retrying,
                isReplay: true, isNamed: delegateID != nil, subject: logged.event.subject)
        }
        try transaction.redeliver(deliveries)
        if !deliveries.isEmpty { plan.effects.append(.redelivered(deliveries)) }
        return .count(deliveries.count)
    }

    private func bounded(_ query: DeliveryQuery) -> DeliveryQuery {
        var query = query
        query.app = app
        query.limit = min(query.limit, Self.maxDeliveries)
        return query
    }
}
