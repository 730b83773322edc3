/// The end of the log in memory: a bounded queue of consecutive events that drops the oldest. A value; whoever holds it
/// guards it.
struct EventWindow {
    /// `events[start...]` count; what lies before has been dropped and is released in bulk, a quarter at a time.
    private var events: [Event] = []
    private var start = 0
    private var bytes = 0
    private var droppedBytes = 0
    /// The sequence of the oldest event here, or of the next one to come.
    private(set) var first: LogPosition
    private let maxEvents: Int
    private let maxBytes: Int

    init(after head: LogPosition, maxEvents: Int, maxBytes: Int) {
        first = head + 1
        self.maxEvents = maxEvents
        self.maxBytes = maxBytes
    }

    var last: LogPosition { first + LogPosition(events.count - start) - 1 }

    mutating func append(_ event: Event) {
        events.append(event)
        bytes += event.body.count
        while events.count - start > maxEvents || (bytes > maxBytes && start < events.count) {
            bytes -= events[start].body.count
            droppedBytes += events[start].body.count
            start += 1
            first += 1
        }
        if start >= 512 && start * 4 > events.count || droppedBytes > maxBytes / 4 {
            events.removeFirst(start)
            start = 0
            droppedBytes = 0
        }
    }

    /// - Precondition: `first <= sequence <= last`
    subscript(sequence: LogPosition) -> Event { events[start + Int(sequence - first)] }

    /// Takes what the events say out of them.
    mutating func erase(_ sequences: Set<LogPosition>) {
        for sequence in sequences where sequence >= first && sequence <= last {
            let place = start + Int(sequence - first)
            bytes -= events[place].body.count
            events[place] = events[place].erased()
            bytes += events[place].body.count
        }
    }

    /// Forgets everything: the log goes on after `head`.
    mutating func reset(after head: LogPosition) {
        events.removeAll()
        start = 0
        bytes = 0
        droppedBytes = 0
        first = head + 1
    }

    /// - Precondition: `first <= sequence + 1 <= last`
    func slice(after sequence: LogPosition, limit: Int) -> EventBatch {
        let lower = start + Int(sequence + 1 - first)
        return EventBatch(first: sequence + 1, events: Array(events[lower..<min(events.count, lower + limit)]))
    }
}
