/// A node: a process that shares the store with others, as the store has recorded it.
package struct NodeRecord: Equatable, Sendable {
    package let node: NodeKey
    package let name: String
    package let version: String
    /// It has a session that writes.
    package let isPresent: Bool
    /// Milliseconds since 1970 UTC, as all times here.
    package let startedAt: Int64
    /// Its last sign of life.
    package let seenAt: Int64
    /// `nil` while the node runs, and if it has ended without a stop.
    package let leftAt: Int64?
    package let shards: Shards
    /// The earliest position of its shards; `nil` if it has none.
    package let settled: LogPosition?

    package init(
        node: NodeKey, name: String, version: String, isPresent: Bool, startedAt: Int64, seenAt: Int64, leftAt: Int64?,
        shards: Shards, settled: LogPosition?
    ) {
        self.node = node
        self.name = name
        self.version = version
        self.isPresent = isPresent
        self.startedAt = startedAt
        self.seenAt = seenAt
        self.leftAt = leftAt
        self.shards = shards
        self.settled = settled
    }
}

/// Shards that a process has taken at once, all from the same one.
package struct ShardMove: Equatable, Sendable {
    /// Milliseconds since 1970 UTC.
    package let time: Int64
    package let shards: Shards
    /// The last process that had them; `nil` if none ever had.
    package let from: NodeKey?
    package let to: NodeKey
    /// It had given them. Otherwise its session with the store had ended.
    package let isGiven: Bool

    package init(time: Int64, shards: Shards, from: NodeKey?, to: NodeKey, isGiven: Bool) {
        self.time = time
        self.shards = shards
        self.from = from
        self.to = to
        self.isGiven = isGiven
    }
}
