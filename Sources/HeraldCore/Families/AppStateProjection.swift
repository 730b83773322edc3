import HeraldJSON
import Synchronization

/// The current app state of each app, according to the events of the log: a delegate of the multicast. Called on the
/// writer's thread, read by any thread.
package final class AppStateProjection: EventDelegate {
    private let states: Mutex<[AppKey: AppState]>

    /// - Parameter states: the stored states at the start.
    init(_ states: [AppState]) {
        self.states = Mutex(Dictionary(states.map { ($0.app, $0) }, uniquingKeysWith: { $1 }))
    }

    package func published(_ batch: EventBatch) {
        for event in batch.events
        where event.family == .appState && event.type == AppStateFamily.changed && event.audience == nil {
            guard let document = try? JSONDocument(parsing: Array(event.data)), let state = document["state"] else {
                continue
            }
            let next = AppState(app: event.app, state: state.bytes, since: event.time, eventID: event.id)
            states.withLock { $0[event.app] = next }
        }
    }

    /// `nil` if none was set. Any thread.
    package func state(_ app: AppKey) -> AppState? { states.withLock { $0[app] } }
}
