package import HeraldModel

/// Waits for changes of the app state: a delegate of the multicast, called after the projection of the states.
///
/// Any thread.
package final class AppStateWatch: EventDelegate {
    private struct Waiter {
        let known: String
        let answer: @Sendable () -> Void
    }

    private let hub: Hub
    private let waiters: LongPolls<AppKey, Waiter>

    package init(hub: Hub) {
        self.hub = hub
        waiters = LongPolls(hub) { $0.answer() }
    }

    package func published(_ batch: EventBatch) {
        let changes = batch.events.filter { $0.type == AppStateFamily.changed && $0.audience == nil }
        for app in Set(changes.map(\.app)) { answerChanged(app) }
    }

    /// The version of the current state, for `ETag`.
    package func version(_ app: AppKey) -> String { hub.committed.appState.version(app) ?? AppState.unknownVersion }

    /// Waits until the version of the state differs from `known`, or the time is up, with a precision of a second.
    /// - Parameter answer: called once, on some thread; must not wait.
    package func wait(_ app: AppKey, known: String, seconds: Int, answer: @escaping @Sendable () -> Void) {
        waiters.add(Waiter(known: known, answer: answer), of: app, seconds: seconds)
        // It may have changed since the caller read it.
        if version(app) != known { answerChanged(app) }
    }

    private func answerChanged(_ app: AppKey) {
        let version = version(app)
        for waiter in waiters.take(of: app, where: { $0.known != version }) { waiter.answer() }
    }
}
