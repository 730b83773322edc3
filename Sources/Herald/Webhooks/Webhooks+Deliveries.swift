public import FoundationEssentials
public import HeraldCore
public import HeraldModel

extension Webhooks {
    /// Deliveries in a state.
    /// - Parameters:
    ///   - state: `nil` for those that wait for a retry, or have ended without success.
    ///   - id: only those to this webhook.
    ///   - eventID: only those of this event.
    ///   - since: only those of events that were accepted at this time or later.
    ///   - until: only those of events that were accepted at this time or before.
    ///   - filter: more conditions.
    ///   - limit: the maximum number of entries, 1 to 500.
    ///   - cursor: continues behind an earlier page.
    /// - Returns: newest first; pending ones by webhook, and to each in the order in which they will be sent. A page may be
    ///   empty before the end of the list, because each search is bounded.
    /// - Throws: `HubError.invalid`, `.notFound`, or that the hub can't read.
    public func deliveries(
        in state: DeliveryState? = nil, to id: Webhook.ID? = nil, event eventID: String? = nil, since: Date? = nil,
        until: Date? = nil, matching filter: Webhook.DeliveryFilter = Webhook.DeliveryFilter(), limit: Int = 100,
        after cursor: ListCursor? = nil
    ) async throws(HubError) -> ListPage<Webhook.Delivery> {
        try ListCursor.check(limit)
        let selection = try selection(state, id, eventID, since, until, filter, among: DeliveryState.allCases)
        let last = try cursor?.delivery(in: state)
        return try await hub.reading { [hub] reader in
            let (rows, next) = try selection.page(after: last, limit: limit, hub, reader)
            return ListPage(
                elements: rows.map(Webhook.Delivery.init), next: next.map { ListCursor($0, in: state) })
        }
    }

    /// The attempts to call a webhook, newest first.
    /// - Parameters:
    ///   - id: the id of the webhook.
    ///   - succeeded: only successes, or only failures; `nil` for all.
    ///   - eventID: only those for this event.
    ///   - errors: only failures with one of these errors; empty for all.
    ///   - since: only those that began at this time or later.
    ///   - until: only those that began at this time or before.
    ///   - limit: the maximum number of entries, 1 to 500. A page of a search may have fewer, although it has a cursor.
    ///   - cursor: continues behind an earlier page.
    /// - Throws: `HubError.notFound`, `.invalid`, or that the hub can't read.
    public func attempts(
        of id: Webhook.ID, succeeded: Bool? = nil, event eventID: String? = nil, errors: [DeliveryError] = [],
        since: Date? = nil, until: Date? = nil, limit: Int = 100, after cursor: ListCursor? = nil
    ) async throws(HubError) -> ListPage<Webhook.Attempt> {
        try ListCursor.check(limit)
        var query = AttemptQuery(delegate: try hub.webhook(id, of: .default).key)
        query.succeeded = succeeded
        query.limit = limit
        if let cursor {
            guard case .attempt(let number) = cursor.place else { throw ListCursor.wrong() }
            query.before = number
        }
        var search = AttemptSearch(query)
        search.errors = errors
        search.since = since?.milliseconds
        search.until = until?.milliseconds
        if search.isReversed { throw .invalid([FieldError("/until", DeliverySelection.isReversed)]) }
        if succeeded == true, !errors.isEmpty { throw .invalid([FieldError("/error", AttemptSearch.isForFailures)]) }
        return try await hub.reading { [search] reader in
            var search = search
            search.query.event = try eventID.map { try DeliverySelection.event($0, .default, reader).sequence }
            let (found, next) = try search.page(reader)
            let events = try EventHeads(found.map(\.record.event), reader)
            return ListPage(
                elements: found.map { Webhook.Attempt($0, webhookID: id, eventID: events[$0.record.event]?.id) },
                next: next.map { ListCursor(place: .attempt($0)) })
        }
    }

    /// The deliveries of an event to each webhook that it concerns, in the order of their registration.
    /// - Parameter eventID: the id of the event.
    /// - Throws: `HubError.notFound`, `.eventDamaged`, `.budgetExceeded`, or that the hub can't read.
    public func stories(ofEvent eventID: String) async throws(HubError) -> [Webhook.Story] {
        try await hub.reading { [hub] reader in
            let logged = try DeliverySelection.intactEvent(eventID, .default, reader)
            return try DeliveryStory.all(of: logged, hub, reader).map { Webhook.Story($0, eventID: eventID) }
        }
    }

