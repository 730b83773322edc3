import Synchronization

/// Bounds the requests whose response waits for receivers, up to a minute: they must not hold all connections. Any
/// thread.
final class ReceiverWaits: Sendable {
    private let limit: Int
    private let count = Atomic(0)

    /// - Parameter limit: at least 1.
    init(limit: Int) { self.limit = limit }

    /// One request that waits, until it is released.
    final class Wait: Sendable {
        private let waits: ReceiverWaits
        fileprivate init(_ waits: ReceiverWaits) { self.waits = waits }
        deinit { waits.count.subtract(1, ordering: .relaxed) }
    }

    /// Whether another request may begin to wait, unless others are faster.
    var hasRoom: Bool { count.load(ordering: .relaxed) < limit }

    /// - Returns: `nil` if too many wait already.
    func begin() -> Wait? {
        let wait = Wait(self)
        return count.add(1, ordering: .relaxed).newValue <= limit ? wait : nil
    }
}
