import HeraldRuntime
import Synchronization

/// Holds apps to the events that they may post in a second.
///
/// Each has a bucket that holds as many as one second allows, and a post is let through while there is any in it: one of
/// many events takes what the next seconds would bring. Any thread; the lock is held for a few instructions, and only when
/// some app has a limit.
final class EventRates: Sendable {
    private struct Bucket {
        var events: Double
        /// Nanoseconds, monotonic: when `events` was right.
        var time: Int64
    }

    private let apps: AppCatalogue
    private let clock: Clock
    private let buckets = Mutex<[AppKey: Bucket]>([:])

    init(_ apps: AppCatalogue, clock: Clock) {
        self.apps = apps
        self.clock = clock
    }

    /// Takes the events from the app's bucket, or says when it will have some again.
    func refusal(_ app: AppKey, events count: Int) -> WriteRefusal? {
        guard apps.limitsEvents, let stored = apps[app]?.settings.eventsPerSecond else { return nil }
        // One that was stored before there was a rule may be less.
        let limit = max(1, stored)
        let now = clock.monotonic()
        return buckets.withLock { buckets in
            // Those of apps that are gone go with the others: a full one is no gift.
            if buckets.count > AppWrite.maxApps { buckets = [:] }
            var bucket = buckets[app] ?? Bucket(events: Double(limit), time: now)
            bucket.events = min(Double(limit), bucket.events + Double(now - bucket.time) / 1e9 * Double(limit))
            bucket.time = now
            defer { buckets[app] = bucket }
            guard bucket.events > 0 else {
                return .rateLimited(limit: limit, retryAfter: Int(-bucket.events / Double(limit)) + 1)
            }
            bucket.events -= Double(count)
            return nil
        }
    }
}
