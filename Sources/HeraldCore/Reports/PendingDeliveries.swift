import HeraldDelivery
import HeraldJSON
import HeraldModel

/// Deliveries without any attempt. The store has no rows for them: they follow from the positions of lanes.
struct PendingDeliveries {
    /// Events of its app that are read for one page, and events of all apps. The second bound is for an app with few
    /// events among very many.
    private static let maxEvents = 2_000
    private static let maxEventsOfAll = 20_000
    private static let eventsPerRead = 250
    /// Events whose attempts and rows are read.
    private static let maxProbes = 250

    private let hub: Hub
    private let selection: DeliverySelection

    /// A page in the making: the bounds are those of all its delegates together.
    private struct Page {
        let reader: any StoreReader
        let limit: Int
        /// The events of the wanted time; `nil` for all.
        let wanted: ClosedRange<LogPosition>?
        /// Blocks of the log that contain events of the app, ascending.
        let stretches: [ClosedRange<LogPosition>]
        var rows: [DeliveryRow] = []
        /// The events of the app that were read.
        var own = 0
        /// The events of all apps that were read. A read of the store counts as a full one.
        var all = 0
        var probes = 0
        var budget = WorkBudget()

        var isSpent: Bool {
            own >= PendingDeliveries.maxEvents || all >= PendingDeliveries.maxEventsOfAll
                || probes >= PendingDeliveries.maxProbes
        }
    }

    init(_ selection: DeliverySelection, _ hub: Hub) {
        self.hub = hub
        self.selection = selection
    }

    /// Some deliveries, in the order of the registration of their delegates, and to each in the order in which they will
    /// be sent. A reader's thread.
    /// - Parameter last: only those to later delegates, and of later events to its own one; `nil` for the first page.
    /// - Returns: at most `limit` deliveries, and the one behind which the next page begins, if there may be more.
    func page(
        after last: DeliveryKey?, limit: Int, _ reader: any StoreReader
    ) throws -> (rows: [DeliveryRow], next: DeliveryKey?) {
        if let id = selection.eventID {
            let event = try DeliverySelection.event(id, selection.app, reader)
            let isInTime = try selection.events(reader)?.contains(event.sequence) ?? true
            guard isInTime, includes(event.event), !selection.filter.needsFailure else { return ([], nil) }
            let found = try rows(of: event, reader, after: last?.delegate ?? 0)
            let shown = Array(found.prefix(limit))
            guard found.count > limit, let delegate = shown.last?.delegate else { return (shown, nil) }
            return (shown, DeliveryKey(delegate: delegate.key, event: event.sequence))
        }
        // A delivery without an attempt has no error.
        if selection.filter.needsFailure { return ([], nil) }
        var page = Page(
            reader: reader, limit: limit, wanted: try selection.events(reader),
            stretches: hub.committed.usage.stretches(of: selection.app))
        let first = last?.delegate ?? 0
        let delegates =
            selection.delegate.map { [$0] } ?? hub.committed.registry.list(selection.app) { $0.key >= first }
        for delegate in delegates.sorted(by: { $0.key < $1.key }) where delegate.key >= first {
            let start = delegate.key == last?.delegate ? last?.event ?? 0 : 0
            if let end = try add(delegate, after: start, to: &page) {
                return (page.rows, DeliveryKey(delegate: delegate.key, event: end))
            }
        }
        return (page.rows, nil)
    }

    /// The pending deliveries of one event, in the order of the registration of the delegates.
    /// - Parameter key: only delegates with a larger key.
    private func rows(of logged: LoggedEvent, _ reader: any StoreReader, after key: DelegateKey) throws -> [DeliveryRow]
    {
        let view = EventView(logged.event, within: WorkBudget())
        // Delegates with an attempt or a retry for the event.
        let attempted = Set(try reader.attempts(event: logged.sequence).map(\.record.delegate))
            .union(try reader.waiting(event: logged.sequence).map(\.delegate))
        let pending = hub.committed.registry.list(logged.event.app) { delegate in
            delegate.key > key && selection.delegate.map { $0.key == delegate.key } ?? true
                && !attempted.contains(delegate.key) && DeliveryStory.isPending(logged, view, delegate, hub)
        }
        if view.budget.isSpent { throw HubError.budgetExceeded }
        return pending.sorted { $0.key < $1.key }.map { DeliveryRow(pending: logged.event, $0, hub.lane(of: $0)) }
    }

    /// Adds the pending deliveries of one delegate to the page.
    /// - Parameter sequence: only later events.
    /// - Returns: the last event that was read if there may be more after it.
    private func add(
        _ delegate: WebhookDelegate, after sequence: LogPosition, to page: inout Page
    ) throws -> LogPosition? {
        let lane = hub.lane(of: delegate)
        // A lane without an entry is up to date; the lane of a gone delegate has ended.
        guard let cursor = lane?.cursor, delegate.status != .gone else { return nil }
        let last = page.wanted?.upperBound ?? .max
        var position = max(cursor, sequence, (page.wanted?.lowerBound ?? 0) - 1)
        // Most lanes are near the end of the log.
        let start = page.stretches.lastIndex { $0.upperBound <= position }.map { $0 + 1 } ?? 0
        for stretch in page.stretches[start...] {
            if stretch.lowerBound > last { return nil }
            position = max(position, stretch.lowerBound - 1)
            while position < min(stretch.upperBound, last) {
                if page.isSpent { return position }
                let batch = try events(after: position, &page)
                if batch.events.isEmpty { return nil }
                for (index, event) in batch.events.enumerated() {
                    position = batch.first + LogPosition(index)
                    if position > last { return nil }
                    guard event.app == selection.app else { continue }
                    page.own += 1
                    let view = EventView(event, within: page.budget)
                    let isWanted =
                        position > delegate.floor && includes(event) && delegate.selection.matches(view)
                    page.budget = view.budget
                    // The next page decides. One event alone never exhausts the budget.
                    if page.budget.isSpent, page.own > 1 { return position - 1 }
                    if isWanted {
                        page.probes += 1
                        // Only those of the one delegate are read, since an event may have very many.
                        if try page.reader.lastAttempt(delegate.key, position) == nil,
                            try page.reader.row(delegate, position) == nil
                        {
                            page.rows.append(DeliveryRow(pending: event.withoutData, delegate, lane))
                        }
                    }
                    if page.rows.count == page.limit || page.probes == Self.maxProbes || page.budget.isSpent {
                        return position
                    }
                }
            }
        }
        return nil
    }

    /// Recent events are in memory: very many lanes may be behind by a few of them.
    private func events(after position: LogPosition, _ page: inout Page) throws -> EventBatch {
        if let recent = hub.recentEvents(after: position, limit: Self.eventsPerRead) {
            page.all += recent.events.count
            return recent
        }
        page.all += Self.eventsPerRead
        return try page.reader.events(after: position, limit: Self.eventsPerRead, maxBytes: 1 << 20)
    }

    private func includes(_ event: Event) -> Bool {
        selection.filter.matches(type: event.type, subject: event.subject, last: nil)
    }
}
