import Synchronization

/// The most recent events, from which the delivery loops read new ones. It is the first delegate of the multicast, so
/// that the following delegates find the events here.
///
/// The writer's thread appends, any thread reads; the lock is held while references are copied.
package final class RecentEvents: EventDelegate {
    private let recent: Mutex<EventWindow>

    /// - Parameters:
    ///   - head: the last event of the log so far; the recent events start after it.
    ///   - maxEvents, maxBytes: the limits of what is kept.
    package init(head: LogPosition, maxEvents: Int = 16_384, maxBytes: Int = 32 << 20) {
        recent = Mutex(EventWindow(after: head, maxEvents: maxEvents, maxBytes: maxBytes))
    }

    package func published(_ batch: EventBatch) {
        recent.withLock { recent in
            for event in batch.events { recent.append(event) }
        }
    }

    /// Any thread.
    func erase(_ sequences: Set<LogPosition>) {
        recent.withLock { $0.erase(sequences) }
        erasures.add(1, ordering: .releasing)
    }

    /// Counts erasures, so that copies of what was read from the store can be discarded after one.
    let erasures = Atomic(0)

    /// What memory has of the log after a position.
    enum Slice {
        case events(EventBatch)
        /// The position is the end of the log.
        case end
        /// The events were dropped from memory and must be read from the store. `first` is the oldest position in
        /// memory.
        case gone(first: LogPosition)
    }

    func slice(after sequence: LogPosition, limit: Int) -> Slice {
        recent.withLock { recent in
            if sequence + 1 < recent.first { return .gone(first: recent.first) }
            if sequence >= recent.last { return .end }
            return .events(recent.slice(after: sequence, limit: limit))
        }
    }

    /// The last event of the log.
    package var head: LogPosition { recent.withLock { $0.last } }
}
