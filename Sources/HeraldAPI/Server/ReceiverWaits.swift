import HeraldModel
import HeraldRuntime
import Synchronization

/// Bounds the requests whose response waits for receivers or events, up to a minute: they must not hold all connections,
/// and those of one app must leave room for those of others. Any thread.
final class ReceiverWaits: Sendable {
    private let shares: Mutex<Shares<AppKey>>

    /// - Parameter limit: at least 1. One app has three quarters of it, two have three sevenths each.
    init(limit: Int) { shares = Mutex(Shares(slots: limit, factor: 3)) }

    /// One request that waits, until it is released.
    final class Wait: Sendable {
        private let waits: ReceiverWaits
        private let app: AppKey
        fileprivate init(_ waits: ReceiverWaits, _ app: AppKey) {
            self.waits = waits
            self.app = app
        }
        deinit { waits.shares.withLock { $0.remove(app) } }
    }

    /// - Returns: `nil` if too many wait already.
    func begin(for app: AppKey) -> Wait? { shares.withLock { $0.take(app) } ? Wait(self, app) : nil }
}
