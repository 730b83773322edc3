import HeraldJSON
package import HeraldModel

/// A search for events of an app, newest first, in bounded parts. Only blocks of the log that contain the app's events are
/// read: the events of other apps do not show in the time.
package struct EventSearch: Sendable {
    /// Rows of the log that one part passes: about ten milliseconds.
    private static let searchedRows: Int64 = 10_240
    /// With conditions that the store does not evaluate: events that one part loads, the size of their data, and events of
    /// one read.
    private static let loadedEvents = 2_000
    private static let loadedBytes = 8 << 20
    private static let eventsPerRead = 250
    /// With a state of deliveries: deliveries of one read, those of any app that it passes, and reads.
    private static let deliveriesPerRead = 100
    private static let passedPerRead = 10_000
    private static let deliveryReads = 20

    package var query: EventQuery
    /// The beginning of the ids of the events.
    package var idPrefix = ""
    /// A condition on the content of the events.
    package var filter: ContentFilter?
    /// Only events with a delivery in one of these states; empty for all events.
    package var deliveries: Set<WaitingDelivery.State> = []

    package init(_ query: EventQuery) { self.query = query }

    /// Whether the store evaluates all conditions.
    private var isPlain: Bool { query.types.count <= 1 && idPrefix.isEmpty && filter == nil }

    /// A reader's thread.
    /// - Returns: at most `limit` events of the query, and the position before which the search continues; `nil` if it is
    ///   complete, or if `limit` events were found.
    package func page(
        _ usage: LogUsage, _ reader: any StoreReader
    ) throws(StoreError) -> (found: [LoggedEvent], rest: LogPosition?) {
        if !deliveries.isEmpty { return try page(of: deliveries, reader) }
        var found: [LoggedEvent] = []
        var (loaded, bytes) = (0, 0)
        var budget = WorkBudget()
        let room = isPlain ? query.maxBytes : min(query.maxBytes, Self.loadedBytes)
        let (parts, rest) = usage.searchParts(of: query.app, before: query.before ?? .max, work: Self.searchedRows)
        for stretch in parts {
            if stretch.upperBound <= query.after { return (found, nil) }
            var part = query
            part.before = stretch.upperBound + 1
            part.after = max(query.after, stretch.lowerBound - 1)
            while true {
                part.limit = isPlain ? query.limit - found.count : Self.eventsPerRead
                part.maxBytes = room - bytes
                let more = try reader.events(part)
                for logged in more {
                    bytes += logged.event.body.count
                    let isMatching = matches(logged.event, &budget)
                    // The next part decides. One event alone never exhausts the budget.
                    if budget.isSpent { return (found, logged.sequence + 1) }
                    if isMatching { found.append(logged) }
                    if found.count >= query.limit { return (found, nil) }
                }
                loaded += more.count
                if bytes >= room || (!isPlain && loaded >= Self.loadedEvents) { return (found, more.last?.sequence) }
                guard more.count == part.limit, let last = more.last?.sequence else { break }
                part.before = last
            }
        }
        return (found, rest)
    }

    /// Reads the deliveries in these states, which an index has in the order of their events, and each event of them once.
    private func page(
        of states: Set<WaitingDelivery.State>, _ reader: any StoreReader
    ) throws(StoreError) -> (found: [LoggedEvent], rest: LogPosition?) {
        var found: [LoggedEvent] = []
        var bytes = 0
        var budget = WorkBudget()
        var deliveries = DeliveryQuery(states)
        deliveries.app = query.app
        deliveries.limit = Self.deliveriesPerRead
        deliveries.passed = Self.passedPerRead
        var end = (query.before ?? .max) - 1
        for _ in 0..<Self.deliveryReads {
            guard query.after < end else { return (found, nil) }
            deliveries.events = query.after + 1...end
            let page = try reader.search(deliveries)
            var last: LogPosition?
            for row in page.rows where row.event != last {
                last = row.event
                var one = query
                one.before = row.event + 1
                one.after = row.event - 1
                guard let logged = try reader.events(one).first else { continue }
                bytes += logged.event.body.count
                let isMatching = matches(logged.event, &budget)
                if budget.isSpent { return (found, row.event + 1) }
                if isMatching { found.append(logged) }
                if found.count >= query.limit { return (found, nil) }
                if bytes >= min(query.maxBytes, Self.loadedBytes) { return (found, row.event) }
            }
            guard let rest = page.rest else { return (found, nil) }
            // An event may have many deliveries: none of them is read again.
            end = rest.event - 1
        }
        return (found, end + 1)
    }

    private func matches(_ event: Event, _ budget: inout WorkBudget) -> Bool {
        if isPlain { return true }
        guard query.includes(type: event.type), event.id.hasPrefix(idPrefix) else { return false }
        guard let filter else { return true }
        let view = EventView(event, within: budget)
        defer { budget = view.budget }
        return filter.matches(view)
    }
}
