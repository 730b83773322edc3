import HeraldModel
import Synchronization

/// Counts published events by family; a delegate of the multicast.
final class EventMetrics: EventDelegate {
    private let auth = Atomic<Int>(0)
    private let appState = Atomic<Int>(0)
    private let service = Atomic<Int>(0)
    private let other = Atomic<Int>(0)

    func published(_ batch: EventBatch) {
        // Events that repeat the current state to one delegate do not count.
        for event in batch.events where event.audience == nil {
            switch event.family {
            case .auth: auth.add(1, ordering: .relaxed)
            case .appState: appState.add(1, ordering: .relaxed)
            case .service: service.add(1, ordering: .relaxed)
            case .other: other.add(1, ordering: .relaxed)
            }
        }
    }

    /// The label and count of each family. The set is fixed.
    var counts: [(family: String, count: Int)] {
        [
            ("auth", auth.load(ordering: .relaxed)), ("app_state", appState.load(ordering: .relaxed)),
            ("herald", service.load(ordering: .relaxed)), ("other", other.load(ordering: .relaxed)),
        ]
    }
}
