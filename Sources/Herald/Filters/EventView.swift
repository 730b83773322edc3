import JSON

/// One event as filters see it. Parses `data` when a filter first asks for it, once for all filters.
///
/// Not `Sendable`: one thread makes it, asks it and lets it go.
public final class EventView {
    public let event: Event
    private let parser: EventDataParser

    /// - Parameter parser: keeps its memory from event to event; one for each thread that makes many views.
    public init(_ event: Event, _ parser: EventDataParser = EventDataParser()) {
        self.event = event
        self.parser = parser
    }

    /// `nil` when the event was made of something that is no JSON.
    private(set) lazy var data: JSONValue? = parser.parse(event.data)

    /// As the callback's body says it.
    private(set) lazy var time: String = Timestamp(milliseconds: event.time).description
}

/// Memory for parsing the data of events. One thread.
public final class EventDataParser {
    /// What is in the log was accepted, and its size bounds it; the depth is the one that was accepted.
    private var parser = JSONParser(limits: JSONLimits(values: .max, keyBytes: .max))

    public init() {}

    func parse(_ data: ArraySlice<UInt8>) -> JSONValue? { try? parser.parse(data) }
}
