package import HeraldJSON

/// One event for filters. Parses `data` when a filter first needs it, once for all filters.
///
/// Not `Sendable`: it is created, used and released on one thread.
package final class EventView {
    package let event: Event
    private let parser: EventDataParser
    /// Shared by all filters that examine the event. If it is exhausted, all of them match.
    package private(set) var budget: WorkBudget
    /// The steps of all filters so far.
    package private(set) var steps = 0

    /// - Parameters:
    ///   - parser: reuses its memory from event to event; one for each thread that creates many views.
    ///   - budget: for all filters together; each also has a limit of its own.
    package init(
        _ event: Event, _ parser: EventDataParser = EventDataParser(), within budget: WorkBudget = .unlimited
    ) {
        self.event = event
        self.parser = parser
        self.budget = budget
    }

    package func spend(_ steps: Int) {
        budget.spend(steps)
        self.steps += steps
    }

    /// `nil` if the event's data is not JSON, or if the budget doesn't suffice to parse it.
    package private(set) lazy var data: JSONValue? = {
        spend(event.data.count / 8)
        return budget.isSpent ? nil : parser.parse(event.data)
    }()

    /// As in the callback's body.
    private(set) lazy var time: String = Timestamp(milliseconds: event.time).description
}

/// Memory for parsing the data of events. One thread.
package final class EventDataParser {
    /// Logged data was accepted before, and its size is bounded; the depth is the one that was accepted, and one more for a
    /// response, which stands below `body`.
    private var parser = JSONParser(
        limits: JSONLimits(depth: JSONLimits.standard.depth + 1, values: .max, keyBytes: .max))

    package init() {}

    func parse(_ data: ArraySlice<UInt8>) -> JSONValue? { try? parser.parse(data) }
}
