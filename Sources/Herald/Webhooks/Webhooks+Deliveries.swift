public import FoundationEssentials
public import HeraldCore

extension Webhooks {
    /// Deliveries that wait, or have ended without success.
    /// - Parameters:
    ///   - state: `retrying`, `exhausted` or `dropped`; or `pending`, which needs a webhook or an event. `nil` for all but
    ///     `pending`.
    ///   - id: only those to this webhook.
    ///   - eventID: only those of this event.
    ///   - since: only those of events that were accepted at this time or later.
    ///   - until: only those of events that were accepted at this time or before.
    ///   - limit: the maximum number of entries, 1 to 500.
    ///   - cursor: continues behind an earlier page.
    /// - Returns: newest first; those that are pending in the order in which they are sent.
    /// - Throws: `HubError.invalid`, `.notFound`, or that the hub can't read.
    public func deliveries(
        in state: DeliveryState? = nil, to id: Webhook.ID? = nil, event eventID: String? = nil, since: Date? = nil,
        until: Date? = nil, limit: Int = 100, after cursor: ListCursor? = nil
    ) async throws(HubError) -> ListPage<Webhook.Delivery> {
        try check(limit)
        let selection = try selection(state, id, eventID, since, until, among: DeliverySelection.listed)
        if state == .pending { return try await pending(selection, limit, cursor) }
        var before: DeliveryKey?
        if let cursor {
            guard case .delivery(let event, let webhook) = cursor.place else { throw ListCursor.wrong() }
            before = DeliveryKey(delegate: webhook, event: event)
        }
        return try await hub.reading { [hub, before] reader in
            let found = try selection.rows(before: before, limit: limit + 1, hub, reader)
            let shown = found.prefix(limit)
            let last = found.count > limit ? shown.last?.key : nil
            return ListPage(
                elements: shown.map { Webhook.Delivery($0.row) },
                next: last.map { ListCursor(place: .delivery(event: $0.event, webhook: $0.delegate)) })
        }
    }

    private func pending(
        _ selection: DeliverySelection, _ limit: Int, _ cursor: ListCursor?
    ) async throws(HubError) -> ListPage<Webhook.Delivery> {
        var after: Int64 = 0
        if let cursor {
            guard case .pending(let number) = cursor.place else { throw ListCursor.wrong() }
            after = number
        }
        return try await hub.reading { [hub, after] reader in
            let (rows, next) = try PendingDeliveries(selection, hub).page(after: after, limit: limit, reader)
            return ListPage(
                elements: rows.map(Webhook.Delivery.init), next: next.map { ListCursor(place: .pending($0)) })
        }
    }

    /// The deliveries of an event to each webhook that it concerns, in the order of their registration.
    /// - Parameter eventID: the id of the event.
    /// - Throws: `HubError.notFound`, `.eventDamaged`, `.budgetExceeded`, or that the hub can't read.
    public func stories(ofEvent eventID: String) async throws(HubError) -> [Webhook.Story] {
        try await hub.reading { [hub] reader in
            let logged = try DeliverySelection.event(eventID, .default, reader)
            if logged.event.isDamaged { throw HubError.eventDamaged(id: eventID) }
            return try DeliveryStory.all(of: logged, hub, reader).map { Webhook.Story($0, eventID: eventID) }
        }
    }

    /// Counts deliveries in one state by webhook.
    /// - Parameters:
    ///   - state: `retrying`, `exhausted` or `dropped`.
    ///   - limit: the maximum number of webhooks, 1 to 500.
    /// - Returns: the webhooks with the most deliveries, the largest number first. Those of removed webhooks are not
    ///   counted.
    /// - Throws: `HubError.invalid`, or that the hub can't read.
    public func countDeliveries(
        in state: DeliveryState = .exhausted, limit: Int = 100
    ) async throws(HubError) -> [(webhookID: Webhook.ID, deliveries: Int)] {
        try check(limit)
        try check(state, among: [.retrying, .exhausted, .dropped])
        return try await hub.reading { [hub] reader in
            try DeliveryCounts(state.stored, of: .default, limit: limit, hub, reader).entries.map {
                ($0.delegate.id, $0.deliveries)
            }
        }
    }

    // MARK: Sending again

