import Synchronization

/// The most recent events, from which the delivery loops read new ones. It is the first delegate of the multicast, so
/// that the following delegates find the events here.
///
/// The writer's thread appends, any thread reads; the lock is held while references are copied.
package final class RecentEvents: EventDelegate {
    private struct State {
        var events: EventWindow
        var watches: [LogPosition: DeliveryWatch] = [:]
    }

    private let recent: Mutex<State>
    /// Whether there may be watches. Most routed batches have none, and need no lock to find out.
    private let hasWatches = Atomic(false)

    /// - Parameters:
    ///   - head: the last event of the log so far; the recent events start after it.
    ///   - maxEvents, maxBytes: the limits of what is kept.
    package init(head: LogPosition, maxEvents: Int = 16_384, maxBytes: Int = 32 << 20) {
        recent = Mutex(State(events: EventWindow(after: head, maxEvents: maxEvents, maxBytes: maxBytes)))
    }

    package func published(_ batch: EventBatch) {
        recent.withLock { recent in
            for event in batch.events { recent.events.append(event) }
        }
    }

    /// Keeps watches of events that are about to be published, until they are over.
    func watch(_ watches: [LogPosition: DeliveryWatch]) {
        recent.withLock { recent in
            recent.watches = recent.watches.filter { !$0.value.isOver }
            recent.watches.merge(watches) { _, new in new }
            hasWatches.store(true, ordering: .relaxed)
        }
    }

    /// The watches of these events. Any thread; a caller that knows of the events finds their watches.
    func watches(of batch: EventBatch) -> [LogPosition: DeliveryWatch] {
        guard hasWatches.load(ordering: .relaxed), batch.first <= batch.last else { return [:] }
        let range = batch.first...batch.last
        return recent.withLock { recent in
            if recent.watches.isEmpty { return [:] }
            let found = recent.watches.filter { range.contains($0.key) && !$0.value.isOver }
            if found.isEmpty, recent.watches.allSatisfy(\.value.isOver) {
                recent.watches = [:]
                hasWatches.store(false, ordering: .relaxed)
            }
            return found
        }
    }

    /// Any thread.
    func erase(_ sequences: Set<LogPosition>) {
        recent.withLock { $0.events.erase(sequences) }
        erasures.add(1, ordering: .releasing)
    }

    /// Counts erasures, so that copies of what was read from the store can be discarded after one.
    let erasures = Atomic(0)

    /// The part of the log after a position that is in memory.
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
            let events = recent.events
            if sequence + 1 < events.first { return .gone(first: events.first) }
            if sequence >= events.last { return .end }
            return .events(events.slice(after: sequence, limit: limit))
        }
    }

    /// The last event of the log.
    package var head: LogPosition { recent.withLock { $0.events.last } }
}
