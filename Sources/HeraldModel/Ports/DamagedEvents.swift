import Synchronization

/// The events that a store found to be damaged when it read them. Each is counted and reported once.
///
/// Any thread; the lock guards the set for a few instructions.
package final class DamagedEvents: Sendable {
    package typealias Observer = @Sendable (LogPosition) -> Void

    private struct State {
        /// Bounded: events beyond the limit are counted again each time they are read.
        var positions: Set<LogPosition> = []
        var count: UInt64 = 0
        var observer: Observer?
    }

    private static let limit = 10_000

    private let state = Mutex(State())

    package init() {}

    /// The number of damaged events found since the start.
    package var count: UInt64 { state.withLock { $0.count } }

    /// Reports each event from now on, and immediately those found before.
    /// - Parameter observer: called on the thread that reads; must not wait.
    package func observe(_ observer: @escaping Observer) {
        let found = state.withLock { state in
            state.observer = observer
            return state.positions
        }
        for position in found.sorted() { observer(position) }
    }

    /// Records that the event at this position is not what was written.
    package func record(_ position: LogPosition) {
        let observer = state.withLock { state -> Observer? in
            guard state.positions.count >= Self.limit || state.positions.insert(position).inserted else { return nil }
            state.count += 1
            return state.observer
        }
        observer?(position)
    }
}
