import HeraldJSON
package import HeraldModel
import Synchronization

/// The version of the app state of each app, and recent states, according to the events of the log: a delegate of the
/// multicast. The store has all states. Called on the writer's thread, read by any thread.
package final class AppStateProjection: EventDelegate {
    private struct States {
        var versions: [AppKey: String]
        var recent: ValueCache<AppKey, AppState>
    }

    private let states: Mutex<States>

    /// - Parameters:
    ///   - versions: those of the stored states at the start.
    ///   - maxBytes: of the states in memory.
    init(_ versions: [AppStateVersion], maxBytes: Int = 16 << 20) {
        states = Mutex(
            States(
                versions: Dictionary(versions.map { ($0.app, $0.eventID) }, uniquingKeysWith: { $1 }),
                recent: ValueCache(maxBytes: maxBytes) { $0.state.count }))
    }

    package func published(_ batch: EventBatch) {
        for event in batch.events
        where event.family == .appState && event.type == AppStateFamily.changed && event.audience == nil {
            guard let state = event.document?["state"] else { continue }
            let next = AppState(app: event.app, state: state.bytes, since: event.time, eventID: event.id)
            states.withLock { states in
                states.versions[event.app] = event.id
                states.recent[event.app] = next
            }
        }
    }

    /// The app was deleted. The writer's thread.
    func forget(_ app: AppKey) {
        states.withLock { states in
            states.versions[app] = nil
            states.recent[app] = nil
        }
    }

    /// The event that set the current state; `nil` if none was set. Any thread.
    package func version(_ app: AppKey) -> String? { states.withLock { $0.versions[app] } }

    /// `nil` if none was set, or if it is in the store only: see `version`. Any thread.
    package func state(_ app: AppKey) -> AppState? { states.withLock { $0.recent[app] } }
}
