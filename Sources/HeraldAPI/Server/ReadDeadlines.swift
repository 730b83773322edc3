import HeraldCore
import HeraldRuntime
import Synchronization

/// Responds instead of a store that does not: a database on another machine can stop to respond without closing its
/// connections. The read itself continues, and its response comes too late to be sent; a change that depends on it is not made
/// (``Responder/begin()``).
///
/// Any thread. While something is pending, a timer of the hub fires every `interval`.
final class ReadDeadlines: Sendable {
    /// A response that is expected from the store. The work holds the object, and its release cancels the deadline.
    final class Pending: Sendable {
        fileprivate let refuse: @Sendable () -> Void

        fileprivate init(_ refuse: @escaping @Sendable () -> Void) { self.refuse = refuse }
    }

    private struct Entry {
        /// Monotonic nanoseconds.
        let due: Int64
        weak var pending: Pending?
    }

    private struct State {
        var entries: [Entry] = []
        var hasTimer = false
    }

    /// Milliseconds.
    static let read = 4_300
    static let readiness = 700
    private static let interval = 100

    private let hub: Hub
    private let state = Mutex(State())

    init(hub: Hub) { self.hub = hub }

    /// - Parameters:
    ///   - milliseconds: after which `refuse` is called, unless the returned object is released before.
    ///   - refuse: called on a loop's thread; must not wait. Only the first response to a request counts.
    func expect(within milliseconds: Int, or refuse: @escaping @Sendable () -> Void) -> Pending {
        let pending = Pending(refuse)
        let due = hub.clock.monotonic() + Int64(milliseconds) * 1_000_000
        let needsTimer = state.withLock { state in
            state.entries.append(Entry(due: due, pending: pending))
            defer { state.hasTimer = true }
            return !state.hasTimer
        }
        if needsTimer { startTimer() }
        return pending
    }

    private func startTimer() {
        hub.after(milliseconds: Self.interval) { [weak self] in self?.check() }
    }

    private func check() {
        let now = hub.clock.monotonic()
        let (late, goesOn) = state.withLock { state in
            let late = state.entries.compactMap { $0.due <= now ? $0.pending : nil }
            state.entries.removeAll { $0.due <= now || $0.pending == nil }
            state.hasTimer = !state.entries.isEmpty
            return (late, state.hasTimer)
        }
        for pending in late { pending.refuse() }
        // A hub that stops calls its timers early: another one would follow at once, and so on.
        if goesOn, !hub.isStopping { startTimer() }
    }
}