    /// Counts deliveries in one state by webhook. Those of removed webhooks are not counted.
    /// - Parameters:
    ///   - state: `retrying`, `exhausted` or `dropped`.
    ///   - id: only those to this webhook.
    ///   - eventID: only those of this event.
    ///   - since: only those of events that were accepted at this time or later.
    ///   - until: only those of events that were accepted at this time or before.
    ///   - filter: more conditions.
    ///   - limit: the maximum number of webhooks, 1 to 500.
    ///   - cursor: continues an earlier count of a part.
    /// - Throws: `HubError.invalid`, `.notFound`, or that the hub can't read.
    public func countDeliveries(
        in state: DeliveryState = .exhausted, to id: Webhook.ID? = nil, event eventID: String? = nil,
        since: Date? = nil, until: Date? = nil, matching filter: Webhook.DeliveryFilter = Webhook.DeliveryFilter(),
        limit: Int = 100, after cursor: ListCursor? = nil
    ) async throws(HubError) -> Webhook.DeliveryCounts {
        try ListCursor.check(limit)
        let selection = try selection(state, id, eventID, since, until, filter, among: DeliverySelection.stored)
        let before = try cursor?.delivery(in: state)
        return try await hub.reading { [hub] reader in
            let counts = try DeliveryCounts(selection, before: before, limit: limit, hub, reader)
            return Webhook.DeliveryCounts(
                deliveries: counts.deliveries, webhooks: counts.delegates,
                elements: counts.entries.map { ($0.delegate.id, $0.deliveries) },
                next: counts.next.map { ListCursor($0, in: state) })
        }
    }

    // MARK: Sending again

    /// Sends an event again: to one webhook, even if it does not match, or to all that received it.
    /// - Parameters:
    ///   - eventID: the id of the event.
    ///   - id: the webhook; `nil` for all that got the event.
    /// - Returns: the number of deliveries.
    /// - Throws: `HubError.notFound`, `.delegateGone`, `.eventDamaged`, or that the hub can't write.
    @discardableResult
    public func redeliver(event eventID: String, to id: Webhook.ID? = nil) async throws(HubError) -> Int {
        let outcome = try await hub.manage(.redeliverEvent(id: eventID, delegateID: id))
        guard case .count(let count) = outcome else { return 0 }
        return count
    }

    /// Starts deliveries again that wait or have ended without success, from their first attempt on. At least one
    /// condition has to be given.
    /// - Parameters:
    ///   - state: `retrying`, `exhausted` or `dropped`; `nil` for those that have ended.
    ///   - id: only those to this webhook.
    ///   - eventID: only those of this event.
    ///   - since: only those of events that were accepted at this time or later.
    ///   - until: only those of events that were accepted at this time or before.
    ///   - filter: more conditions.
    ///   - limit: the maximum number of deliveries of this call, 1 to 10,000.
    ///   - cursor: continues behind an earlier call.
    ///   - isDryRun: only counts them.
    /// - Throws: `HubError.invalid`, `.notFound`, `.delegateGone`, or that the hub can't write.
    @discardableResult
    public func redeliverAll(
        in state: DeliveryState? = nil, to id: Webhook.ID? = nil, event eventID: String? = nil, since: Date? = nil,
        until: Date? = nil, matching filter: Webhook.DeliveryFilter = Webhook.DeliveryFilter(), limit: Int = 10_000,
        after cursor: ListCursor? = nil, isDryRun: Bool = false
    ) async throws(HubError) -> Webhook.Changes {
        let selection = try selection(state, id, eventID, since, until, filter, among: DeliverySelection.stored)
        return try await change(selection, WaitingDelivery.State.ended, limit, cursor, isDryRun) { .redeliver($0) }
    }

    /// Gives up deliveries that wait for another attempt. At least one condition has to be given.
    /// - Parameters:
    ///   - state: `retrying`, to give up all of them.
    ///   - id: only those to this webhook.
    ///   - eventID: only those of this event.
    ///   - since: only those of events that were accepted at this time or later.
    ///   - until: only those of events that were accepted at this time or before.
    ///   - filter: more conditions.
    ///   - limit: the maximum number of deliveries of this call, 1 to 10,000.
    ///   - cursor: continues behind an earlier call.
    ///   - isDryRun: only counts them.
    /// - Throws: `HubError.invalid`, `.notFound`, or that the hub can't write.
    @discardableResult
    public func cancelAll(
        in state: DeliveryState? = nil, to id: Webhook.ID? = nil, event eventID: String? = nil, since: Date? = nil,
        until: Date? = nil, matching filter: Webhook.DeliveryFilter = Webhook.DeliveryFilter(), limit: Int = 10_000,
        after cursor: ListCursor? = nil, isDryRun: Bool = false
    ) async throws(HubError) -> Webhook.Changes {
        let selection = try selection(state, id, eventID, since, until, filter, among: [.retrying])
        return try await change(selection, [.retrying], limit, cursor, isDryRun) { .cancel($0) }
    }

