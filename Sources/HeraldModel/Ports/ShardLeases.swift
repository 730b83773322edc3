/// The port for sharing the delegates with other processes: which of them are there, and who has which shards. What holds a
/// shard is the session that writes. So a process that has lost a shard has lost the session to write with, too, and its next
/// one knows. The writer's thread, outside transactions.
package protocol ShardLeases: AnyObject {
    /// The key of this node for the others.
    var node: NodeKey { get }

    /// The shards that the current session holds. They include those of the last session that no other node has held since.
    var held: Shards { get }

    /// Commits a heartbeat, and reads the list of nodes; opens another session if there is none.
    func heartbeat() throws(StoreError) -> [NodeKey]

    /// Acquires those of these shards that no node holds.
    /// - Returns: what was taken, and what of it its last owner has not given: its session has ended.
    func take(_ shards: Shards) throws(StoreError) -> (taken: Shards, abandoned: Shards)

    /// From here on this process is not among those that are there: the others share what it gives.
    func leave() throws(StoreError)

    /// Releases shards, so that others can take them.
    func give(_ shards: Shards) throws(StoreError)
}

/// The limits of a node that gives no sign of life.
package enum NodeSilenceLimit {
    /// Nanoseconds from its last heartbeat to the end of its open attempts. A store gives its shards to other nodes later.
    package static let attempts: Int64 = 8_000_000_000
}
