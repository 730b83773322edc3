package import Delegation
import HeraldDelivery
package import HeraldModel
import HeraldRuntime
import Synchronization

/// The nodes that share the store, their shards, and whether this node may
/// deliver. Any thread.
package final class NodeMonitor: Sendable {
    package let node: NodeKey
    package let shards: ShardCounts
    package let observers = MulticastDelegate<any NodeObserver>()
    private let permit: DeliveryPermit
    private let clock: Clock
    /// Milliseconds since 1970 UTC.
    private let startedAt: Int64

    /// The state that the observers were last notified of.
    private struct Reported {
        var moved: [ShardCounts.Move: Int] = [:]
        /// `nil` before the first permit.
        var isPermitted: Bool?
        /// Monotonic nanoseconds.
        var pausedAt: Int64 = 0
    }
    private let reported = Mutex(Reported())

    /// - Parameter node: `nil` if all delegates belong to this process.
    init(_ node: NodeKey?, shards: ShardCounts, permit: DeliveryPermit, clock: Clock) {
        self.node = node ?? .random()
        self.shards = shards
        self.permit = permit
        self.clock = clock
        startedAt = clock.wall()
    }

    /// Whether attempts may start: the store has heard this process in the last seconds.
    package var isPermitted: Bool { permit.allows(clock.monotonic()) }

    /// The processes that share the store, and those that have left it within a day; or this one alone.
    /// - Parameter settled: the position of this process's shards.
    package func list(_ reader: any StoreReader, settled: LogPosition) throws(StoreError) -> [NodeRecord] {
        let nodes = try reader.nodes()
        if !nodes.isEmpty { return nodes }
        let this = NodeRecord(
            node: node, name: ProcessName.current, version: heraldVersion, isPresent: true, startedAt: startedAt,
            seenAt: clock.wall(), leftAt: nil, shards: shards.held, settled: settled)
        return [this]
    }

    /// Notifies the observers of changes since the last call. The first call notifies of nothing. Called about once a second.
    func notifyOfChanges() {
        guard observers.count > 0 else { return }
        for change in changes() { observers.invokeDelegates { $0.nodeChanged(change) } }
    }

    private func changes() -> [NodeChange] {
        let now = clock.monotonic()
        return reported.withLock { reported in
            var changes: [NodeChange] = []
            for move in ShardCounts.Move.allCases {
                let count = shards.count(move)
                let number = count - reported.moved[move, default: 0]
                reported.moved[move] = count
                if number > 0 { changes.append(.moved(move, number, has: shards.held.number, nodes: shards.nodes)) }
            }
            let isPermitted = permit.allows(now)
            switch (reported.isPermitted, isPermitted) {
            case (true, false):
                reported.pausedAt = now
                changes.append(.paused)
            case (false, true): changes.append(.resumed(nanoseconds: now - reported.pausedAt))
            default: break
            }
            if isPermitted || reported.isPermitted != nil { reported.isPermitted = isPermitted }
            return changes
        }
    }
}

package enum NodeChange: Equatable, Sendable {
    /// This many shards; the process has `has` now, and shares the store with `nodes` processes, itself included.
    case moved(ShardCounts.Move, Int, has: Int, nodes: Int)
    /// Deliveries pause: the store has not heard this process for seconds, so others may have its shards.
    case paused
    case resumed(nanoseconds: Int64)
}

/// Called when this process takes, gives or loses shards, and when its deliveries pause.
package protocol NodeObserver: AnyObject, Sendable {
    /// The thread of a delivery loop; must not wait.
    func nodeChanged(_ change: NodeChange)
}
