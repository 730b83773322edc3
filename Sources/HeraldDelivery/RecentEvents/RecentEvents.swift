package import HeraldModel
package import Synchronization

/// The most recent events, from which the delivery loops read new ones. It is the first delegate of the multicast, so
/// that the following delegates find the events here.
///
/// The writer's thread appends, any thread reads; the lock is held while references are copied.
package final class RecentEvents: EventDelegate {
    private struct State {
        var events: EventWindow
        var watches: [LogPosition: DeliveryWatch] = [:]
        /// Watches that are over are removed when there are so many: their number doubles between two removals, so that
        /// a watch costs the same however many requests wait.
        var maxWatches = 1_024
    }

    private let recent: Mutex<State>
    /// The last watched event. Most routed batches are after it, and need no lock to find out.
    private let lastWatched = Atomic<LogPosition>(0)

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
    package func watch(_ watches: [LogPosition: DeliveryWatch]) {
        recent.withLock { recent in
            recent.watches.merge(watches) { _, new in new }
            guard recent.watches.count > recent.maxWatches else { return }
            recent.watches = recent.watches.filter { !$0.value.isOver }
            recent.maxWatches = max(1_024, 2 * recent.watches.count)
        }
        lastWatched.store(watches.keys.max() ?? 0, ordering: .relaxed)
    }

    /// The watches of these events. Any thread; a caller that knows of the events finds their watches.
    package func watches(of batch: EventBatch) -> [LogPosition: DeliveryWatch] {
        guard batch.first <= lastWatched.load(ordering: .relaxed) else { return [:] }
        return recent.withLock { recent in
            var found: [LogPosition: DeliveryWatch] = [:]
            for offset in batch.events.indices {
                let position = batch.first + LogPosition(offset)
                if let watch = recent.watches[position] { found[position] = watch }
            }
            return found
        }
    }

    /// The watches that are kept, also some that are over. Any thread.
    package var allWatches: [DeliveryWatch] { recent.withLock { Array($0.watches.values) } }

    /// Any thread.
    package func erase(_ sequences: Set<LogPosition>) {
        recent.withLock { $0.events.erase(sequences) }
        erasures.add(1, ordering: .releasing)
    }

    /// Counts erasures, so that copies of what was read from the store can be discarded after one.
    package let erasures = Atomic(0)

    /// The part of the log after a position that is in memory.
    package enum Slice {
        case events(EventBatch)
        /// The position is the end of the log.
        case end
        /// The events were dropped from memory and must be read from the store. `first` is the oldest position in
        /// memory.
        case gone(first: LogPosition)
    }

    package func slice(after sequence: LogPosition, limit: Int) -> Slice {
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