    private func change(
        _ selection: DeliverySelection, _ standard: Set<WaitingDelivery.State>, _ limit: Int, _ cursor: ListCursor?,
        _ isDryRun: Bool, _ action: (DeliveryQuery) -> DeliveryWrite.Action
    ) async throws(HubError) -> Webhook.Changes {
        guard selection.isNarrow else {
            throw .invalid(DeliverySelection.names.map { FieldError("/\($0)", DeliverySelection.mustBeNarrow) })
        }
        guard (1...DeliveryWrite.maxDeliveries).contains(limit) else {
            throw .invalid([FieldError("/limit", "must be a number from 1 to \(DeliveryWrite.maxDeliveries)")])
        }
        let before = try cursor?.delivery(in: selection.state)
        let (query, counted) = try await hub.reading { reader in
            var query = try selection.query(standard, reader)
            let counted = isDryRun ? try selection.count(query, before: before, reader) : nil
            query.before = before
            query.limit = limit
            return (query, counted)
        }
        try hub.check(action(query), of: .default)
        if let counted {
            return Webhook.Changes(
                deliveries: counted.count, next: counted.next.map { ListCursor($0, in: selection.state) })
        }
        switch try await hub.manage(action(query)) {
        case .count(let changed): return Webhook.Changes(deliveries: changed, next: nil)
        case .part(let changed, let last):
            return Webhook.Changes(deliveries: changed, next: ListCursor(last, in: selection.state))
        default: return Webhook.Changes(deliveries: 0, next: nil)
        }
    }

    private func selection(
        _ state: DeliveryState?, _ id: String?, _ eventID: String?, _ since: Date?, _ until: Date?,
        _ filter: Webhook.DeliveryFilter, among states: [DeliveryState]
    ) throws(HubError) -> DeliverySelection {
        if let state, !states.contains(state) {
            throw .invalid([FieldError("/state", "must be " + states.map(\.rawValue).joined(separator: " or "))])
        }
        let delegate: WebhookDelegate? = if let id { try hub.webhook(id, of: .default) } else { nil }
        let selection = DeliverySelection(
            app: .default, state: state, delegate: delegate, eventID: eventID, since: since?.milliseconds,
            until: until?.milliseconds, filter: filter.filter)
        if selection.isReversed { throw .invalid([FieldError("/until", DeliverySelection.isReversed)]) }
        return selection
    }

    // MARK: Replays

    /// Sends past events to a webhook again, beside its new ones.
    /// - Parameters:
    ///   - id: the id of the webhook.
    ///   - from: the first event.
    ///   - until: the last event.
    ///   - onlyFailed: only those whose delivery has ended without success.
    ///   - isDryRun: only counts them.
    /// - Throws: `HubError.invalid`, `.notFound`, `.delegateGone`, `.tooMany`, or that the hub can't write.
    @discardableResult
    public func replay(
        _ id: Webhook.ID, from: EventPoint, until: EventPoint = .now, onlyFailed: Bool = false, isDryRun: Bool = false
    ) async throws(HubError) -> Webhook.ReplayPreview {
        let plan = ReplayPlan(from: from.input, until: until.input, only: onlyFailed ? .failed : .all)
        if !plan.errors.isEmpty { throw .invalid(plan.errors) }
        let delegate = try hub.webhook(id, of: .default, for: .replay)
        let (action, backlog) = try await hub.reading { [hub] in
            try plan.action(for: delegate, isDryRun: isDryRun, hub, $0)
        }
        if isDryRun { return Webhook.ReplayPreview(backlog) }
        switch try await hub.manage(action) {
        case .replay(let replay): return Webhook.ReplayPreview(backlog, id: replay.id)
        case .count(let count), .part(let count, _):
            var changed = Backlog()
            changed.events = Int64(count)
            return Webhook.ReplayPreview(changed)
        default: return Webhook.ReplayPreview(backlog)
        }
    }

    /// The replays of a webhook that have not ended, oldest first.
    /// - Throws: `HubError.notFound`, or that the hub can't read.
    public func replays(of id: Webhook.ID) async throws(HubError) -> [Webhook.Replay] {
        let delegate = try hub.webhook(id, of: .default)
        return try await hub.reading { [hub] reader in
            let counter = BacklogCounter(hub, reader)
            return try reader.replays(delegate.key).map {
                Webhook.Replay(try ReplayProgress($0, delegate, hub, counter))
            }
        }
    }

    /// Ends a replay: nothing more is started for it. Deliveries that have begun continue.
    /// - Throws: `HubError.notFound`, or that the hub can't write.
    public func endReplay(_ replay: Webhook.Replay.ID, of id: Webhook.ID) async throws(HubError) {
        _ = try await hub.manage(.endReplay(delegateID: id, replay: replay))
    }
}
