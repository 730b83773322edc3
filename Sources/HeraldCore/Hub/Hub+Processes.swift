import HeraldDelivery
package import HeraldModel
import HeraldRuntime

/// The processes that share a store.
extension Hub {
    package var nodeMonitor: NodeMonitor { node.monitor }

    /// The processes that share the store, and those that have left it within a day; or this one alone.
    package func nodes(_ reader: any StoreReader) throws(StoreError) -> [NodeRecord] {
        try node.monitor.list(reader, settled: loops.map(\.board.settled).min() ?? 0)
    }

    /// The shards that processes have taken within a day, newest first.
    package func moves(_ reader: any StoreReader) throws(StoreError) -> [ShardMove] {
        try reader.moves(since: clock.wall() - 86_400_000)
    }

    /// Whether memory has what other processes have changed in a shared store, except in the last seconds. If not, requests
    /// that need access are refused.
    package var isCurrent: Bool { node.isCurrent }

    /// Whether other processes may have changed what memory lacks, and the store responds, so that `catchUp` can be expected to
    /// read it.
    package var canCatchUp: Bool { node.canCatchUp }

    /// Whether a read may wait for a server that does not respond.
    package var limitsReads: Bool { node.limitsReads }

    /// Reads the changes of other processes in a shared store: call it before something is refused because memory does
    /// not have it.
    /// - Parameter body: called once, on the writer's thread, with the error if the store could not be read; must not wait.
    /// - Returns: `false` if too many wait for that; `body` is not called then.
    package func catchUp(_ body: @escaping @Sendable (StoreError?) -> Void) -> Bool { intake.catchUp(body) }
}
