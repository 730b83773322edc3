import HeraldModel
import HeraldRuntime
import Synchronization

/// Enforces the limits of events per second.
///
/// A post is accepted while its app has anything left of the events of one second: a larger one uses up the next seconds. So do the
/// events that other processes accept for the app. Any thread; the lock is held for a few instructions, and only if some app
/// has a limit.
final class EventRates: Sendable {
    private let apps: AppCatalogue
    private let clock: Clock
    private let meters = Mutex<[AppKey: RateMeter]>([:])

    init(_ apps: AppCatalogue, clock: Clock) {
        self.apps = apps
        self.clock = clock
    }

    /// Counts the events, or returns when the app may publish again.
    func refusal(_ app: AppKey, events count: Int) -> HubError? {
        guard let (meter, limit) = meter(of: app) else { return nil }
        return meter.refusal(count, limit: limit, now: clock.monotonic()).map {
            .rateLimited(limit: limit, retryAfter: $0)
        }
    }

    /// Counts what another process has accepted. The service's own events count nowhere.
    func follow(_ events: [Event]) {
        guard apps.limitsEvents else { return }
        for event in events where !ServiceFamily.isOne(event.type) {
            guard let (meter, limit) = meter(of: event.app) else { continue }
            meter.use(1, limit: limit, now: clock.monotonic())
        }
    }

    /// - Returns: `nil` if the app has no limit.
    private func meter(of app: AppKey) -> (RateMeter, limit: Int)? {
        guard apps.limitsEvents, let stored = apps[app]?.settings.eventsPerSecond else { return nil }
        let meter = meters.withLock { meters in
            // Those of deleted apps are dropped with the others.
            if meters.count > AppWrite.maxApps { meters = [:] }
            if let known = meters[app] { return known }
            let new = RateMeter()
            meters[app] = new
            return new
        }
        // A hostile database may have less.
        return (meter, max(1, stored))
    }
}
