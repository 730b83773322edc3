import HeraldDelivery
import HeraldModel

/// The delegates with pulls that wait, by the event types that they want; by app, so that an event costs nothing for the
/// delegates of others.
struct PullRoutes {
    private struct OfApp {
        var router = Router()
        var delegates: [Int: (key: DelegateKey, patterns: [EventPattern])] = [:]
    }

    private var apps: [AppKey: OfApp] = [:]
    private var places: [DelegateKey: (app: AppKey, number: Int)] = [:]
    private var next = 0

    mutating func add(_ delegate: WebhookDelegate) {
        guard places[delegate.key] == nil else { return }
        next += 1
        places[delegate.key] = (delegate.app, next)
        let patterns = delegate.settings.events
        apps[delegate.app, default: OfApp()].delegates[next] = (delegate.key, patterns)
        apps[delegate.app]?.router.insert(next, patterns)
    }

    mutating func remove(_ key: DelegateKey) {
        guard let (app, number) = places.removeValue(forKey: key),
            let found = apps[app]?.delegates.removeValue(forKey: number)
        else { return }
        apps[app]?.router.remove(number, found.patterns)
        if apps[app]?.delegates.isEmpty == true { apps[app] = nil }
    }

    /// The delegates that an event may be for. They leave the routes: the other events of a batch need not find them again, and
    /// the next pull that waits returns there.
    mutating func take(for event: Event) -> [DelegateKey] {
        guard let lanes = apps[event.app]?.router.lanes(for: event.type) else { return [] }
        let found = (lanes.any + lanes.named).compactMap { apps[event.app]?.delegates[$0]?.key }
        for key in found { remove(key) }
        return found
    }
}