    /// Sends an event again: to one webhook, even if it does not match, or to all that received it.
    /// - Parameters:
    ///   - eventID: the id of the event.
    ///   - id: the webhook; `nil` for all that got the event.
    /// - Returns: the number of deliveries.
    /// - Throws: `HubError.notFound`, `.eventDamaged`, or that the hub can't write.
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
    ///   - isDryRun: only counts them.
    /// - Throws: `HubError.invalid`, `.notFound`, or that the hub can't write.
    @discardableResult
    public func redeliverAll(
        in state: DeliveryState? = nil, to id: Webhook.ID? = nil, event eventID: String? = nil, since: Date? = nil,
        until: Date? = nil, isDryRun: Bool = false
    ) async throws(HubError) -> Webhook.Changes {
        let selection = try selection(state, id, eventID, since, until, among: [.retrying, .exhausted, .dropped])
        return try await change(selection, WaitingDelivery.State.ended, isDryRun) { .redeliver($0) }
    }

    /// Gives up deliveries that wait for another attempt. At least one condition has to be given.
    /// - Parameters:
    ///   - state: `retrying`, to give up all of them.
    ///   - id: only those to this webhook.
    ///   - eventID: only those of this event.
    ///   - since: only those of events that were accepted at this time or later.
    ///   - until: only those of events that were accepted at this time or before.
    ///   - isDryRun: only counts them.
    /// - Throws: `HubError.invalid`, `.notFound`, or that the hub can't write.
    @discardableResult
    public func cancelAll(
        in state: DeliveryState? = nil, to id: Webhook.ID? = nil, event eventID: String? = nil, since: Date? = nil,
        until: Date? = nil, isDryRun: Bool = false
    ) async throws(HubError) -> Webhook.Changes {
        try await change(try selection(state, id, eventID, since, until, among: [.retrying]), [.retrying], isDryRun) {
            .cancel($0)
        }
    }

    private func change(
        _ selection: DeliverySelection, _ standard: Set<WaitingDelivery.State>, _ isDryRun: Bool,
        _ action: (DeliveryQuery) -> DeliveryWrite.Action
    ) async throws(HubError) -> Webhook.Changes {
        guard selection.isNarrow else {
            throw .invalid(DeliverySelection.names.map { FieldError("/\($0)", DeliverySelection.mustBeNarrow) })
        }
        let limit = DeliveryWrite.maxDeliveries
        let (query, count) = try await hub.reading { reader in
            var query = try selection.query(standard, reader)
            query.limit = limit
            return (query, isDryRun ? try reader.countDeliveries(query) : 0)
        }
        if isDryRun { return Webhook.Changes(deliveries: count, hasMore: count > limit) }
        guard case .count(let changed) = try await hub.manage(action(query)) else {
            return Webhook.Changes(deliveries: 0, hasMore: false)
        }
        return Webhook.Changes(deliveries: changed, hasMore: changed == limit)
    }

    private func check(_ state: DeliveryState, among states: [DeliveryState]) throws(HubError) {
        if states.contains(state) { return }
        throw .invalid([FieldError("/state", "must be " + states.map(\.rawValue).joined(separator: " or "))])
    }

    private func selection(
        _ state: DeliveryState?, _ id: String?, _ eventID: String?, _ since: Date?, _ until: Date?,
        among states: [DeliveryState]
    ) throws(HubError) -> DeliverySelection {
        if let state { try check(state, among: states) }
        let delegate: WebhookDelegate? = if let id { try hub.webhook(id, of: .default) } else { nil }
        let selection = DeliverySelection(
            app: .default, state: state, delegate: delegate, eventID: eventID, since: since?.milliseconds,
            until: until?.milliseconds)
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
    /// - Throws: `HubError.invalid`, `.notFound`, `.tooMany`, or that the hub can't write.
    @discardableResult
    public func replay(
        _ id: Webhook.ID, from: EventPoint, until: EventPoint = .now, onlyFailed: Bool = false, isDryRun: Bool = false
    ) async throws(HubError) -> Webhook.ReplayPreview {
        let plan = ReplayPlan(from: from.input, until: until.input, only: onlyFailed ? .failed : .all)
        if !plan.errors.isEmpty { throw .invalid(plan.errors) }
        let delegate = try hub.webhook(id, of: .default)
        let (action, backlog) = try await hub.reading { [hub] in try plan.action(for: delegate, hub, $0) }
        guard let action, !isDryRun else { return Webhook.ReplayPreview(backlog) }
        switch try await hub.manage(action) {
        case .replay(let replay): return Webhook.ReplayPreview(backlog, id: replay.id)
        case .count(let count):
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
