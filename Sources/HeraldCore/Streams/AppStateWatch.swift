import HeraldRuntime
import Synchronization

/// Waits for changes of the app state: a delegate of the multicast, called after the projection of the states.
///
/// Any thread; the lock guards the list of waiting requests.
package final class AppStateWatch: EventDelegate {
    private struct Waiter {
        let app: AppKey
        let known: String
        /// On the monotonic clock.
        let deadline: Int64
        let answer: @Sendable () -> Void
    }

    private struct Waiters {
        var entries: [Int: Waiter] = [:]
        var next = 0
        /// One timer for all waiting requests.
        var isTicking = false

        mutating func take(where isOver: (Waiter) -> Bool) -> [Waiter] {
            let over = entries.filter { isOver($0.value) }
            for key in over.keys { entries[key] = nil }
            return Array(over.values)
        }
    }

    private let hub: Hub
    private let waiters = Mutex(Waiters())

    package init(hub: Hub) { self.hub = hub }

    package func published(_ batch: EventBatch) {
        if batch.events.contains(where: { $0.type == AppStateFamily.changed && $0.audience == nil }) { answerChanged() }
    }

    /// The version of the current state, for `ETag`.
    package func version(_ app: AppKey) -> String { hub.committed.appState.version(app) ?? AppState.unknownVersion }

    /// Waits until the version of the state differs from `known`, or the time is up, with a precision of a second.
    /// - Parameter answer: called once, on some thread; must not wait.
    package func wait(_ app: AppKey, known: String, seconds: Int, answer: @escaping @Sendable () -> Void) {
        let deadline = hub.clock.monotonic() + Int64(seconds) * 1_000_000_000
        let startsTicking = waiters.withLock { waiters in
            waiters.entries[waiters.next] = Waiter(app: app, known: known, deadline: deadline, answer: answer)
            waiters.next += 1
            defer { waiters.isTicking = true }
            return !waiters.isTicking
        }
        if startsTicking { tick() }
        // It may have changed since the caller read it.
        answerChanged()
    }

    private func answerChanged() {
        for waiter in waiters.withLock({ $0.take { version($0.app) != $0.known } }) { waiter.answer() }
    }

    private func tick() {
        hub.after(seconds: 1) { [weak self] in
            guard let self else { return }
            let now = hub.clock.monotonic()
            let (over, goesOn) = waiters.withLock { waiters in
                let over = waiters.take { $0.deadline <= now }
                waiters.isTicking = !waiters.entries.isEmpty
                return (over, waiters.isTicking)
            }
            for waiter in over { waiter.answer() }
            if goesOn { tick() }
        }
    }
}
