package import HeraldJSON

/// One event as filters see it. Parses `data` when a filter first asks for it, once for all filters.
///
/// Not `Sendable`: one thread makes it, asks it and lets it go.
package final class EventView {
    package let event: Event
    private let parser: EventDataParser
    /// For all filters that look at the event. When it is spent, their answers mean nothing.
    package private(set) var budget: WorkBudget

    /// - Parameters:
    ///   - parser: keeps its memory from event to event; one for each thread that makes many views.
    ///   - budget: for all filters together; each has a bound of its own beside it.
    package init(
        _ event: Event, _ parser: EventDataParser = EventDataParser(), within budget: WorkBudget = .unlimited
    ) {
        self.event = event
        self.parser = parser
        self.budget = budget
    }

    func spend(_ steps: Int) { budget.spend(steps) }

    /// `nil` when the event was made of something that is no JSON.
    private(set) lazy var data: JSONValue? = {
        spend(event.data.count / 8)
        return parser.parse(event.data)
    }()

    /// As the callback's body says it.
    private(set) lazy var time: String = Timestamp(milliseconds: event.time).description
}

/// Memory for parsing the data of events. One thread.
package final class EventDataParser {
    /// What is in the log was accepted, and its size bounds it; the depth is the one that was accepted.
    private var parser = JSONParser(limits: JSONLimits(values: .max, keyBytes: .max))

    package init() {}

    func parse(_ data: ArraySlice<UInt8>) -> JSONValue? { try? parser.parse(data) }
}
