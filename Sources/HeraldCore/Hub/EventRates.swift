import HeraldRuntime
import Synchronization

/// Enforces the limits of events per second.
///
/// Each app has a bucket for the events of one second. A post is accepted while the bucket is not empty: a larger one
/// uses up the allowance of the next seconds. So do the events that other processes accept for the app. Any thread; the lock is
/// held for a few instructions, and only if some app has a limit.
final class EventRates: Sendable {
    private struct Bucket {
        var events: Double
        /// When `events` was computed, in monotonic nanoseconds.
        var time: Int64

        mutating func fill(until now: Int64, limit: Int) {
            events = min(Double(limit), events + Double(now - time) / 1e9 * Double(limit))
            time = now
        }
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
        withBucket(of: app) { bucket, limit in
            guard bucket.events > 0 else {
                return .rateLimited(limit: limit, retryAfter: Int(-bucket.events / Double(limit)) + 1)
            }
            bucket.events -= Double(count)
            return nil
        } ?? nil
    }

    /// Takes what another process has accepted. The service's own events count nowhere.
    func follow(_ events: [Event]) {
        guard apps.limitsEvents else { return }
        for event in events where !ServiceFamily.isOne(event.type) {
            withBucket(of: event.app) { bucket, _ in bucket.events -= 1 }
        }
    }

    /// - Returns: `nil` if the app has no limit.
    @discardableResult
    private func withBucket<Value>(of app: AppKey, _ body: (inout Bucket, _ limit: Int) -> Value) -> Value? {
        guard apps.limitsEvents, let stored = apps[app]?.settings.eventsPerSecond else { return nil }
        // A value stored before this rule existed may be less.
        let limit = max(1, stored)
        let now = clock.monotonic()
        return buckets.withLock { buckets in
            // Buckets of deleted apps are dropped with the others; a full bucket is no advantage.
            if buckets.count > AppWrite.maxApps { buckets = [:] }
            var bucket = buckets[app] ?? Bucket(events: Double(limit), time: now)
            bucket.fill(until: now, limit: limit)
            defer { buckets[app] = bucket }
            return body(&bucket, limit)
        }
    }
}
