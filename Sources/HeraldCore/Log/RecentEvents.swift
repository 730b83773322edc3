import Synchronization

/// The most recent events, from which the delivery loops take what is new. The first delegate of the multicast, so that
/// whoever is told after it finds the events here.
///
/// The writer's thread appends, any thread reads; the lock is held while references are copied.
package final class RecentEvents: EventDelegate {
    private let recent: Mutex<EventWindow>

    /// - Parameters:
    ///   - head: the last event of the log so far; the tail starts after it.
    ///   - maxEvents, maxBytes: what is kept at most.
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

    /// Counts erasures, so that whoever keeps what he read from the store knows when to forget it.
    let erasures = Atomic(0)

    /// What the tail can say of the log after a position.
    enum Slice {
        case events(EventBatch)
        /// The position is the end of the log.
        case end
        /// They have been dropped: the store has them. `first`: what the tail begins with.
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
