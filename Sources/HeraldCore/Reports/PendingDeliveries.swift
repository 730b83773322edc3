import HeraldJSON

/// Deliveries without any attempt. The store has no rows for them: they follow from the position of a lane, so they can
/// be listed only for one delegate or one event.
package struct PendingDeliveries: Sendable {
    /// Events of its app that are read for one page, and events of all apps. The second bound is for an app with few
    /// events among very many.
    private static let maxEvents = 2_000
    private static let maxEventsOfAll = 20_000
    private static let eventsPerRead = 250

    /// The conditions of which one must be given, as the HTTP API names them.
    package static let names = ["delegate", "event"]
    package static let isNeeded = "is needed: pending deliveries are listed by delegate or by event"

    private let hub: Hub
    private let selection: DeliverySelection

    package init(_ selection: DeliverySelection, _ hub: Hub) {
        self.hub = hub
        self.selection = selection
    }

    /// Some deliveries, in the order of the registration of the delegates of one event, or of the events of one
    /// delegate. A reader's thread.
    /// - Parameter cursor: only delegates, or events, with a larger number; 0 for the first page.
    /// - Returns: at most `limit` deliveries, and the cursor of the next page, if there may be more.
    package func page(
        after cursor: Int64, limit: Int, _ reader: any StoreReader
    ) throws -> (rows: [DeliveryRow], next: Int64?) {
        if let id = selection.eventID {
            let event = try DeliverySelection.event(id, selection.app, reader)
            let isInTime = try selection.events(reader)?.contains(event.sequence) ?? true
            guard isInTime, includes(event.event), !selection.filter.needsFailure else { return ([], nil) }
            let found = try rows(of: event, reader, after: cursor)
            let shown = Array(found.prefix(limit))
            return (shown, found.count > limit ? shown.last?.delegate?.key : nil)
        }
        // A delivery without an attempt has no error.
        if selection.filter.needsFailure { return ([], nil) }
        guard let delegate = selection.delegate else {
            throw HubError.invalid(Self.names.map { FieldError("/\($0)", Self.isNeeded) })
        }
        return try rows(of: delegate, reader, after: cursor, limit: limit)
    }

    /// The pending deliveries of one event, in the order of the registration of the delegates.
    /// - Parameter key: only delegates with a larger key.
    private func rows(of logged: LoggedEvent, _ reader: any StoreReader, after key: DelegateKey) throws -> [DeliveryRow]
    {
        let view = EventView(logged.event, within: WorkBudget())
        let attempted = try attemptedDelegates(of: logged.sequence, reader)
        let pending = hub.committed.registry.list(logged.event.app) { delegate in
            delegate.key > key && selection.delegate.map { $0.key == delegate.key } ?? true
                && !attempted.contains(delegate.key) && DeliveryStory.isPending(logged, view, delegate, hub)
        }
        if view.budget.isSpent { throw HubError.budgetExceeded }
        return pending.sorted { $0.key < $1.key }.map { DeliveryRow(pending: logged.event, $0, hub.lane(of: $0)) }
    }

    /// The pending deliveries of one delegate, in the order in which they will be sent.
    /// - Parameter sequence: only later events.
    /// - Returns: at most `limit` deliveries, and the last event that was read if there may be more after it.
    private func rows(
        of delegate: WebhookDelegate, _ reader: any StoreReader, after sequence: LogPosition, limit: Int
    ) throws -> (rows: [DeliveryRow], next: LogPosition?) {
        let lane = hub.lane(of: delegate)
        // A lane without an entry is up to date; the lane of a gone delegate has ended.
        guard let cursor = lane?.cursor, delegate.status != .gone else { return ([], nil) }
        let wanted = try selection.events(reader)
        let last = wanted?.upperBound ?? .max
        var position = max(cursor, sequence, (wanted?.lowerBound ?? 0) - 1)
        var rows: [DeliveryRow] = []
        var (own, all) = (0, 0)
        var budget = WorkBudget()
        for stretch in hub.committed.usage.stretches(of: selection.app, before: .max).reversed()
        where stretch.upperBound > position {
            position = max(position, stretch.lowerBound - 1)
            while position < min(stretch.upperBound, last) {
                let batch = try reader.events(after: position, limit: Self.eventsPerRead, maxBytes: 1 << 20)
                if batch.events.isEmpty { return (rows, nil) }
                for (index, event) in batch.events.enumerated() {
                    position = batch.first + LogPosition(index)
                    if position > last { return (rows, nil) }
                    guard event.app == selection.app else { continue }
                    own += 1
                    let view = EventView(event, within: budget)
                    let isWanted =
                        position > delegate.start && includes(event) && delegate.selection.matches(view)
                    budget = view.budget
                    // The next page decides. One event alone never exhausts the budget.
                    if budget.isSpent, own > 1 { return (rows, position - 1) }
                    if isWanted, !(try attemptedDelegates(of: position, reader).contains(delegate.key)) {
                        rows.append(DeliveryRow(pending: event, delegate, lane))
                    }
                    if rows.count == limit || budget.isSpent { return (rows, position) }
                }
                all += batch.events.count
                if own >= Self.maxEvents || all >= Self.maxEventsOfAll { return (rows, position) }
            }
        }
        return (rows, nil)
    }

    private func includes(_ event: Event) -> Bool {
        selection.filter.matches(type: event.type, subject: event.subject, last: nil)
    }

    /// Delegates with an attempt or a retry for the event.
    private func attemptedDelegates(of sequence: LogPosition, _ reader: any StoreReader) throws -> Set<DelegateKey> {
        let attempts = try reader.attempts(event: sequence)
        return Set(attempts.map(\.record.delegate)).union(try reader.waiting(event: sequence).map(\.delegate))
    }
}
