import HeraldModel
import HeraldRuntime

/// Bounds the requests whose response waits for receivers or events, up to a minute: they must not hold all connections,
/// and those of one app must leave room for those of others. Any thread.
struct ReceiverWaits: Sendable {
    /// One request that waits, until it is released.
    typealias Wait = ByteRoom<AppKey>.Part

    /// A request that waits takes 1 of it.
    private let room: ByteRoom<AppKey>

    /// - Parameter limit: at least 1. One app has three quarters of it, two have three sevenths each.
    init(limit: Int) { room = ByteRoom(maxBytes: limit) }

    /// - Returns: `nil` if too many wait already.
    func begin(for app: AppKey) -> Wait? { room.part(1, of: app) }
}
