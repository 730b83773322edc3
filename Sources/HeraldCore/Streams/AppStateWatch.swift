package import HeraldModel

/// Waits for changes of the app state: a delegate of the multicast, called after the projection of the states.
///
/// Any thread.
package final class AppStateWatch: EventDelegate {
    private struct Waiter {
        let app: AppKey
        let known: String
        let answer: @Sendable () -> Void
    }

    private let hub: Hub
    private let waiters: LongPolls<Waiter>

    package init(hub: Hub) {
        self.hub = hub
        waiters = LongPolls(hub) { $0.answer() }
    }

    package func published(_ batch: EventBatch) {
        if batch.events.contains(where: { $0.type == AppStateFamily.changed && $0.audience == nil }) { answerChanged() }
    }

    /// The version of the current state, for `ETag`.
    package func version(_ app: AppKey) -> String { hub.committed.appState.version(app) ?? AppState.unknownVersion }

    /// Waits until the version of the state differs from `known`, or the time is up, with a precision of a second.
    /// - Parameter answer: called once, on some thread; must not wait.
    package func wait(_ app: AppKey, known: String, seconds: Int, answer: @escaping @Sendable () -> Void) {
        waiters.add(Waiter(app: app, known: known, answer: answer), seconds: seconds)
        // It may have changed since the caller read it.
        answerChanged()
    }

    private func answerChanged() {
        for waiter in waiters.take(where: { version($0.app) != $0.known }) { waiter.request.answer() }
    }
}
