import HeraldModel
import HeraldRuntime

/// Publishes events inside a transaction.
extension WriteContext {
    func publish(
        _ publication: Publication, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        // Nothing would remove the statuses and scheduled events of an app that was deleted while this waited.
        guard committed.apps.contains(publication.app) else {
            plan.answers.append {
                publication.completion(.refused(.notFound("The app was deleted during the request.")))
            }
            return
        }
        if let idempotency = publication.idempotency,
            let result = try earlier(idempotency, publication.app, transaction)
        {
            plan.answers.append { publication.completion(result) }
            return
        }
        let now = publication.schedules ? clock.wall() : 0
        var refused = refusal(of: publication, publication.drafts, at: now, plan)
        if refused != nil, publication.drafts.contains(where: \.mayExist) {
            var new: [EventDraft] = []
            for draft in publication.drafts
            where try !isRepeated(draft, isScheduled: draft.deliverAt ?? 0 > now, transaction, &plan) {
                new.append(draft)
            }
            refused = new.isEmpty ? nil : refusal(of: publication, new, at: now, plan)
        }
        if let refusal = refused {
            plan.answers.append { publication.completion(.refused(refusal)) }
            return
        }
        var posted: [PublishedEvent] = []
        posted.reserveCapacity(publication.drafts.count)
        var scheduled = Scheduled()
        for draft in publication.drafts {
            if let dueAt = draft.deliverAt, dueAt > now {
                posted.append(try schedule(draft, at: dueAt, &scheduled, transaction, &plan))
                continue
            }
            let index = plan.events.count
            posted.append(try post(draft, transaction, &plan))
            // An event that follows from it is not watched.
            if let watch = publication.watch, plan.events.count > index { plan.watched[index] = watch }
        }
        if scheduled.events > 0 {
            try countPending(
                publication.app, events: scheduled.events, bytes: scheduled.bytes, earliest: scheduled.earliest,
                transaction, &plan)
        }
        if let idempotency = publication.idempotency {
            try remember(posted, idempotency, publication.app, transaction)
        }
        plan.posted.append((publication, posted))
    }

    /// Publishes an event, unless its id or its family is against it.
    func post(
        _ draft: EventDraft, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> PublishedEvent {
        var event = draft.event
        if draft.mayExist || plan.isRepeated {
            try append(transaction, &plan)
            switch try search(event, transaction) {
            case .found(let first):
                // Its id is new, so this transaction was committed before.
                if !draft.mayExist { return PublishedEvent(event: first, disposition: .accepted) }
                return PublishedEvent(event: first, disposition: .existed, differences: first.differences(from: draft))
            case .isNew(let named): event = named
            }
        }
        switch draft.family {
        case .none:
            append(event, &plan)
            return PublishedEvent(event: event, disposition: .accepted)
        case .appState(let state, let onlyIfChanged, let ifMatch):
            let current = try transaction.appState(event.app)
            if let ifMatch, !ifMatch.contains(current?.eventID ?? AppState.unknownVersion) {
                return PublishedEvent(event: event, disposition: .preconditionFailed)
            }
            if onlyIfChanged, let current, current.state == state {
                return PublishedEvent(event: event, disposition: .unchanged)
            }
            let completed = AppStateFamily.withPrevious(event, current?.state)
            append(completed, &plan)
            let next = AppState(app: event.app, state: state, since: event.time, eventID: event.id)
            try transaction.setAppState(next)
            return PublishedEvent(event: completed, disposition: .accepted)
        case .auth(let userID, let isLoggedIn, let user, let ifMatch):
            let current = try transaction.authStatus(app: event.app, userID: userID)
            if let ifMatch, !ifMatch.contains(current?.version ?? AuthStatus.unknownVersion) {
                return PublishedEvent(event: event, disposition: .preconditionFailed)
            }
            append(event, &plan)
            let next = AuthStatus.next(
                after: current, userID: userID, isLoggedIn: isLoggedIn, user: user, event: event)
            try transaction.setAuthStatus(next)
            if event.type != AuthFamily.statusChanged, current?.isLoggedIn != isLoggedIn {
                // Not the event's time, which the client chose: ids count up from the latest one.
                let id = ids.next("evt_", time: clock.wall(), of: event.app)
                append(AuthFamily.statusChanged(next, id: id, cause: event), &plan)
            }
            return PublishedEvent(event: event, disposition: .accepted)
        }
    }

    enum Search {
        case found(Event)
        /// With its id in the log.
        case isNew(Event)
    }

    /// Searches for an event with the same source and id (see ``EventID``).
    func search(_ event: Event, _ transaction: any StoreTransaction) throws(StoreError) -> Search {
        let namesake = try transaction.event(app: event.app, id: event.id)?.event
        if let namesake, namesake.hasSource(of: event) { return .found(namesake) }
        // Without a source there is one event with this id, unless another source has used it first.
        if namesake == nil, event.attribute(CloudEventAttribute.source) == nil { return .isNew(event) }
        let qualified = event.qualified()
        if let first = try transaction.event(app: event.app, id: qualified.id) { return .found(first.event) }
        return .isNew(namesake == nil ? event : qualified)
    }

    /// Why the app may not publish these events, or schedule those that are for later.
    private func refusal(
        of publication: Publication, _ drafts: [EventDraft], at now: Int64, _ plan: WritePlan
    ) -> HubError? {
        if let refusal = refusal(of: drafts, app: publication.app, plan) { return refusal }
        let later = publication.schedules ? drafts.count { $0.deliverAt ?? 0 > now } : 0
        return refusal(ofScheduling: later, of: publication.app, plan)
    }

    /// Whether it repeats a stored event, and so takes no room.
    func isRepeated(
        _ draft: EventDraft, isScheduled: Bool, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Bool {
        guard draft.mayExist else { return false }
        try append(transaction, &plan)
        guard case .isNew(var event) = try search(draft.event, transaction) else { return true }
        return isScheduled ? try earlierScheduled(&event, transaction) != nil : false
    }

    /// Why an app may not store more, including the bytes that this transaction adds.
    /// - Parameter more: bytes that it adds besides, and are not counted yet.
    func refusal(of drafts: [EventDraft], app: AppKey, more: Int64 = 0, _ plan: WritePlan) -> HubError? {
        guard committed.apps.limitsBytes, let limit = committed.apps[app]?.settings.maxStoredBytes else { return nil }
        let new = drafts.reduce(0) { $0 + $1.event.storedBytes }
        let used =
            committed.usage.total(of: app).bytes + plan.added[app, default: 0] + pendingCount(of: app, plan).bytes
        return used + more + Int64(new) > limit ? .quotaExceeded(limit: limit) : nil
    }
}
