import HeraldJSON

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

    package var query: EventQuery
    /// The beginning of the ids of the events.
    package var idPrefix = ""
    /// A condition on the content of the events.
    package var filter: ContentFilter?

    package init(_ query: EventQuery) { self.query = query }

    /// Whether the store evaluates all conditions.
    private var isPlain: Bool { query.types.count <= 1 && idPrefix.isEmpty && filter == nil }

    /// A reader's thread.
    /// - Returns: at most `limit` events of the query, and the position before which the search continues; `nil` if it is
    ///   complete, or if `limit` events were found.
    package func page(
        _ usage: LogUsage, _ reader: any StoreReader
    ) throws(StoreError) -> (found: [LoggedEvent], rest: LogPosition?) {
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

    private func matches(_ event: Event, _ budget: inout WorkBudget) -> Bool {
        if isPlain { return true }
        guard query.includes(type: event.type), event.id.hasPrefix(idPrefix) else { return false }
        guard let filter else { return true }
        let view = EventView(event, within: budget)
        defer { budget = view.budget }
        return filter.matches(view)
    }
}
