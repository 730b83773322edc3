/// Which deliveries to list or to change.
package struct DeliverySelection: Sendable {
    /// The conditions, as the HTTP API names them.
    package static let names = ["state", "delegate", "event", "since", "until"]
    package static let isReversed = "is before since"
    package static let mustBeNarrow = "give at least one of these, so that not everything is meant by accident"
    /// The states that can be listed: what was delivered has no row.
    package static let listed: [DeliveryState] = [.pending, .retrying, .exhausted, .dropped]

    package let app: AppKey
    package let state: DeliveryState?
    package let delegate: WebhookDelegate?
    package let eventID: String?
    /// Only events accepted at this time or later, in milliseconds since 1970 UTC.
    package let since: Int64?
    /// Only events accepted at this time or before, in milliseconds since 1970 UTC.
    package let until: Int64?

    package init(
        app: AppKey, state: DeliveryState?, delegate: WebhookDelegate?, eventID: String?, since: Int64?, until: Int64?
    ) {
        self.app = app
        self.state = state
        self.delegate = delegate
        self.eventID = eventID
        self.since = since
        self.until = until
    }

    /// Whether the end of the wanted time is before its begin.
    package var isReversed: Bool { (until ?? .max) < (since ?? .min) }

    /// Whether at least one condition is given.
    package var isNarrow: Bool {
        state != nil || delegate != nil || eventID != nil || since != nil || until != nil
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
        return query
    }

    /// Deliveries with a row of their own, newest first, with their keys. A reader's thread.
    /// - Parameter before: only those after this one in the order of the list.
    package func rows(
        before: DeliveryKey?, limit: Int, _ hub: Hub, _ reader: any StoreReader
    ) throws -> [(key: DeliveryKey, row: DeliveryRow)] {
        var wanted = try query(Set(WaitingDelivery.State.allCases), reader)
        wanted.before = before
        wanted.limit = limit
        let found = try reader.deliveries(wanted)
        let events = try EventHeads(found.map(\.event), reader)
        return try found.map {
            let last = try reader.lastAttempt($0.delegate, $0.event)
            return (DeliveryKey(delegate: $0.delegate, event: $0.event), DeliveryRow($0, events[$0.event], last, hub))
        }
    }

    /// - Throws: `HubError.notFound`.
    package static func event(_ id: String, _ app: AppKey, _ reader: any StoreReader) throws -> LoggedEvent {
        guard let event = try reader.event(app: app, id: id) else { throw HubError.noEvent(id) }
        return event
    }
}
