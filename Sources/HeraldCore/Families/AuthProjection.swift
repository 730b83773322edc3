import HeraldJSON
import Synchronization

/// Who is logged in, as the events of the log tell: a delegate of the multicast like any other.
///
/// It remembers the users whose status changed lately; the store has a row for each. Told on the writer's thread, read by
/// any.
package final class AuthProjection: EventDelegate {
    private struct Key: Hashable {
        let app: AppKey
        let userID: String
    }

    /// Users remembered at most; when there are more, all are forgotten and the store is asked.
    static let capacity = 16_384

    private let statuses = Mutex<[Key: AuthStatus]>([:])

    init() {}

    package func published(_ batch: EventBatch) {
        for event in batch.events where event.family == .auth && event.audience == nil {
            var errors: [FieldError] = []
            guard let document = try? JSONDocument(parsing: Array(event.data)),
                let told = AuthFamily.read(event.type, subject: event.subject, data: document.root, &errors)
            else { continue }
            note(told, event, cause: document["cause"]?.string)
        }
    }

    private func note(_ told: AuthFamily.AuthChange, _ event: Event, cause: String?) {
        let key = Key(app: event.app, userID: told.userID)
        statuses.withLock { statuses in
            guard let current = statuses[key] else {
                // A status of an unknown user is known as a whole only when the event says that it changed.
                guard event.type == AuthFamily.statusChanged, let cause else { return }
                if statuses.count >= Self.capacity { statuses.removeAll(keepingCapacity: true) }
                statuses[key] = AuthStatus(
                    app: event.app, userID: told.userID, isLoggedIn: told.isLoggedIn,
                    user: told.user ?? Array("null".utf8), since: event.time, eventID: cause)
                return
            }
            statuses[key] = .next(
                after: current, userID: told.userID, isLoggedIn: told.isLoggedIn, user: told.user, event: event)
        }
    }

    /// The writer's thread.
    func forget(_ app: AppKey, userID: String) {
        statuses.withLock { $0[Key(app: app, userID: userID)] = nil }
    }

    /// `nil` when this user is not remembered: then the store knows. Any thread.
    package func status(_ app: AppKey, userID: String) -> AuthStatus? {
        statuses.withLock { $0[Key(app: app, userID: userID)] }
    }
}
