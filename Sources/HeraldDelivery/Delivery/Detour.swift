import HeraldModel

/// The lanes of some shards that are not at the loop's position in the log: shards that the loop has taken are routed from where
/// they were, until they are there; those that it gives away stay where they are. Confined to one thread.
final class Detour {
    /// Others may leave it.
    var shards: Shards
    /// Every lane on the detour that is caught up was offered every event up to here.
    var position: LogPosition
    private var routers: [AppKey: Router] = [:]

    init(_ shards: Shards, at position: LogPosition) {
        self.shards = shards
        self.position = position
    }

    func listen(_ lane: Lane) {
        routers[lane.delegate.app, default: Router()].insert(lane.index, lane.delegate.settings.events)
    }

    func ignore(_ lane: Lane) { routers[lane.delegate.app]?.remove(lane.index, lane.delegate.settings.events) }

    /// The indices of the lanes to offer an event to.
    func lanes(for event: Event) -> [Int] {
        let (any, named) = routers[event.app]?.lanes(for: event.type) ?? ([], [])
        return any + named
    }
}
