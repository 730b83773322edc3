import HeraldModel
import HeraldRuntime

/// The most recent events of the log in memory: a bounded queue of consecutive events that drops the oldest. A value;
/// the owner synchronizes access.
struct EventWindow {
    /// Dropped events are released in bulk, a quarter at a time.
    private var events = FIFO<Event>()
    private var bytes = 0
    /// The bytes of dropped events that are not yet released.
    private var droppedBytes = 0
    /// The position of the oldest event in the window, or of the next event if the window is empty.
    private(set) var first: LogPosition
    private let maxEvents: Int
    private let maxBytes: Int

    init(after head: LogPosition, maxEvents: Int, maxBytes: Int) {
        first = head + 1
        self.maxEvents = maxEvents
        self.maxBytes = maxBytes
    }

    var last: LogPosition { first + LogPosition(events.count) - 1 }

    mutating func append(_ event: Event) {
        events.append(event)
        bytes += event.body.count
        while events.count > maxEvents || (bytes > maxBytes && !events.isEmpty) {
            let size = events.removeFirst().body.count
            bytes -= size
            droppedBytes += size
            first += 1
        }
        let slack = events.slack
        if slack >= 512 && slack * 3 > events.count || droppedBytes > maxBytes / 4 { events.compact() }
        if events.slack == 0 { droppedBytes = 0 }
    }

    /// - Precondition: `first <= sequence <= last`
    subscript(sequence: LogPosition) -> Event { events[Int(sequence - first)] }

    /// Removes the contents of the events.
    mutating func erase(_ sequences: Set<LogPosition>) {
        for sequence in sequences where sequence >= first && sequence <= last {
            let place = Int(sequence - first)
            bytes -= events[place].body.count
            events[place] = events[place].erased()
            bytes += events[place].body.count
        }
    }

    /// Removes all events: the log continues after `head`.
    mutating func reset(after head: LogPosition) {
        events.removeAll()
        bytes = 0
        droppedBytes = 0
        first = head + 1
    }

    /// - Precondition: `first <= sequence + 1 <= last`
    func slice(after sequence: LogPosition, limit: Int) -> EventBatch {
        let lower = Int(sequence + 1 - first)
        return EventBatch(first: sequence + 1, events: events.elements(lower..<min(events.count, lower + limit)))
    }
}
