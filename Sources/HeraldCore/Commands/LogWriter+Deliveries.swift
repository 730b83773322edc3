import HeraldRuntime

/// Deliveries are made again, ended, replayed or erased by request, inside a transaction.
extension LogWriter {
    func manage(
        _ write: DeliveryWrite, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        try once(write.idempotency, write.app, transaction, &plan, write.completion) { plan throws(StoreError) in
            let outcome = try perform(write, transaction, &plan)
            switch outcome {
            case .count(0), .notFound, .tooMany: break
            case .count, .replay, .erased: try note(write.provenance, write.app, target: target(of: write), transaction)
            }
            return outcome
        }
    }

    /// What the audit log says it was done to. Whom an erasure was about it must not say.
    private func target(of write: DeliveryWrite) -> String? {
        switch write.action {
        case .redeliver(let query), .cancel(let query):
            query.delegate.flatMap { registry.delegate(key: $0)?.id }
        case .redeliverEvent(let id, _): id
        case .replay(let delegateID, _, _), .endReplay(let delegateID, _): delegateID
        case .erase: nil
        }
    }

    private func perform(
        _ write: DeliveryWrite, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) -> DeliveryWrite.Outcome {
        let now = clock.wall()
        switch write.action {
        case .redeliver(let query):
            let deliveries = try transaction.redeliver(bounded(query, write.app), at: now)
            if !deliveries.isEmpty { plan.effects.append(.redelivered(deliveries)) }
            return .count(deliveries.count)
        case .redeliverEvent(let id, let delegateID):
            return try redeliver(id, to: delegateID, write.app, transaction, &plan)
        case .cancel(let query):
            var query = bounded(query, write.app)
            query.states = [.retrying]
            let dropped = try transaction.drop(query, at: now)
            if !dropped.isEmpty { plan.effects.append(.dropped(dropped)) }
            return .count(dropped.count)
        case .replay(let delegateID, let after, let until):
            guard let delegate = registry.delegate(write.app, id: delegateID) else {
                return .notFound("There is no webhook with the id \(delegateID).")
            }
            guard try transaction.countReplays(delegate.key) < DeliveryWrite.maxReplays else {
                return .tooMany("\(DeliveryWrite.maxReplays) replays of this webhook have not ended yet.")
            }
            let replay = try transaction.addReplay(
                delegate: delegate.key, after: after, until: min(until ?? plan.head, plan.head), at: now)
            plan.effects.append(.replay(replay))
            return .replay(replay)
        case .endReplay(let delegateID, let id):
            guard let delegate = registry.delegate(write.app, id: delegateID) else {
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
                let more = try transaction.eraseSubject(subject, app: write.app)
                erasure.authStatuses += more.authStatuses
                erasure.answers += more.answers
                plan.effects.append(.erasedSubject(subject, write.app))
            }
            plan.erased.insert(Set(events))
            plan.changedBlocks.formUnion(events.map { AppBlock.number(of: $0) })
            if !events.isEmpty { plan.effects.append(.erased(Set(events))) }
            return .erased(erasure)
        }
    }

    private func redeliver(
        _ id: String, to delegateID: String?, _ app: AppKey, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) -> DeliveryWrite.Outcome {
        guard let logged = try transaction.event(app: app, id: id) else {
            return .notFound("There is no event with the id \(id).")
        }
        var delegates: [WebhookDelegate] = []
        if let delegateID {
            guard let delegate = registry.delegate(app, id: delegateID) else {
                return .notFound("There is no webhook with the id \(delegateID).")
            }
            delegates = [delegate]
        } else {
            delegates = try transaction.recipients(event: logged.sequence).compactMap { registry.delegate(key: $0) }
        }
        let now = clock.wall()
        let deliveries = delegates.map { delegate in
            WaitingDelivery(
                delegate: delegate.key, event: logged.sequence, attempts: 0, dueAt: now, state: .retrying,
                isReplay: true, isNamed: delegateID != nil, subject: logged.event.subject)
        }
        var checkpoint = Checkpoint()
        checkpoint.waiting = deliveries
        try transaction.write(checkpoint)
        if !deliveries.isEmpty { plan.effects.append(.redelivered(deliveries)) }
        return .count(deliveries.count)
    }

    private func bounded(_ query: DeliveryQuery, _ app: AppKey) -> DeliveryQuery {
        var query = query
        query.app = app
        query.limit = min(query.limit, DeliveryWrite.maxDeliveries)
        return query
    }
}
