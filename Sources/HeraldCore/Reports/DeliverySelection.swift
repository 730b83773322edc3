package import HeraldModel

/// Which deliveries to list or to change.
package struct DeliverySelection: Sendable {
    /// The conditions, as the HTTP API names them.
    package static let names = [
        "state", "delegate", "event", "type", "subject", "error", "since", "until", "failed_since",
    ]
    package static let isReversed = "is before since"
    package static let mustBeNarrow = "is needed: without a condition, all deliveries would be meant"
    /// The states of deliveries with a row.
    package static let stored: [DeliveryState] = [.retrying, .exhausted, .dropped]

    package let app: AppKey
    package let state: DeliveryState?
    package let delegate: WebhookDelegate?
    package let eventID: String?
    /// Only events accepted at this time or later, in milliseconds since 1970 UTC.
    package let since: Int64?
    /// Only events accepted at this time or before, in milliseconds since 1970 UTC.
    package let until: Int64?
    package let filter: DeliveryFilter

    package init(
        app: AppKey, state: DeliveryState?, delegate: WebhookDelegate?, eventID: String?, since: Int64?, until: Int64?,
        filter: DeliveryFilter = DeliveryFilter()
    ) {
        self.app = app
        self.state = state
        self.delegate = delegate
        self.eventID = eventID
        self.since = since
        self.until = until
        self.filter = filter
    }

    /// Whether the end of the wanted time is before its begin.
    package var isReversed: Bool { (until ?? .max) < (since ?? .min) }

    /// Whether at least one condition is given.
    package var isNarrow: Bool {
        state != nil || hasConditions
    }

    /// Whether there is a condition besides the state.
    var hasConditions: Bool {
        delegate != nil || eventID != nil || since != nil || until != nil || !filter.isEmpty
    }

    /// The events of the wanted time, as positions; `nil` for all. No event has the position in the range of a time
    /// without events. A reader's thread.
    func events(_ reader: any StoreReader) throws -> ClosedRange<LogPosition>? {
        if since == nil && until == nil { return nil }
        let first = try since.map(reader.sequence(since:)) ?? 0
        let last = try until.map(reader.lastEvent(through:)) ?? .max
        return first <= last ? first...last : .max ... .max
    }

    /// A reader's thread.
    /// - Parameter standard: the states if none is given.
    package func query(_ standard: Set<WaitingDelivery.State>, _ reader: any StoreReader) throws -> DeliveryQuery {
        var query = DeliveryQuery(state?.stored ?? standard)
        query.app = app
        query.delegate = delegate?.key
        query.event = try eventID.map { try Self.event($0, app, reader).sequence }
        query.events = try events(reader)
        query.filter = filter.isEmpty ? nil : filter
        return query
    }

    /// Deliveries, newest event first; pending ones in the order of `PendingDeliveries`. A reader's thread.
    /// - Parameter last: only those after this one in the order of the list.
    /// - Returns: at most `limit` deliveries, and the one after which the search continues; `nil` if it is complete.
    package func page(
        after last: DeliveryKey?, limit: Int, _ hub: Hub, _ reader: any StoreReader
    ) throws -> (rows: [DeliveryRow], next: DeliveryKey?) {
        switch state {
        case .pending: return try PendingDeliveries(self, hub).page(after: last, limit: limit, reader)
        case .delivered: return try DeliveredDeliveries(self, hub, reader).page(before: last, limit: limit)
        case .retrying, .exhausted, .dropped, nil: break
        }
        var wanted = try query(Set(WaitingDelivery.State.allCases), reader)
        wanted.before = last
        wanted.limit = limit + 1
        let found = try reader.search(wanted)
        let shown = found.rows.prefix(limit)
        let events = try EventHeads(shown.map(\.event), reader)
        let rows = try shown.map {
            DeliveryRow($0, events[$0.event], try reader.lastAttempt($0.delegate, $0.event)?.record, hub)
        }
        return (rows, found.rows.count > limit ? shown.last?.key : found.rest)
    }

    /// Counts without a change, like a change. A reader's thread.
    /// - Parameter before: only deliveries after this one in the order of the list.
    /// - Returns: the number of deliveries, and the one after which the count continues; `nil` if it is complete.
    package func count(
        _ query: DeliveryQuery, before: DeliveryKey?, _ reader: any StoreReader
    ) throws -> (count: Int, next: DeliveryKey?) {
        if query.filter == nil && before == nil { return (try reader.countDeliveries(query), nil) }
        var part = query
        part.before = before
        part.limit = DeliveryWrite.maxDeliveries
        let page = try reader.search(part)
        return (page.rows.count, page.rest)
    }

    /// - Throws: `HubError.notFound`.
    package static func event(_ id: String, _ app: AppKey, _ reader: any StoreReader) throws -> LoggedEvent {
        guard let event = try reader.event(app: app, id: id) else { throw HubError.noEvent(id) }
        return event
    }

    /// An event whose content is needed.
    /// - Throws: `HubError.notFound`, `.eventDamaged`.
    package static func intactEvent(_ id: String, _ app: AppKey, _ reader: any StoreReader) throws -> LoggedEvent {
        let found = try event(id, app, reader)
        if found.event.isDamaged { throw HubError.eventDamaged(id: id) }
        return found
    }
}
