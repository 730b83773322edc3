import HeraldModel

/// The position in the log up to which the delegates of this process have received events: each once, in order. What this
/// process has appended comes from the writer; what others have appended before it, or what it has appended itself without
/// getting to know, is read from the store.
struct LogFollower {
    /// The last event that the delegates have received.
    private(set) var position: LogPosition
    /// The last event that is known to be committed.
    private(set) var head: LogPosition

    /// - Parameter head: the last event at the start, which delegates have received.
    init(head: LogPosition) {
        position = head
        self.head = head
    }

    /// There are events that the delegates have not received.
    var isBehind: Bool { position < head }

    mutating func committed(head: LogPosition) { self.head = max(self.head, head) }

    /// Notifies the delegates of all events up to the end of the log.
    /// - Parameters:
    ///   - events: the last events of the log; none if all are to be read.
    ///   - read: returns events after a position. If it fails, the next call notifies of them.
    /// - Throws: `.replaced` if the store lacks events, or has others in their place.
    mutating func follow(
        _ events: [Event], read: (LogPosition) throws(StoreError) -> EventBatch, notify: (EventBatch) -> Void
    ) throws(StoreError) {
        let start = head - LogPosition(events.count)
        guard position <= start else {
            throw .replaced(path: StoreError.followed, reason: "the log has ended at \(start), before \(position)")
        }
        while position < start {
            let page = try read(position)
            guard page.first == position + 1, !page.events.isEmpty else {
                throw .replaced(path: StoreError.followed, reason: "the log lacks the event at \(position + 1)")
            }
            let missing = page.events.prefix(Int(start - position))
            position += LogPosition(missing.count)
            notify(EventBatch(first: page.first, events: Array(missing)))
        }
        guard !events.isEmpty else { return }
        position = head
        notify(EventBatch(first: start + 1, events: events))
    }
}
