import HeraldJSON
package import HeraldModel
import Synchronization

/// The auth status of users, according to the events of the log: a delegate of the multicast.
///
/// It caches the users whose status changed recently; the store has a row for each user. Called on the writer's thread,
/// read by any thread.
package final class AuthProjection: EventDelegate {
    private struct Key: Hashable {
        let app: AppKey
        let userID: ExactText
    }

    private let statuses: Mutex<ValueCache<Key, AuthStatus>>

    /// - Parameter maxBytes: of the statuses in memory.
    init(maxBytes: Int = 16 << 20) {
        statuses = Mutex(ValueCache(maxBytes: maxBytes) { $0.user.count + $0.userID.utf8.count })
    }

    package func published(_ batch: EventBatch) {
        for event in batch.events where event.family == .auth && event.audience == nil {
            var errors: [FieldError] = []
            guard let document = event.document,
                let change = AuthFamily.read(event.type, subject: event.subject, data: document.root, &errors)
            else { continue }
            record(change, event, cause: document["cause"]?.string)
        }
    }

    private func record(_ change: AuthFamily.AuthChange, _ event: Event, cause: String?) {
        let key = Key(app: event.app, userID: ExactText(change.userID))
        statuses.withLock { statuses in
            guard let current = statuses[key] else {
                // The complete status of a user that is not cached is known only if the event says that it changed.
                guard event.type == AuthFamily.statusChanged, let cause else { return }
                statuses[key] = AuthStatus(
                    app: event.app, userID: change.userID, isLoggedIn: change.isLoggedIn,
                    user: change.user ?? Array("null".utf8), since: event.time, eventID: cause)
                return
            }
            statuses[key] = .next(
                after: current, userID: change.userID, isLoggedIn: change.isLoggedIn, user: change.user, event: event)
        }
    }

    /// The bytes of the statuses in memory.
    var bytes: Int { statuses.withLock { $0.bytes } }

    /// The writer's thread.
    func forget(_ app: AppKey) {
        statuses.withLock { $0.remove { $0.app == app } }
    }

    /// `nil` if this user is not cached: then the store has to be read. Any thread.
    package func status(_ app: AppKey, userID: String) -> AuthStatus? {
        statuses.withLock { $0[Key(app: app, userID: ExactText(userID))] }
    }
}
