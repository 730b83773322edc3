package import HeraldModel
import Synchronization

/// How a transaction searches for events that are due. A pure value.
struct PendingTurn: Equatable, Sendable {
    /// The apps take turns, because one transaction was not enough. Otherwise the earliest events are published first,
    /// whose search costs nothing for apps without due events.
    var isByApp = false
    /// The app after which the next turn begins.
    var last = AppKey(rawValue: 0)
}

/// The number of scheduled events of each app, and when the next one is due.
///
/// The writer's thread changes it; any thread reads it. The lock is held for a few instructions. While nothing is scheduled,
/// the writer reads one number.
package final class PendingSchedule: Sendable {
    private struct State {
        var counts: [AppKey: PendingCount]
        /// When the next event is due, `.max` if none is scheduled; `nil` if another node may have changed it.
        var next: Int64?
        var turn = PendingTurn()
        /// After a failure, in monotonic nanoseconds.
        var retryAt: Int64 = .min
    }

    private let state: Mutex<State>
    private let events: Atomic<Int64>

    /// Nanoseconds between two attempts after a failure.
    private static let retryInterval: Int64 = 1_000_000_000

    init(_ counts: [PendingCount]) {
        let found = Dictionary(counts.map { ($0.app, $0) }) { $1 }
        state = Mutex(State(counts: found))
        events = Atomic(counts.reduce(0) { $0 + $1.events })
    }

    // MARK: Counts

    /// The scheduled events of all apps.
    package var total: Int64 { events.load(ordering: .relaxed) }

    package func count(of app: AppKey) -> PendingCount {
        if total == 0 { return PendingCount(app: app) }
        return state.withLock { $0.counts[app] } ?? PendingCount(app: app)
    }

    /// - Parameter earliest: when the earliest of the added events is due; `nil` if that is unknown.
    func set(_ count: PendingCount, earliest: Int64?) {
        state.withLock { state in
            let before = state.counts[count.app]?.events ?? 0
            state.counts[count.app] = count.events > 0 ? count : nil
            events.add(count.events - before, ordering: .relaxed)
            state.next = earliest.flatMap { earliest in state.next.map { min($0, earliest) } }
        }
    }

    // MARK: The next one

    /// - Parameter time: when the next event is due; `nil` if none is scheduled.
    func set(next time: Int64?) { state.withLock { $0.next = time ?? .max } }

    /// - Parameter turn: of the next transaction.
    func set(next time: Int64?, _ turn: PendingTurn) {
        set(next: time)
        state.withLock { $0.turn = turn }
    }

    /// How the next transaction searches for due events.
    var turn: PendingTurn { state.withLock { $0.turn } }

    /// Another node publishes the events, or a change of it was not read.
    func forgetNext() {
        if total > 0 { state.withLock { $0.next = nil } }
    }

    /// The store has failed: the next attempt is a second later.
    /// - Parameter now: monotonic nanoseconds.
    func failed(at now: Int64) { state.withLock { $0.retryAt = now + Self.retryInterval } }

    /// Whether the store has to be read to find out when the next event is due.
    /// - Parameter now: monotonic nanoseconds.
    func mustRead(_ now: Int64) -> Bool {
        guard total > 0 else { return false }
        return state.withLock { $0.next == nil && now >= $0.retryAt }
    }

    /// - Parameters:
    ///   - wall: milliseconds since 1970 UTC.
    ///   - now: monotonic nanoseconds.
    func isDue(_ wall: Int64, _ now: Int64) -> Bool { wait(wall, now) == 0 }

    /// Milliseconds until events are due; `nil` if that is unknown, or nothing is scheduled.
    func wait(_ wall: Int64, _ now: Int64) -> Int64? {
        guard total > 0 else { return nil }
        return state.withLock { state in
            guard let time = state.next, time < .max else { return nil }
            let failure = now < state.retryAt ? (state.retryAt - now) / 1_000_000 + 1 : 0
            return max(0, time - wall, failure)
        }
    }

    /// Milliseconds by which the next event is late; 0 on a node that does not publish them.
    package func lateness(_ wall: Int64) -> Int64 {
        guard total > 0 else { return 0 }
        return state.withLock { state in
            guard let time = state.next, time < .max else { return 0 }
            return max(0, wall - time)
        }
    }
}
