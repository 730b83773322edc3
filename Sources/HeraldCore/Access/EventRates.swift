import HeraldRuntime
import Synchronization

/// Enforces the limits of events per second.
///
/// Each app has a bucket for the events of one second. A post is accepted while the bucket is not empty: a larger one
/// uses up the allowance of the next seconds. Any thread; the lock is held for a few instructions, and only if some app
/// has a limit.
final class EventRates: Sendable {
    private struct Bucket {
        var events: Double
        /// When `events` was computed, in monotonic nanoseconds.
        var time: Int64
    }

    private let apps: AppCatalogue
    private let clock: Clock
    private let buckets = Mutex<[AppKey: Bucket]>([:])

    init(_ apps: AppCatalogue, clock: Clock) {
        self.apps = apps
        self.clock = clock
    }

    /// Takes the events from the app's bucket, or returns when it will have some again.
    func refusal(_ app: AppKey, events count: Int) -> WriteRefusal? {
        guard apps.limitsEvents, let stored = apps[app]?.settings.eventsPerSecond else { return nil }
        // A value stored before this rule existed may be less.
        let limit = max(1, stored)
        let now = clock.monotonic()
        return buckets.withLock { buckets in
            // Buckets of deleted apps are dropped with the others; a full bucket is no advantage.
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
