package import HeraldDelivery
import HeraldModel

/// The state of the store in memory. A committed change is applied here and nowhere else.
///
/// The writer's thread changes it, any thread reads it.
package final class CommittedState: Sendable {
    /// The registered delegates.
    package let registry: Registry
    package let catalogue: EventTypeCatalogue
    package let keys: KeyRing
    package let apps: AppCatalogue
    package let sessions: SessionStore
    /// The memory that all of these take.
    package let kept: KeptMemory
    package let usage: LogUsage
    package let pending: PendingSchedule
    package let refused = RefusedEvents()
    package let pulls = PullTotals()
    package let auth: AuthProjection
    package let appState: AppStateProjection
    package let recentEvents: RecentEvents

    /// The bounds of what is in memory. Sizes are in bytes.
    package struct Limits: Sendable {
        /// The maximum size of the delegates, event types, keys, sessions and apps.
        package var maxKeptBytes = 1 << 30
        /// The maximum size of the auth statuses and app states, half for each; the store has all of them.
        package var maxValueBytes = 24 << 20
        package var maxRecentEvents = 16_384
        package var maxRecentBytes = 32 << 20
        package init() {}
    }

    init(_ recovery: Recovery, _ limits: Limits = Limits()) {
        kept = KeptMemory(limit: limits.maxKeptBytes)
        registry = Registry(recovery.delegates, kept)
        catalogue = EventTypeCatalogue(recovery.eventTypes, kept)
        keys = KeyRing(recovery.keys, kept)
        apps = AppCatalogue(recovery.apps, next: recovery.nextAppKey, kept)
        sessions = SessionStore(recovery.sessions, kept)
        auth = AuthProjection(maxBytes: limits.maxValueBytes / 2)
        appState = AppStateProjection(recovery.appStates, maxBytes: limits.maxValueBytes / 2)
        recentEvents = RecentEvents(
            head: recovery.head, maxEvents: limits.maxRecentEvents, maxBytes: limits.maxRecentBytes)
        usage = LogUsage(recovery, recentEvents)
        pending = PendingSchedule(recovery.pending)
    }

    /// The writer's thread, after the commit, in the order of the changes.
    func apply(_ effect: WriteEffect) {
        switch effect {
        case .set(let delegate): registry.set(delegate)
        case .remove(let delegates):
            for delegate in delegates {
                registry.remove(delegate)
                pulls.forget(delegate.key)
            }
        case .erased(let events, _, _): recentEvents.erase(events)
        case .erasedStatuses(let app): auth.forget(app)
        case .counted(let block, let found): usage.set(block, found)
        case .trimmed(let first): usage.trim(first: first)
        case .setEventType(let record): catalogue.set(EventTypeSummary(record))
        case .removeEventType(let type, let app): catalogue.remove(type, app)
        case .setKey(let key): keys.set(key)
        case .removeKey(let key): keys.remove(key.id)
        case .setSession(let session): sessions.set(session)
        case .removeSession(let digest): sessions.remove(digest)
        case .setApp(let app): apps.set(app)
        case .removeApp(let app):
            apps.remove(app)
            auth.forget(app.key)
            appState.forget(app.key)
        case .pending(let count, let earliest): pending.set(count, earliest: earliest)
        case .nextPending(let time, let turn): pending.set(next: time, turn)
        case .refused(let event): refused.add(event)
        // Of deliveries memory holds what the delivery loops do.
        case .redelivered, .dropped, .known, .replay, .endReplay, .recordedAttempts, .pulled: break
        }
    }
}
